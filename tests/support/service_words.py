"""Where a service tells its manager how it is: a real datagram socket, as systemd listens at."""

import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.patience import PATIENCE_S


class ServiceWords:
    def __init__(self, link: socket.socket, address: str) -> None:
        self._link = link
        self.address = address

    def until(self, word: str) -> list[str]:
        """What was said, the wanted word last."""
        said: list[str] = []
        while word not in said:
            said += self._link.recv(4096).decode().splitlines()
        return said


@contextmanager
def service_words() -> Iterator[ServiceWords]:
    with (
        tempfile.TemporaryDirectory(prefix="betcode-") as directory,  # short: sockets have short names
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as link,
    ):
        address = str(Path(directory) / "notify")
        link.bind(address)
        link.settimeout(PATIENCE_S)
        yield ServiceWords(link, address)
