"""How our agent for OpenAI-compatible APIs is launched, and what is refused before it is."""

from dataclasses import replace
from pathlib import Path

import pytest

from betcode.domain.agents.provider_about import Login
from betcode.domain.errors import AgentUnavailable, BetcodeError, InvalidRequest
from betcode.domain.runs.launch import Forbidden, LaunchContext
from betcode.domain.store.rows import NewSession
from betcode.domain.values.identifiers import SessionId
from betcode.providers.openai.provider import OpenAiProvider
from betcode.providers.openai.spec import OpenAiSettings

WITH_KEY = {"OPENAI_API_KEY": "sk-secret", "PATH": "/bin"}


def session(*, model: str = "gpt", environment: dict[str, str] | None = None, **config: str) -> NewSession:
    return NewSession(
        session_id=SessionId("0192d3a0-0000-7000-8000-000000000001"),
        provider="openai",
        working_directory="/home/dev/project",
        model=model,
        metadata={f"provider_config.{key}": value for key, value in config.items()},
        environment=WITH_KEY if environment is None else environment,
    )


def argv(new: NewSession, settings: OpenAiSettings | None = None, *deny: str) -> tuple[str, ...]:
    context = LaunchContext("", False, False, new.environment or {}, forbidden=Forbidden(deny))
    run_dir = Path("/state/runs/r1")

    return OpenAiProvider(settings).launch(new, replace(context, run_dir=run_dir)).argv


@pytest.mark.parametrize(
    ("new", "settings", "flags"),
    [
        (session(), None, ["--base-url=https://api.openai.com/v1", "--wire=responses", "--model=gpt"]),
        (
            session(base_url="http://localhost:8000/v1"),
            None,
            ["--base-url=http://localhost:8000/v1", "--wire=chat", "--key-variable=OPENAI_API_KEY"],
        ),
        (session(wire_api="chat"), None, ["--wire=chat"]),
        (session(model=""), OpenAiSettings(model="theirs", context_tokens=9000), ["--model=theirs"]),
        (session(context_tokens="32000"), None, ["--context-tokens=32000"]),
        (
            session(environment={}),
            OpenAiSettings(base_url="http://127.0.0.1:1/v1", wire_api="responses"),
            ["--base-url=http://127.0.0.1:1/v1", "--wire=responses"],
        ),
    ],
)
def test_a_launch_says_where_the_model_is_and_never_the_key(
    new: NewSession, settings: OpenAiSettings | None, flags: list[str]
) -> None:
    words = argv(new, settings)
    assert set(flags) <= set(words)
    assert "--transcripts=/state/agents/openai" in words
    assert not any("sk-secret" in word for word in words)
    OpenAiProvider(settings).check_session(new)


@pytest.mark.parametrize(
    ("new", "error", "said"),
    [
        (session(environment={"PATH": "/bin"}), AgentUnavailable, "set OPENAI_API_KEY"),
        (session(api_key_env="OTHER_KEY"), AgentUnavailable, "set OTHER_KEY"),
        (session(api_key_env="not a name"), InvalidRequest, "api_key_env"),
        (session(wire_api="smoke"), InvalidRequest, "Unknown wire_api 'smoke'"),
        (session(base_url="ftp://x"), InvalidRequest, "base_url"),
        (session(base_url="https://user:pass@host/v1"), InvalidRequest, "base_url"),
        (session(context_tokens="many"), InvalidRequest, "context_tokens"),
        (session(temperature="1"), InvalidRequest, "has no configuration key 'temperature'"),
        (session(model=""), InvalidRequest, "No model is chosen"),
    ],
)
def test_what_cannot_work_is_refused_with_what_to_do(new: NewSession, error: type[BetcodeError], said: str) -> None:
    with pytest.raises(error) as refused:
        OpenAiProvider().check_session(new)
    assert said in refused.value.message


def test_an_agent_without_its_key_is_not_started() -> None:
    with pytest.raises(AgentUnavailable, match="OPENAI_API_KEY"):
        argv(session(environment={}))


def test_rules_about_reading_make_it_ask() -> None:
    assert "--ask-reads" in argv(session(), None, "Read(./.env)")
    assert "--ask-reads" not in argv(session(), None, "Bash(rm *)")


@pytest.mark.parametrize(
    ("settings", "environment", "login", "is_missing"),
    [
        (OpenAiSettings(), WITH_KEY, Login.YES, False),
        (OpenAiSettings(), {}, Login.NO, True),
        (OpenAiSettings(base_url="http://localhost:8080/v1"), {}, Login.UNKNOWN, False),
    ],
)
def test_people_are_told_what_is_missing(
    settings: OpenAiSettings, environment: dict[str, str], login: Login, is_missing: bool
) -> None:
    standing = OpenAiProvider(settings).about(environment).standing
    assert (standing.login, bool(standing.missing)) == (login, is_missing)
    assert "sk-secret" not in str(standing)
