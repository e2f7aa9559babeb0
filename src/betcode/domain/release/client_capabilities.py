"""Validate the `client_capabilities` that a client sends in the handshake.

Unknown names are accepted: a later client may send more.
"""

from collections.abc import Mapping
from types import MappingProxyType

from betcode.domain.errors import InvalidRequest

_ENTRIES_LIMIT = 100
_CHARACTERS_LIMIT = 1_000  # of a name or a value

# The values of each name.
CLIENT_CAPABILITIES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "unknown_events": ("ignored", "refused"),  # how the client treats unknown kinds of events
        "deprecations": ("shown", "hidden"),  # whether a person sees deprecation warnings
    }
)
_UNKNOWN_REFUSED = (
    "This client rejects unknown kinds of events, and a later daemon may send some: upgrade the client "
    "before the daemon"
)


def validate_client_capabilities(given: Mapping[str, str]) -> list[str]:
    """Return notices about the client's capabilities, one sentence each.

    Raises:
        InvalidRequest: there are too many, or one is too long.
    """
    if len(given) > _ENTRIES_LIMIT:
        raise InvalidRequest(f"client_capabilities has {len(given)} entries: send at most {_ENTRIES_LIMIT}")
    warnings: list[str] = []
    for name, value in given.items():
        if not name or max(len(name), len(value)) > _CHARACTERS_LIMIT:
            raise InvalidRequest(
                f"client_capabilities has an entry without a name, or with more than {_CHARACTERS_LIMIT} characters"
            )
        allowed = CLIENT_CAPABILITIES.get(name)
        if allowed is not None and value not in allowed:
            warnings.append(
                f"client_capabilities[{name!r}] is {value[:80]!r} and counts as {allowed[0]!r}: send one of "
                f"{', '.join(allowed)}"
            )
    if given.get("unknown_events") == "refused":
        warnings.append(_UNKNOWN_REFUSED)
    return warnings
