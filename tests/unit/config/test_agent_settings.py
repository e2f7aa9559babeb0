"""What settings say of kinds of agents."""

import json
from pathlib import Path

import pytest

from betcode.config.load import WrongSetting, load_settings
from betcode.providers.acp.spec import AcpSettings
from betcode.providers.codex.spec import CodexSettings
from betcode.providers.openai.spec import OpenAiSettings
from betcode.providers.openclaw.spec import OpenClawSettings
from betcode.providers.specs import SPECS


def written(directory: Path, agents: object) -> Path:
    (directory / "settings.json").write_text(json.dumps({"agents": agents}))
    return directory


def test_each_kind_of_agent_has_its_part(tmp_path: Path) -> None:
    agents = {
        "turn_limit": 2,
        "codex": {"path": "/opt/codex"},
        "acp": {"commands": {"goose": ["goose", "acp"]}},
        "openai": {"base_url": "http://localhost:11434/v1", "wire_api": "chat", "api_key_env": ""},
        "openclaw": {"url": "ws://127.0.0.1:18789", "start": True},
    }
    settings = load_settings(written(tmp_path, agents)).settings
    assert settings.engine.turn_limit == 2
    assert settings.agents.of(CodexSettings).path == "/opt/codex"
    assert settings.agents.of(AcpSettings).commands == {"goose": ("goose", "acp")}
    openai, openclaw = settings.agents.of(OpenAiSettings), settings.agents.of(OpenClawSettings)
    assert openai.base_url == "http://localhost:11434/v1"
    assert (openai.wire_api, openai.context_tokens) == ("chat", 128_000)
    assert (openclaw.url, openclaw.start) == ("ws://127.0.0.1:18789", True)
    assert [name for name in SPECS if settings.agents.is_changed(name)] == ["codex", "openai", "acp", "openclaw"]


def test_a_variable_says_where_codex_is(tmp_path: Path) -> None:
    loaded = load_settings(tmp_path, {"BETCODE_AGENTS_CODEX_PATH": "/opt/codex"})
    assert loaded.settings.agents.of(CodexSettings).path == "/opt/codex"


@pytest.mark.parametrize(
    ("agents", "says"),
    [
        ({"codex": {"path": "bin/codex"}}, "agents.codex.path must be the absolute path"),
        ({"acp": {"commands": {"goose": "goose acp"}}}, 'such as {"goose": ["goose", "acp"]}'),
        ({"acp": {"commands": {"goose": []}}}, "agents.acp.commands"),
        ({"openai": {"base_url": "localhost"}}, "agents.openai.base_url must be an address"),
        ({"openai": {"base_url": "https://me:secret@localhost/v1"}}, "without a user name"),
        ({"openai": {"api_key_env": "sk-123"}}, "the name of a variable"),
        ({"openclaw": {"url": "http://localhost:1"}}, '"ws://'),
    ],
)
def test_a_wrong_value_is_refused_by_a_sentence(tmp_path: Path, agents: object, says: str) -> None:
    with pytest.raises(WrongSetting) as refused:
        load_settings(written(tmp_path, agents))
    assert says in str(refused.value)
