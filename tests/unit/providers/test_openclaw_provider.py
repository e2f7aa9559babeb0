"""How the bridge is launched, and what a session may ask of it."""

from pathlib import Path

import pytest

from betcode.domain.agents.provider_config import PREFIX
from betcode.domain.errors import AgentUnavailable, InvalidRequest
from betcode.domain.runs.launch import LaunchContext
from betcode.domain.store.rows import NewSession
from betcode.domain.values.identifiers import SessionId
from betcode.providers.openclaw.provider import OpenClawProvider
from betcode.providers.openclaw.spec import OpenClawSettings

URL = "wss://gateway.example/path"


def _session(**config: str) -> NewSession:
    metadata = {PREFIX + key: value for key, value in config.items()}
    return NewSession(
        session_id=SessionId("s"), provider="openclaw", working_directory="/work", created_ns=1, metadata=metadata
    )


def _context(tmp_path: Path) -> LaunchContext:
    run_dir = tmp_path / "state" / "runs" / "r"
    return LaunchContext("", resume=False, continue_turn=False, environment={"PATH": "/nowhere"}, run_dir=run_dir)


def test_a_bridge_is_told_where_the_gateway_and_its_token_are_and_not_what_that_is(tmp_path: Path) -> None:
    provider = OpenClawProvider(OpenClawSettings(url=URL, token_file="/secret/token"))
    provider.check_session(_session())
    launch = provider.launch(_session(), _context(tmp_path))
    assert f"--url={URL}" in launch.argv
    assert "--token-file=/secret/token" in launch.argv
    assert f"--state-dir={tmp_path / 'state' / 'agents' / 'openclaw'}" in launch.argv
    assert "--started" not in launch.argv
    assert launch.opening.endswith(b"\n")


def test_another_gateway_is_not_shown_the_token_of_the_one_in_the_settings(tmp_path: Path) -> None:
    provider = OpenClawProvider(OpenClawSettings(url=URL, token_file="/secret/token"))
    launch = provider.launch(_session(url="wss://other.example"), _context(tmp_path))
    assert "--url=wss://other.example" in launch.argv
    assert not [word for word in launch.argv if word.startswith("--token-file")]


@pytest.mark.parametrize(
    "config",
    [{"colour": "red"}, {"url": "http://x"}, {"url": "ws://u:p@x"}, {"token_file": "token"}, {"start": "perhaps"}],
)
def test_what_is_not_understood_is_refused_when_the_session_is_made(config: dict[str, str]) -> None:
    with pytest.raises(InvalidRequest):
        OpenClawProvider(OpenClawSettings(url=URL)).check_session(_session(**config))


def test_what_is_missing_is_said_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(AgentUnavailable, match="npm install -g openclaw"):
        OpenClawProvider(OpenClawSettings(start=True)).check_session(_session())
    with pytest.raises(AgentUnavailable, match="is not an executable file"):
        OpenClawProvider(OpenClawSettings(start=True, program=str(tmp_path / "no"))).check_session(_session())
    assert "agents.openclaw.url" in OpenClawProvider().about({}).standing.missing
    assert not OpenClawProvider(OpenClawSettings(url=URL)).about({}).standing.missing


def test_it_asks_about_commands_and_recognises_a_message_that_it_had_before() -> None:
    able = OpenClawProvider().capabilities_for(_session())
    assert able.commands_only
    assert able.permissions
    assert able.recognises_repeats
    assert able.cost
    assert not able.queues_messages
    assert not able.plan_mode
