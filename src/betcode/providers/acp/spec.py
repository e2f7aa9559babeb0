"""The specs of agents that speak the Agent Client Protocol: one for any agent, and one per tested agent."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from betcode.domain.agents.provider_spec import (
    ProviderSetting,
    ProviderSpec,
    ValueKind,
    VersionSupport,
    tested_with,
)

GENERIC_PROFILE = "generic"  # any other program
_FAMILY = "acp"
_COMMON_KEYS: Mapping[str, str] = {
    "command": 'the program and its arguments as a JSON list, such as ["goose", "acp"]',
    "mode": "the mode to set, as the agent names it",
}
_DOCUMENTATION = "https://agentclientprotocol.com"


class AcpSettings(NamedTuple):
    # By the name of a profile: the program that speaks ACP and its arguments, instead of the profile's own.
    commands: Mapping[str, tuple[str, ...]] = MappingProxyType({})


def _profile(name: str, title: str, environment: tuple[str, ...], versions: VersionSupport) -> ProviderSpec:
    return ProviderSpec(
        name=name,
        title=title,
        package=__package__,
        profile_of=_FAMILY,
        environment=environment,
        keys=_COMMON_KEYS,
        versions=versions,
    )


OPENCODE = _profile(
    "opencode",
    "opencode",
    ("OPENCODE_*", "OPENAI_*"),
    tested_with("1.18.33", unknown_from="2", upgrade_url="https://opencode.ai/docs"),
)
GEMINI = _profile(
    "gemini",
    "Gemini CLI",
    ("GEMINI_*", "GOOGLE_API_KEY"),
    tested_with("0.61.0", unknown_from="1", upgrade_url="https://geminicli.com"),
)
CLAUDE_AGENT = _profile(
    "claude-agent-acp",
    "Claude Agent",
    (),
    tested_with("0.99.0", unknown_from="1", upgrade_url=_DOCUMENTATION),
)
CODEX = _profile(
    "codex-acp",
    "Codex (ACP)",
    ("CODEX_*", "OPENAI_*"),
    tested_with("2.6.0", unknown_from="3", upgrade_url=_DOCUMENTATION),
)
PROFILES = (OPENCODE, GEMINI, CLAUDE_AGENT, CODEX)

ANY = ProviderSpec(
    name=_FAMILY,
    title="Agents that speak ACP",
    package=__package__,
    obey_name="acp",
    obey_number=5,
    environment=tuple(dict.fromkeys(name for profile in PROFILES for name in profile.environment)),
    keys={
        "profile": "which agent: "
        f"{', '.join(profile.name for profile in PROFILES)}, {GENERIC_PROFILE}, or a name of agents.acp.commands",
        **_COMMON_KEYS,
    },
    settings=(
        ProviderSetting(
            "commands",
            ValueKind.COMMANDS,
            "agents that speak ACP: for each profile name, the program to run and its arguments; the name of a "
            "built-in profile replaces that profile's command",
        ),
    ),
    defaults=AcpSettings(),
)

SPECS = (ANY, *PROFILES)
