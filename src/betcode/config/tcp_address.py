"""TCP addresses: HOST or HOST:PORT, with IPv6 in brackets where a port follows."""

import ipaddress
import re
from dataclasses import dataclass

from betcode.config.units import NotUnderstood
from betcode.config.value_types import ValueType

DEFAULT_PORT = 50051
ALLOWED = "HOST or HOST:PORT, such as 127.0.0.1, localhost:50051 or [::1]:50051"
_NAME = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(\.(?!-)[A-Za-z0-9_-]{1,63})*\.?")


@dataclass(frozen=True, slots=True)
class TcpAddress:
    host: str  # without brackets
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Return whether the address is only reachable from this machine. A name may change, so only `localhost`
        counts.
        """
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host.lower() == "localhost"


def parse_address(text: str) -> TcpAddress:
    """Parse an address; raises NotUnderstood with the allowed form."""
    host, port = _split(text.strip())
    number = int(port) if re.fullmatch(r"[0-9]{1,5}", port) else -1
    if not 0 <= number <= 65535:
        raise NotUnderstood(ALLOWED)
    try:
        return TcpAddress(str(ipaddress.ip_address(host)), number)
    except ValueError:
        if not _NAME.fullmatch(host) or re.fullmatch(r"[0-9.]+", host):
            raise NotUnderstood(ALLOWED) from None
        return TcpAddress(host, number)


def _split(text: str) -> tuple[str, str]:
    usual = str(DEFAULT_PORT)
    if text.startswith("["):
        host, bracket, rest = text[1:].partition("]")
        if not bracket or ":" not in host or (rest and not rest.startswith(":")):
            raise NotUnderstood(ALLOWED)
        return host, rest[1:] if rest else usual
    if text.count(":") > 1:  # IPv6 by itself
        return text, usual
    host, colon, port = text.partition(":")
    return host, port if colon else usual


def listen_address() -> ValueType:
    """An address as a setting; empty is none."""

    def read(value: object) -> str:
        if not isinstance(value, str):
            raise NotUnderstood(ALLOWED)
        if value:
            parse_address(value)
        return value

    return ValueType(ALLOWED, read, is_text=True)
