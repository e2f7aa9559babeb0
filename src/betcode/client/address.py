"""Convert the path of a unix socket to an address that can be connected to, whatever its length."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

LONGEST_BYTES = 103  # maximum length of a socket's path: 103 on macOS, 107 on Linux


@contextmanager
def reachable(socket: Path) -> Iterator[Path]:
    """Yield a short path of the same socket; for a long path, a private link that exists during the block."""
    if len(os.fsencode(socket)) <= LONGEST_BYTES:
        yield socket
        return
    with tempfile.TemporaryDirectory(prefix="betcode-", dir="/tmp") as private:
        link = Path(private) / "d"
        link.symlink_to(socket.parent, target_is_directory=True)
        yield link / socket.name


def grpc_target(socket: Path) -> str:
    """Return the gRPC target: a URI, in which `%`, `#` and `?` of the path are quoted."""
    return "unix:" + quote(os.fsencode(socket))
