"""The spec of Codex, and its settings."""

from collections.abc import Mapping
from typing import NamedTuple

from betcode.domain.agents.provider_spec import ApiKey, ProviderSetting, ProviderSpec, ValueKind, tested_with


class CodexSettings(NamedTuple):
    path: str = ""  # of the program; empty: codex on the session's PATH


def _key_variables(_: CodexSettings, __: Mapping[str, str], environ: Mapping[str, str]) -> tuple[str, ...]:
    from betcode.providers.codex.environment import key_of_provider  # it reads a TOML file

    return (key_of_provider(environ),)


SPEC = ProviderSpec(
    name="codex",
    title="Codex CLI",
    package=__package__,
    obey_name="codex",
    obey_number=3,
    executable="codex",
    environment=("CODEX_*", "OPENAI_*"),
    key_variables=_key_variables,
    api_key=ApiKey("openai", "OPENAI_API_KEY"),
    keys={
        "sandbox": "what an allowed command may access: read-only, workspace-write (the default) or danger-full-access",
        "effort": "how long the model thinks: low, medium, high, or another value that the model supports",
    },
    settings=(ProviderSetting("path", ValueKind.FILE, "path of codex; empty: found on the session's PATH"),),
    defaults=CodexSettings(),
    versions=tested_with("0.166.0", unknown_from="1", upgrade_url="https://developers.openai.com/codex"),
)
