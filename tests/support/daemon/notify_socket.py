"""Where a service tells its manager how it is: a real datagram socket, as systemd listens at."""

import select
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.patience import PATIENCE_S


class ServiceWords:
    def __init__(self, link: socket.socket, address: str) -> None:
        self._link = link
        self.address = address

    def heard(self, word: str, within_s: float) -> bool:
        """Whether it is said in that time; what is said before it is passed over."""
        until = time.monotonic() + within_s
        while (left_s := until - time.monotonic()) > 0 and select.select([self._link], [], [], left_s)[0]:
            if word in self._link.recv(4096).decode().splitlines():
                return True
        return False

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
