"""The clients and agents that this release is compatible with: data, and the verdicts that follow from it.

The ranges are facts about what was tried: a release that tries others changes them here and nowhere else.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from betcode.domain.values.versions import parsed
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
    limits: str = ""  # of a DEGRADED one: what does not work, as a sentence goes on with it


@dataclass(frozen=True, slots=True)
class AgentCompatibility:
    title: str
    minimum: str  # empty: none that is known
    ranges: tuple[AgentRange, ...]  # ascending; what comes before the first is incompatible
    upgrade_url: str
    api_version: str = ""  # of the model's API that it speaks; empty: nobody knows

    def api_version_of(self, version: str) -> str:
        """The version of the model's API that this version of the program speaks; empty where nobody knows."""
        known = self.level(version) not in (v1.COMPATIBILITY_UNKNOWN, v1.INCOMPATIBLE)
        return self.api_version if known else ""

    def level(self, version: str) -> Level:
        """How well this release gets on with that version."""
        if parsed(version) is None:
            return v1.COMPATIBILITY_UNKNOWN
        found = self._range_of(version)
        return v1.INCOMPATIBLE if found is None else found.level

    def warning(self, version: str) -> str:
        """What does not work with that version; empty where nothing is known to be missing."""
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
        """Why that version cannot be used, both versions named; empty where it can, or nobody knows."""
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


def _tried(title: str, version: str, later: str, upgrade_url: str) -> AgentCompatibility:
    """One that was tried in this version alone: what came before is not known to fail."""
    return AgentCompatibility(
        title,
        "",
        (
            AgentRange("0", v1.COMPATIBILITY_UNKNOWN),
            AgentRange(version, v1.FULLY_COMPATIBLE),
            AgentRange(f"{version}.1", v1.LIKELY_COMPATIBLE),
            AgentRange(later, v1.COMPATIBILITY_UNKNOWN),
        ),
        upgrade_url,
    )


_STALE_RULES = "rules that change while an agent runs apply only to the next agent"
_UNNAMED_DENIALS = "a denial by a rule is not always distinguished from other errors (denied_by, exit code 3)"

# By the name of the provider, or of the profile where one has several.
AGENTS: Mapping[str, AgentCompatibility] = MappingProxyType(
    {
        "claude": AgentCompatibility(
            title="Claude Code",
            # It is launched with --forward-subagent-text, which earlier ones refuse or carry out in part.
            minimum="2.1.219",
            ranges=(
                # Measured with the live tests of rules: see docs/decisions/0042.
                AgentRange("2.1.219", v1.DEGRADED, f"{_STALE_RULES}, and {_UNNAMED_DENIALS}"),
                AgentRange("2.1.243", v1.DEGRADED, _UNNAMED_DENIALS),
                AgentRange("2.1.307", v1.LIKELY_COMPATIBLE),
                AgentRange("2.1.325", v1.FULLY_COMPATIBLE),  # the one that all live tests run with
                AgentRange("2.1.326", v1.LIKELY_COMPATIBLE),
                AgentRange("3", v1.COMPATIBILITY_UNKNOWN),
            ),
            upgrade_url="https://code.claude.com/docs/en/setup",
            api_version="anthropic-2023-06-01",  # the header anthropic-version of its requests
        ),
        "codex": _tried("Codex CLI", "0.166.0", "1", "https://developers.openai.com/codex"),
        "opencode": _tried("opencode", "1.18.33", "2", "https://opencode.ai/docs"),
        "gemini": _tried("Gemini CLI", "0.61.0", "1", "https://geminicli.com"),
        "claude-agent-acp": _tried("Claude Agent", "0.99.0", "1", "https://agentclientprotocol.com"),
        "codex-acp": _tried("Codex (ACP)", "2.6.0", "3", "https://agentclientprotocol.com"),
        "openclaw": _tried("OpenClaw", "2026.9.6", "2027", "https://docs.openclaw.ai"),
    }
)


def client_refusal(version: str, clients: ClientCompatibility = CLIENTS) -> str:
    """Why a client of that version is refused; empty where it is not."""
    found, minimum = parsed(version), parsed(clients.minimum)
    assert minimum is not None
    if found is None or found >= minimum:
        return ""
    return f"Client too old: {version} < required {clients.minimum}"


def client_warnings(version: str, clients: ClientCompatibility = CLIENTS) -> list[str]:
    """What an accepted client is told about its version."""
    found, limit = parsed(version), parsed(clients.tested_before)
    assert limit is not None
    # A pre-release of the next version has what that version has.
    if found is None or found.release >= limit.release:
        return [UNTESTED_CLIENT]
    return []
