"""The environment variables of a session."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from betcode.client import NewConversation
from betcode.client.environment import ALLOWED, WITHHELD, session_environment
from betcode.providers.specs import SPECS


@pytest.mark.parametrize(
    "name",
    [
        "PATH",
        "HOME",
        "LANG",
        "LC_ALL",
        "SSH_AUTH_SOCK",
        "https_proxy",
        "NO_PROXY",
        "PYENV_ROOT",
        "NVM_DIR",
        "ASDF_DIR",
        "VIRTUAL_ENV",
        "XDG_RUNTIME_DIR",
        "ANTHROPIC_API_KEY",
        "CLAUDE_CONFIG_DIR",
        "AWS_PROFILE",
        "MISE_SHELL",
    ],
)
def test_required_variables_are_sent(name: str) -> None:
    assert session_environment({name: "value"}) == {name: "value"}


@pytest.mark.parametrize(
    "name", ["GITHUB_TOKEN", "PGPASSWORD", "PS1", "_", "PATHS", "HISTFILE", "AWS_VAULT", "LD_PRELOAD", "PYTHONPATH"]
)
def test_other_variables_are_not_sent(name: str) -> None:
    assert session_environment({name: "value"}) == {}


@pytest.mark.parametrize("name", WITHHELD)
def test_a_session_begun_inside_an_agent_does_not_take_its_marks(name: str) -> None:
    assert session_environment({name: "1"}, also=[name]) == {}


def test_settings_add_names_and_patterns() -> None:
    environ = {"GH_TOKEN": "a", "TEAM_A": "b", "TEAM_B": "c", "OTHER": "d"}
    assert session_environment(environ, also=["GH_TOKEN", "TEAM_*"]) == {"GH_TOKEN": "a", "TEAM_A": "b", "TEAM_B": "c"}


def test_a_value_that_is_not_text_is_dropped() -> None:
    assert session_environment({"PATH": "/bin:\udcff", "HOME": "/root"}) == {"HOME": "/root"}


@given(st.dictionaries(st.text(min_size=1, max_size=12), st.text(max_size=12)))
def test_nothing_is_invented_or_changed(environ: dict[str, str]) -> None:
    assert session_environment(environ).items() <= environ.items()


def test_the_list_has_no_pattern_that_lets_everything_through() -> None:
    assert all(len(name) >= 4 for name in ALLOWED if "*" in name)


def test_a_session_to_be_made_does_not_show_its_environment() -> None:
    assert "secret" not in repr(NewConversation("/w", environment={"ANTHROPIC_API_KEY": "secret"}))


def test_each_kind_of_agent_gets_the_keys_of_its_own_api() -> None:
    environ = {
        "PATH": "/bin",
        "OPENAI_API_KEY": "a",
        "OPENCLAW_STATE_DIR": "b",
        "CODEX_HOME": "c",
        "GEMINI_API_KEY": "d",
    }
    assert set(session_environment(environ)) == {"PATH"}
    assert set(session_environment(environ, providers=["openai"])) == {"PATH", "OPENAI_API_KEY"}
    assert set(session_environment(environ, providers=["codex"])) == {"PATH", "OPENAI_API_KEY", "CODEX_HOME"}
    assert session_environment(environ, providers=SPECS) == environ
