"""The clients and agents that this release is compatible with, and the verdicts about one version.

The specs of providers declare which versions of agents were tested.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from betcode.domain.agents.provider_spec import VersionSupport
from betcode.domain.values.versions import parsed
from betcode.providers.specs import SPECS
from betcode.v1 import version_pb2 as v1

API_VERSION = "v1"
UNTESTED_CLIENT = "Untested client version"

Level: TypeAlias = v1.CompatibilityLevel.ValueType


@dataclass(frozen=True, slots=True)
class ClientCompatibility:
    minimum: str  # older ones are refused
    recommended: str
    tested_before: str  # from the minimum up to, and without, this version
    upgrade_url: str


@dataclass(frozen=True, slots=True)
class AgentRange:
    """From `first` on, up to the next range's."""

    first: str
    level: Level
    limits: str = ""  # of a DEGRADED one: the limitation, as the end of a sentence


@dataclass(frozen=True, slots=True)
class AgentCompatibility:
    title: str
    minimum: str  # empty: none known
    ranges: tuple[AgentRange, ...]  # ascending; versions before the first are incompatible
    upgrade_url: str
    api_version: str = ""  # of the model's API that it speaks; empty: unknown

    def api_version_of(self, version: str) -> str:
        """Return the version of the model's API that this version of the program speaks; empty if unknown."""
        known = self.level(version) not in (v1.COMPATIBILITY_UNKNOWN, v1.INCOMPATIBLE)
        return self.api_version if known else ""

    def level(self, version: str) -> Level:
        """Return how compatible this release is with that version."""
        if parsed(version) is None:
            return v1.COMPATIBILITY_UNKNOWN
        found = self._range_of(version)
        return v1.INCOMPATIBLE if found is None else found.level

    def warning(self, version: str) -> str:
        """Return the limitation of that version; empty if none is known."""
        found = self._range_of(version)
        if found is None or not found.limits:
            return ""
        return f"{self.title} v{version} works with limits: {found.limits}. Upgrade it: {self.upgrade_url}"

    def _range_of(self, version: str) -> AgentRange | None:
        found, at = parsed(version), None
        for each in self.ranges:
            first = parsed(each.first)
            assert first is not None
            if found is None or found < first:
                break
            at = each
        return at

    def refusal(self, version: str) -> str:
        """Return why that version cannot be used, with both versions; empty if it can, or is unknown."""
        if self.level(version) != v1.INCOMPATIBLE:
            return ""
        return f"{self.title} v{version} < required v{self.minimum}"


CLIENTS = ClientCompatibility(
    # The first published client of this API calls itself so.
    minimum="0.1.0-alpha.1",
    recommended="0.2.0",
    tested_before="0.3.0",
    upgrade_url="https://betcode.dev/docs/upgrade",
)


def _compatibility(title: str, support: VersionSupport) -> AgentCompatibility:
    ranges = (AgentRange(each.first, v1.CompatibilityLevel.Value(each.level), each.limits) for each in support.ranges)
    return AgentCompatibility(title, support.minimum, tuple(ranges), support.upgrade_url, support.api_version)


# By the name of the provider, or of the profile if a provider has several.
AGENTS: Mapping[str, AgentCompatibility] = MappingProxyType(
    {name: _compatibility(spec.title, spec.versions) for name, spec in SPECS.items() if spec.versions is not None}
)


def client_refusal(version: str, clients: ClientCompatibility = CLIENTS) -> str:
    """Return why a client of that version is refused; empty if it is not."""
    found, minimum = parsed(version), parsed(clients.minimum)
    assert minimum is not None
    if found is None or found >= minimum:
        return ""
    return f"Client too old: {version} < required {clients.minimum}"


def client_warnings(version: str, clients: ClientCompatibility = CLIENTS) -> list[str]:
    """Return the warnings for an accepted client about its version."""
    found, limit = parsed(version), parsed(clients.tested_before)
    assert limit is not None
    # A pre-release of the next version has what that version has.
    if found is None or found.release >= limit.release:
        return [UNTESTED_CLIENT]
    return []
