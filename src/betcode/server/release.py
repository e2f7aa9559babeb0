"""The release that the daemon runs: its features, the version of its agent, and request counters."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from betcode._version import __version__
from betcode.domain.metrics.request_counts import RequestCounts
from betcode.domain.release.features import FeatureFlags

_INTRODUCED_LIMIT = 1_000  # clients that sent their type before they called


async def _no_agent() -> str:
    return ""


@dataclass(slots=True)
class ClientTypes:
    """The types that clients gave when they negotiated, for those that do not repeat them with each call."""

    _types: dict[str, str] = field(default_factory=dict)

    def note(self, client_id: str, client_type: str) -> None:
        self._types.pop(client_id, None)
        self._types[client_id] = client_type
        if len(self._types) > _INTRODUCED_LIMIT:
            del self._types[next(iter(self._types))]

    def type_of(self, client_id: str) -> str:
        return self._types.get(client_id, "")


@dataclass(frozen=True, slots=True)
class Release:
    features: FeatureFlags = field(default_factory=lambda: FeatureFlags(__version__))
    agent_version: Callable[[], Awaitable[str]] = _no_agent  # empty: there is none, or its version is unknown
    counts: RequestCounts = field(default_factory=RequestCounts)
    introductions: ClientTypes = field(default_factory=ClientTypes)
