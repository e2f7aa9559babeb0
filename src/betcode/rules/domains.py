"""`WebFetch(domain:…)`: which host an address names, and which rules name it."""

import re
from urllib.parse import urlsplit

from betcode.rules.stars import starred

# What every reader of addresses agrees on. Others are stripped, decoded or taken for a slash by some of them, and then
# the host that is asked is not the host that was screened.
_AGREED = re.compile(r"https?://[^\s\\\x00-\x1f\x7f]+", re.IGNORECASE)
_HOST = re.compile(r"[a-z0-9_.-]+|\[[0-9a-f:.]+\]")
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
    return host.removesuffix(".") if len(host) <= 255 and _HOST.fullmatch(host) else None


def domain_pattern(specifier: str) -> re.Pattern[str]:
    """`*.x` is every name below x, `*` alone is all; elsewhere a star stays between two dots."""
    pattern = specifier.removeprefix("domain:").strip().lower().removesuffix(".")
    if pattern == "*":
        return re.compile(".*")
    below = pattern.startswith("*.")
    rest = starred([re.escape(part) for part in pattern.removeprefix("*.").split("*")], "[^.]")
    return re.compile((r"(?:[^.]+\.)+" if below else "") + rest)
