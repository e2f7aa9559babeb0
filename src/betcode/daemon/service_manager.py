"""Notify systemd, if it started the daemon: ready, alive, stopping."""

import logging
import os
import socket
from collections.abc import Mapping

import anyio

logger = logging.getLogger(__name__)

_FEEDS_PER_TERM = 3  # a busy moment must not cost the daemon its life


class ServiceManager:
    """The protocol of sd_notify; without a service manager, nothing is sent."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        address = environ.get("NOTIFY_SOCKET", "")
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self._term_s = _watchdog_s(environ)

    def serving(self) -> None:
        self._tell("READY=1\nSTATUS=Serving")

    def stopping(self) -> None:
        self._tell("STOPPING=1\nSTATUS=Stopping")

    async def feed_watchdog(self) -> None:
        """Report periodically that the event loop runs; systemd restarts a hanging daemon, and agents continue."""
        if not self._address or not self._term_s:
            return
        while True:
            self._tell("WATCHDOG=1")
            await anyio.sleep(self._term_s / _FEEDS_PER_TERM)

    def _tell(self, words: str) -> None:
        if not self._address:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as link:
                link.setblocking(False)
                link.sendto(words.encode(), self._address)
        except OSError as error:
            logger.warning("cannot notify the service manager: %s", error)


def _watchdog_s(environ: Mapping[str, str]) -> float:
    """Return the interval in seconds within which systemd expects a report; 0 if it expects none."""
    meant_for = environ.get("WATCHDOG_PID", "")
    term_us = environ.get("WATCHDOG_USEC", "")
    if not term_us.isdigit() or (meant_for and meant_for != str(os.getpid())):
        return 0.0
    return int(term_us) / 1e6
