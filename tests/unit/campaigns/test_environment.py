"""The environment of a campaign's sessions and commands."""

from pathlib import Path

import pytest

from betcode.campaigns import SessionFacts, command_environment, provider_keys, session_environment
from betcode.domain.errors import InvalidRequest
from betcode.domain.obey.campaigns import Campaign

CAMPAIGN = Campaign("0b6f-1", "one", Path("/campaigns/one"))
FACTS = SessionFacts("sess_01JMXYZ", CAMPAIGN, "claude-code", "builder", "/run/obey/daemon.sock")
FOREIGN = {
    "OBEY_SESSION_ID": "another",
    "OBEY_ANYTHING": "x",
    "AWS_SECRET_ACCESS_KEY": "x",
    "GCP_KEY": "x",
    "AZURE_TOKEN": "x",
    "DATABASE_URL": "x",
    "REDIS_URL": "x",
    "SSH_AUTH_SOCK": "x",
    "GPG_AGENT_INFO": "x",
    "CAMP_ROOT": "/another",
}


def test_a_session_is_told_who_it_is_and_sees_nobody_elses_keys() -> None:
    found = session_environment({**FOREIGN, "PATH": "/bin", "HOME": "/h", "AWSOME": "kept"}, {"MINE": "1"}, FACTS)
    assert found == {
        "PATH": "/bin",
        "HOME": "/h",
        "AWSOME": "kept",
        "MINE": "1",
        "OBEY_SESSION_ID": "sess_01JMXYZ",
        "OBEY_CAMPAIGN_ID": "0b6f-1",
        "OBEY_CAMPAIGN_DIR": "/campaigns/one",
        "OBEY_PROVIDER": "claude-code",
        "OBEY_DAEMON_SOCKET": "/run/obey/daemon.sock",
        "OBEY_SESSION": "sess_01JMXYZ",
        "OBEY_AGENT": "builder",
        "CAMP_ROOT": "/campaigns/one",
    }


def test_what_a_caller_gives_wins_over_what_is_inherited_and_over_keys() -> None:
    found = session_environment({"A": "old"}, {"A": "new", "K": "mine"}, FACTS, {"K": "key", "L": "key"})
    assert (found["A"], found["K"], found["L"]) == ("new", "mine", "key")


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("OBEY_SESSION_ID", "x", "are reserved for the daemon"),
        ("OBEY_", "", "are reserved for the daemon"),
        ("OBEY_NEW\n", "x", "are reserved for the daemon"),
        ("CAMP_ROOT", "/etc", "root of the session's campaign"),
        ("", "x", "use letters, digits"),
        ("A=B", "x", "use letters, digits"),
        ("A B", "x", "use letters, digits"),
        ("A\nOBEY_X", "x", "use letters, digits"),
        ("1A", "x", "use letters, digits"),
        ("Ä", "x", "use letters, digits"),
        ("A" * 257, "x", "use letters, digits"),
        ("A", "one\ntwo", "line break"),
        ("A", "one\rtwo", "line break"),
        ("A", "one\0two", "line break"),
        ("A", "\x1b[31m", "control character"),
        ("A", "\ud800", "control character"),
        ("A", "x" * 65_537, "longer than"),
    ],
)
def test_a_variable_that_is_nobodys_to_set_is_refused(name: str, value: str, words: str) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        session_environment({}, {"FINE": "1", name: value}, FACTS)
    assert words in refusal.value.message
    assert refusal.value.message.isprintable()


def test_too_many_variables_or_too_much_of_them_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="at most 256"):
        session_environment({}, {f"A{number}": "" for number in range(257)}, FACTS)
    with pytest.raises(InvalidRequest, match="too large"):
        session_environment({}, {f"A{number}": "x" * 60_000 for number in range(10)}, FACTS)


@pytest.mark.parametrize("odd", ["", "a b", "a\nb", "x" * 257, "../up", "ä", "a;b"])
def test_an_id_with_odd_characters_goes_into_no_environment(odd: str) -> None:
    for facts in (
        SessionFacts(odd, CAMPAIGN, "claude", "n", "/s"),
        SessionFacts("s", Campaign(odd, "one", Path("/x")), "claude", "n", "/s"),
        SessionFacts("s", CAMPAIGN, odd, "n", "/s"),
    ):
        with pytest.raises(InvalidRequest, match="at most 256"):
            session_environment({}, {}, facts)


def test_a_name_of_two_lines_goes_into_no_environment() -> None:
    with pytest.raises(InvalidRequest, match="the agent's name"):
        session_environment({}, {}, SessionFacts("s", CAMPAIGN, "claude", "a\nOBEY_X=1", "/s"))


def test_a_command_is_marked_as_an_agents_and_sent_nowhere_else() -> None:
    sent = {"GIT_DIR": "/x", "GIT_EXEC_PATH": "/x", "JUST_JUSTFILE": "/x", "PATH": "bin:/bin::.:/usr/bin"}
    found = command_environment({**FOREIGN, **sent}, CAMPAIGN, "/s")
    assert {"GIT_DIR", "GIT_EXEC_PATH", "JUST_JUSTFILE", "OBEY_SESSION_ID", "SSH_AUTH_SOCK"}.isdisjoint(found)
    assert found["PATH"] == "/bin:/usr/bin"
    assert found["OBEY_AGENT"] == "execute"
    assert found["CAMP_ROOT"] == found["OBEY_CAMPAIGN_DIR"] == "/campaigns/one"
    assert found["GIT_CEILING_DIRECTORIES"] == "/campaigns"


def test_keys_come_from_the_daemons_file_and_no_word_of_it_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    environ = {"HOME": str(tmp_path)}
    assert provider_keys(environ, "claude") == {}
    path = tmp_path / ".config/obey/daemon.yaml"
    path.parent.mkdir(parents=True)
    path.write_text("other: 1\napi_keys:\n  anthropic: sk-ant-123\n  openai: 'sk-456'\n  openclaw:\n")
    assert provider_keys(environ, "claude") == {"ANTHROPIC_API_KEY": "sk-ant-123"}
    assert provider_keys(environ, "codex") == provider_keys(environ, "openai") == {"OPENAI_API_KEY": "sk-456"}
    assert provider_keys(environ, "openclaw") == {}
    assert provider_keys(environ, "demo") == {}
    path.write_text("api_keys: {anthropic: sk-ant-123")
    assert provider_keys(environ, "claude") == {}
    assert "cannot be read as YAML" in caplog.text
    assert "sk-ant" not in caplog.text
