"""Convert the path of a unix socket to an address that can be connected to, whatever its length."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

LONGEST_BYTES = 103  # of a socket's path: macOS allows 103, Linux 107


@contextmanager
def reachable(socket: Path) -> Iterator[Path]:
    """The same socket under a path that is short enough; a long one gets a private link that lasts for the block."""
    if len(os.fsencode(socket)) <= LONGEST_BYTES:
        yield socket
        return
    with tempfile.TemporaryDirectory(prefix="betcode-", dir="/tmp") as private:
        link = Path(private) / "d"
        link.symlink_to(socket.parent, target_is_directory=True)
        yield link / socket.name


def grpc_target(socket: Path) -> str:
    """As gRPC takes it: a URI, so that `%`, `#` and `?` in the path must be quoted."""
    return "unix:" + quote(os.fsencode(socket))
