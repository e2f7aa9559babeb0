"""`WebFetch(domain:…)`: the host of a URL, and the rules that name it."""

import ipaddress
import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from betcode.rules.rule import Rule
from betcode.rules.wildcards import starred

# What every reader of addresses agrees on. Others are stripped, decoded or taken for a slash by some of them, and then
# the host that is asked is not the host that was screened.
_AGREED = re.compile(r"https?://[^\s\\\x00-\x1f\x7f]+", re.IGNORECASE)
_HOST = re.compile(r"[a-z0-9_.-]+|\[[0-9a-f:.]+\]")
_IN_TEXT = re.compile(r"[a-z][a-z0-9+.-]*://(?:[^/@\s]*@)?(\[[^\]]*\]|[^/:?#\s'\"]+)", re.IGNORECASE)
_BARE = re.compile(
    r"(?:[^/@\s]*@)?([a-z0-9_-]+(?:\.[a-z0-9_-]+)+\.?|localhost)(?:[:/?#].*)?", re.IGNORECASE | re.DOTALL
)
# A last part that is a number makes it an address in numbers, which is written in many ways.
_NUMBERS = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)")
ADDRESS_CHARACTERS = 8192


def host_of(address: str) -> str | None:
    """The host that would be asked, in lower case and without a last dot; None where readers may differ."""
    if len(address) > ADDRESS_CHARACTERS or not _AGREED.fullmatch(address):
        return None
    try:
        found = urlsplit(address)
        host = found.hostname
        found.port  # noqa: B018 - raises where it is none
    except ValueError:
        return None
    host = (host or "").lower()
    host = f"[{host}]" if ":" in host else host
    return _settled(host) if len(host) <= 255 and _HOST.fullmatch(host) else None


def host_in(text: str, *, bare: bool) -> str | None:
    """A host that a text names as an address, or where `bare`, by itself."""
    found = _IN_TEXT.search(text) or (_BARE.fullmatch(text) if bare else None)
    return None if found is None else _settled(found[1].lower()) or found[1].lower()


def _settled(host: str) -> str | None:
    """The host in its one spelling; None where it has none, or readers may differ."""
    host = host.removesuffix(".")
    try:
        if host.startswith("["):
            address = ipaddress.IPv6Address(host[1:-1])
            return None if address.ipv4_mapped or address.sixtofour else f"[{address.compressed}]"
        if _NUMBERS.fullmatch(host):
            return str(ipaddress.IPv4Address(host))
    except ValueError:
        return None
    return None if not all(host.split(".")) else host


def _as_asked(pattern: str) -> str:
    """Return a rule's host as written in addresses: names in other scripts are requested in ASCII."""
    pattern = pattern.strip().lower().removesuffix(".")
    try:
        if pattern.startswith("["):
            return f"[{ipaddress.IPv6Address(pattern[1:-1]).compressed}]"
        if not pattern.isascii():
            labels = pattern.split(".")
            return ".".join(label if label.isascii() else label.encode("idna").decode() for label in labels)
    except ValueError:
        return pattern
    return pattern


class HostIndex:
    """Rules by host: `*.x` is every name below x, `*` by itself is all; elsewhere a star matches between two dots."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._exact: dict[str, Rule] = {}
        self._below: dict[str, Rule] = {}
        self._others: list[tuple[re.Pattern[str], Rule]] = []
        for rule in rules:
            pattern = _as_asked((rule.specifier or "").removeprefix("domain:"))
            rest = pattern.removeprefix("*.")
            if "*" not in pattern:
                self._exact.setdefault(pattern, rule)
            elif "*" not in rest:
                self._below.setdefault(rest, rule)
            else:
                expression = starred([re.escape(part) for part in rest.split("*")], "[^.]") if pattern != "*" else ".*"
                expression = (r"(?:[^.]+\.)+" if rest != pattern else "") + expression
                self._others.append((re.compile(expression), rule))

    def find(self, host: str) -> Rule | None:
        rule = self._exact.get(host)
        at = host.find(".")
        while rule is None and at > 0:
            rule = self._below.get(host[at + 1 :])
            at = host.find(".", at + 1)
        return rule or next((rule for expression, rule in self._others if expression.fullmatch(host)), None)
