"""Provider options that a client sets in a session's metadata."""

from collections.abc import Iterable

from betcode.domain.errors import InvalidRequest
from betcode.domain.store.rows import NewSession

PREFIX = "provider_config."


def provider_config(session: NewSession) -> dict[str, str]:
    """By key, without the prefix."""
    return {name.removeprefix(PREFIX): value for name, value in session.metadata.items() if name.startswith(PREFIX)}


def check_keys(session: NewSession, known: Iterable[str]) -> None:
    """Raises InvalidRequest where a key is none that this kind of agent takes."""
    names = sorted(known)
    for key in sorted(provider_config(session)):
        if key not in names:
            takes = f"it has {', '.join(names)}" if names else "it has none, so omit it"
            raise InvalidRequest(
                f"The provider {session.provider} has no configuration key {key[:80]!r}: {takes}", key=key[:80]
            )
