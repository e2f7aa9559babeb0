"""How Codex is found and started: the program behind npm's launcher, what it is told first, and which keys stay out."""

import json
import platform
import sys
from pathlib import Path
from typing import Any

import pytest

from betcode.domain.agents.provider_about import Login
from betcode.domain.errors import AgentUnavailable, InvalidRequest
from betcode.domain.runs.launch import LaunchContext
from betcode.domain.store.rows import NewSession
from betcode.domain.values.identifiers import SessionId
from betcode.providers.codex.provider import CodexProvider
from betcode.providers.codex.spec import CodexSettings

_ARCHITECTURE = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())


def _program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def _session(directory: Path, **config: str) -> NewSession:
    metadata = {f"provider_config.{name}": value for name, value in config.items()}
    return NewSession(SessionId("s-1"), "codex", str(directory), metadata=metadata)


def _said(provider: CodexProvider, session: NewSession, context: LaunchContext) -> list[dict[str, Any]]:
    return [json.loads(line) for line in provider.launch(session, context).opening.splitlines()]


@pytest.fixture
def provider(tmp_path: Path) -> CodexProvider:
    return CodexProvider(CodexSettings(str(_program(tmp_path / "codex"))))


def test_the_program_behind_npms_launcher_is_run(tmp_path: Path) -> None:
    modules = tmp_path / "lib" / "node_modules" / "@openai"
    launcher = _program(modules / "codex" / "bin" / "codex.js")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "codex").symlink_to(launcher)
    environment = {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path)}
    assert CodexProvider().about(environment).standing.path == str(tmp_path / "bin" / "codex")
    own = f"codex-{sys.platform}-{_ARCHITECTURE}"
    native = _program(modules / own / "vendor" / "some-triple" / "bin" / "codex")
    launch = CodexProvider().launch(_session(tmp_path), LaunchContext("", False, False, environment))
    assert launch.argv[:2] == (str(native), "app-server")
    assert launch.cwd == tmp_path


def test_a_codex_that_is_not_installed_is_not_called_logged_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    environment = {"HOME": str(tmp_path), "PATH": str(tmp_path)}
    assert CodexProvider().login_refusal(environment) == ""
    _program(tmp_path / "codex")
    assert CodexProvider().login_refusal(environment).startswith("Codex is not logged in")


def test_a_codex_that_is_not_there_is_a_sentence_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(AgentUnavailable, match=r"agents\.codex\.path"):
        CodexProvider(CodexSettings(str(tmp_path / "none"))).check({})


def test_a_conversation_is_begun_resumed_or_forked(provider: CodexProvider, tmp_path: Path) -> None:
    session = _session(tmp_path, sandbox="read-only", effort="high")
    begun = _said(provider, session, LaunchContext("", False, False, {}))
    assert [line["method"] for line in begun] == ["initialize", "initialized", "thread/start", "model/list"]
    params = begun[2]["params"]
    assert (params["cwd"], params["sandbox"], params["approvalPolicy"]) == (str(tmp_path), "read-only", "untrusted")
    assert params["config"]["model_reasoning_effort"] == "high"
    resumed = _said(provider, session, LaunchContext("t-1", True, False, {}))[2]
    assert resumed["method"] == "thread/resume"
    assert (resumed["params"]["threadId"], resumed["params"]["excludeTurns"]) == ("t-1", True)
    forked = _said(provider, session, LaunchContext("", False, False, {}, fork_point="t-1@u-2"))[2]
    assert forked["method"] == "thread/fork"
    assert (forked["params"]["threadId"], forked["params"]["lastTurnId"]) == ("t-1", "u-2")


def test_keys_stay_out_of_commands_however_they_are_called(provider: CodexProvider, tmp_path: Path) -> None:
    config = tmp_path / ".codex" / "config.toml"
    config.parent.mkdir()
    config.write_text('[model_providers.x]\nenv_key = "PLAIN"\nenv_http_headers = {"X-A" = "HEADER"}\n')
    project = tmp_path / "a" / "b"
    (project.parent / ".codex").mkdir(parents=True)
    (project.parent / ".codex" / "config.toml").write_text('[mcp_servers.y]\nbearer_token_env_var = "BEARER"\n')
    environment = {
        "HOME": str(tmp_path),
        "PATH": "/bin",
        "LANG": "C.UTF-8",
        "OBEY_CAMPAIGN_ID": "c-1",
        "GIT_AUTHOR_NAME": "A Person",
        "SSH_AUTH_SOCK": "/run/agent",
        "TOKENIZERS_PARALLELISM": "false",
        "PLAIN": "1",
        "HEADER": "2",
        "BEARER": "3",
        "OPENAI_API_KEY": "4",
        "GITHUB_TOKEN": "5",
        "MY_AUTH": "6",
        "APIKEY": "7",
        "DB_PASSWORD_FILE": "8",
        "LOOKS": "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD",
        "TMPDIR": "/var/tmp",
    }
    opening = _said(provider, _session(project), LaunchContext("", False, False, environment))
    policy = opening[2]["params"]["config"]["shell_environment_policy"]
    assert policy == {
        "inherit": "core",
        "ignore_default_excludes": False,
        "set": {
            "GIT_AUTHOR_NAME": "A Person",
            "LANG": "C.UTF-8",
            "OBEY_CAMPAIGN_ID": "c-1",
            "SSH_AUTH_SOCK": "/run/agent",
            "TOKENIZERS_PARALLELISM": "false",
        },
    }
    launch = provider.launch(_session(project), LaunchContext("", False, False, environment))
    assert launch.env == environment  # Codex itself needs its key


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"sandbox": "none"}, "Unknown sandbox"),
        ({"effort": "--danger"}, "not a valid effort"),
        ({"approval": "never"}, "it has effort, sandbox"),
    ],
)
def test_what_codex_cannot_be_is_refused(
    provider: CodexProvider, tmp_path: Path, config: dict[str, str], words: str
) -> None:
    with pytest.raises(InvalidRequest, match=words):
        provider.check_session(_session(tmp_path, **config))


def test_a_login_is_told_from_files_and_variables(provider: CodexProvider, tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path)}
    assert provider.about(environment).standing.login is Login.NO
    home = tmp_path / ".codex"
    home.mkdir()
    (home / "auth.json").write_text('{"OPENAI_API_KEY": "x"}')
    assert provider.about(environment).standing.login is Login.YES
    (home / "config.toml").write_text('model_provider = "lab"\n[model_providers.lab]\nenv_key = "LAB_KEY"\n')
    standing = provider.about(environment).standing
    assert (standing.login, "LAB_KEY is not set" in standing.missing) == (Login.NO, True)
    assert standing.missing == "Codex is not logged in: LAB_KEY is not set; set it, as the config.toml of Codex says"
    assert provider.about({**environment, "LAB_KEY": "x"}).standing.login is Login.YES


@pytest.mark.parametrize(
    ("environment", "is_lacking"),
    [
        ({"HOME": "/home/ada"}, False),
        ({"HOME": "/tmp/ada"}, True),
        ({"HOME": "/tmpfs/ada"}, False),
        ({"HOME": "/home/ada", "TMPDIR": "/home/ada"}, True),
        ({"HOME": "/tmp/ada", "TMPDIR": "/var/tmp"}, False),
        ({"HOME": "/home/ada", "CODEX_HOME": "/tmp/codex"}, True),
    ],
)
def test_a_codex_home_in_the_temporary_directory_gets_the_sandbox_helper_from_us(
    provider: CodexProvider, tmp_path: Path, environment: dict[str, str], is_lacking: bool
) -> None:
    context = LaunchContext("", False, False, {"PATH": "/usr/bin", **environment}, run_dir=Path("/state/runs/r1"))
    launch = provider.launch(_session(tmp_path), context)
    assert launch.links == ({"codex-linux-sandbox": tmp_path / "codex"} if is_lacking else {})
    assert launch.env["PATH"] == ("/usr/bin:/state/runs/r1" if is_lacking else "/usr/bin")


def test_a_login_that_may_be_in_the_keyring_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('cli_auth_credentials_store = "keyring"\n')
    standing = CodexProvider().about({"CODEX_HOME": str(tmp_path)}).standing
    assert standing.login is Login.UNKNOWN
    assert CodexProvider().login_refusal({"CODEX_HOME": str(tmp_path)}) == ""
