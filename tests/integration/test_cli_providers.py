"""`betcode providers`, and providers chosen on the command line."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from betcode.daemon.providers import find_providers
from betcode.providers.specs import SPECS
from support.processes.command import Shell, shell
from support.processes.command_server import Calling, calling


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with shell(tmp_path_factory.mktemp("providers")) as commands:
        assert commands.run("daemon", "start").returncode == 0
        yield commands


@pytest.fixture(scope="module")
def call(here: Shell) -> Iterator[Calling]:
    with calling(here.environment, here.work) as call:
        yield call


def test_every_kind_is_completed_and_no_other() -> None:
    assert set(SPECS) == set(find_providers({}, None).providers)


def test_each_provider_has_a_line(call: Calling) -> None:
    done = call(["providers"])
    lines = done.stdout.splitlines()
    assert done.code == 0, done.stderr
    assert lines[0].split()[:2] == ["KIND", "STATE"]
    said = {line.split()[0]: line for line in lines[1:]}
    assert set(SPECS) <= set(said)
    assert "part of betcode" in said["demo"]
    assert "claude (default)" in said["claude"]


def test_one_provider_is_shown_in_full(call: Calling) -> None:
    done = call(["providers", "demo"], COLUMNS="100")
    assert done.stdout.startswith("betcode demo (demo)\n  program  part of betcode\n")
    assert "\n  login    not needed\n" in done.stdout
    can, _, cannot = done.stdout.partition("\n  cannot ")
    assert "fork" in can
    assert "compaction" in cannot


def test_a_missing_program_is_reported_with_a_fix(here: Shell) -> None:
    found = {one["name"]: one for one in here.json("providers", "--json")["providers"]}
    assert "not logged in: run `claude` and /login" in found["claude"]["missing"]
    assert found["claude"]["capabilities"]["screens_calls"] == "yes"
    assert found["demo"]["missing"] is None


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["providers", "gpt"], "No such provider 'gpt': choose one of"),
        (["run", "--provider", "gpt", "hello"], "No such provider 'gpt': choose one of"),
        (["session", "new", "--provider", "demo", "--config", "speed=9"], "has no configuration key 'speed'"),
        (["session", "new", "--config", "speed"], "'speed' is not KEY=VALUE"),
        (["--provider", "demo", "session", "list"], "--provider must follow the command"),
        (["run", "--continue", "--config", "a=b", "hello"], "--config"),
    ],
)
def test_an_unknown_provider_is_an_invalid_argument(call: Calling, arguments: list[str], says: str) -> None:
    done = call(arguments)
    assert (done.code, done.stdout) == (5, "")
    assert says in done.stderr


def test_betcode_alone_opens_the_session_of_the_kind_that_is_named(here: Shell, call: Calling) -> None:
    demo = call(["session", "new", "--provider", "demo"]).stdout.strip()
    newer = call(["session", "new", "--provider", "claude"]).stdout.strip()
    assert f"Session {demo} · demo" in here.run("--plain", "--provider", "demo", stdin="/quit\n").stderr
    assert f"Session {newer} · claude" in here.run("--plain", "--provider", "claude", stdin="/quit\n").stderr


def test_the_keys_of_other_apis_do_not_reach_an_agent(here: Shell) -> None:
    keys = {"OPENAI_API_KEY": "sk-1", "ANTHROPIC_API_KEY": "sk-2"}
    assert here.run("run", "--provider", "claude", "env OPENAI_API_KEY", **keys).stdout.strip() == ""
    assert here.run("run", "--provider", "claude", "env ANTHROPIC_API_KEY", **keys).stdout.strip() == "sk-2"


def test_status_and_providers_name_the_same_default_agent(tmp_path: Path) -> None:
    """Although claude is only on the PATH of the person, and not on the daemon's."""
    nothing, tools = tmp_path / "nothing", tmp_path / "tools"
    nothing.mkdir()
    tools.mkdir()
    (tools / "claude").symlink_to("/bin/true")
    with shell(tmp_path) as here:
        here.environment.pop("BETCODE_CLAUDE_BIN", None)
        assert here.run("daemon", "start", PATH=str(nothing)).returncode == 0
        for path, wanted in ((tools, "claude"), (nothing, "demo")):
            here.environment["PATH"] = str(path)
            [default] = [one["name"] for one in here.json("providers", "--json")["providers"] if one["default"]]
            assert default == wanted
            assert here.json("daemon", "status", "--json")["facts"]["default_provider"] == wanted
            assert f"default {wanted}" in here.run("daemon", "status").stdout


def test_an_agent_that_is_not_logged_in_is_refused_at_once_with_the_sentence_of_providers(
    here: Shell, tmp_path: Path
) -> None:
    """No agent is started, and no session stays for the message."""
    codex = tmp_path / "codex"
    codex.write_text('#!/bin/sh\ncase $1 in *version) echo 1.0; exit;; esac\ntouch "$0.started"\nexec sleep 60\n')
    codex.chmod(0o700)
    here.environment |= {"PATH": f"{tmp_path}:{here.environment['PATH']}", "CODEX_HOME": str(tmp_path / "home")}
    [shown] = here.json("providers", "codex", "--json")["providers"]
    assert "not logged in" in shown["missing"]
    before = here.json("session", "list", "--json")["total"]
    done = here.run("run", "--provider", "codex", "hello")
    assert done.returncode == 1
    assert shown["missing"] in done.stderr
    assert "codex login" in done.stderr
    assert here.json("session", "list", "--json")["total"] == before
    assert not codex.with_name("codex.started").exists()
