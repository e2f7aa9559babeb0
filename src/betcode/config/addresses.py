"""Addresses that only this machine can reach."""

import ipaddress

from betcode.config.units import NotUnderstood
from betcode.config.value_types import ValueType


def loopback() -> ValueType:
    """Parse an address for a listener that needs no token."""
    allowed = 'a loopback address such as "127.0.0.1" or "::1"'

    def read(value: object) -> str:
        try:
            is_loopback = isinstance(value, str) and ipaddress.ip_address(value).is_loopback
        except ValueError:
            is_loopback = False
        if not is_loopback:
            raise NotUnderstood(allowed)
        return str(value)

    return ValueType(allowed, read, is_text=True)
