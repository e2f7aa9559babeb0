"""`betcode config` as people and scripts use it."""

import json
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from betcode.cli.core.dispatch import dispatch
from support.patience import PATIENCE_S
from support.processes.command import Shell, shell


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Shell]:
    with shell(tmp_path) as commands:
        (commands.paths.config_dir / "settings.json").unlink()
        yield commands


def file(here: "Shell | InProcess") -> Path:
    return here.paths.config_dir / "settings.json"


class InProcess:
    """The commands that need neither a terminal nor a daemon, without a process of their own for each."""

    def __init__(self, shell: Shell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.work, self.paths = shell.work, shell.paths
        self._monkeypatch, self._capsys = monkeypatch, capsys
        for name, value in shell.environment.items():
            monkeypatch.setenv(name, value)
        for name in ("VISUAL", "EDITOR"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.chdir(shell.work)

    def run(self, *arguments: str, **more: str) -> "subprocess.CompletedProcess[str]":
        with self._monkeypatch.context() as patch:
            for name, value in more.items():
                patch.setenv(name, value)
            try:
                code = dispatch(arguments)
            except SystemExit as end:
                code = int(end.code or 0)
        said = self._capsys.readouterr()
        return subprocess.CompletedProcess(arguments, code, said.out, said.err)

    def json(self, *arguments: str) -> Any:
        return json.loads(self.run(*arguments).stdout)


@pytest.fixture
def quick(here: Shell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> InProcess:
    return InProcess(here, monkeypatch, capsys)


def refused(done: "subprocess.CompletedProcess[str]") -> str:
    """The one sentence of a command that ended with 5."""
    assert done.returncode == 5, done
    assert "Traceback" not in done.stderr
    (sentence,) = done.stderr.splitlines()
    return sentence


def test_a_set_value_is_shown_with_its_file(quick: InProcess) -> None:
    assert quick.run("config", "set", "agents.turn_limit", "3").returncode == 0
    assert quick.run("config", "set", "agents.hang_after", "10m", "--user").returncode == 0
    assert quick.run("config", "get", "agents.turn_limit").stdout == "3\n"
    lines = quick.run("config", "show", "--origin", BETCODE_LOG_LEVEL="debug").stdout.splitlines()
    rows = {line.split()[0]: line.split()[1:] for line in lines}
    assert rows["agents.turn_limit"] == ["3", f"{file(quick)}:3"]
    assert rows["agents.hang_after"] == ["10m", f"{file(quick)}:4"]
    assert rows["daemon.log_level"] == ["debug", "BETCODE_LOG_LEVEL"]
    assert rows["agents.queue_limit"] == ["50", "default"]
    shown = {one["key"]: one for one in quick.json("config", "show", "--json")["settings"]}
    assert (shown["agents.turn_limit"]["value"], shown["agents.turn_limit"]["layer"]) == (3, "user")
    assert quick.run("config", "unset", "agents.turn_limit").returncode == 0
    assert quick.run("config", "get", "agents.turn_limit").stdout == "5\n"
    assert stat.S_IMODE(file(quick).stat().st_mode) == 0o600


def test_a_project_has_its_own_files(quick: InProcess) -> None:
    quick.run("config", "set", "sessions.default_model", "shared", "--project")
    assert quick.run("config", "get", "sessions.default_model").stdout == "shared\n"
    done = quick.run("config", "set", "sessions.default_model", "mine", "--local")
    assert str(quick.work / ".claude/settings.local.json") in done.stdout
    assert quick.run("config", "get", "sessions.default_model").stdout == "mine\n"
    hidden = quick.run("config", "set", "sessions.default_model", "all")
    assert f"because {quick.work}/.claude/settings.local.json:3 overrides it" in hidden.stderr
    assert "cannot be set by a project" in refused(quick.run("config", "set", "notify.desktop", "true", "--project"))
    path = quick.run("config", "path", "--project").stdout.strip()
    assert path == str(quick.work / ".claude/settings.json")
    assert quick.run("config", "path").stdout.strip() == str(file(quick))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("set", "agents.turn_limit", "0"), "agents.turn_limit must be a whole number from 1 to 1000, not 0"),
        (("set", "agents.turn_limits", "3"), "did you mean agents.turn_limit?"),
        (("set", "permissions.deny", "[]"), "betcode config edit"),
        (("get", "nothing.at.all"), "There is no setting nothing.at.all"),
        (("unset", "nothing"), "There is no setting nothing"),
        (("set", "daemon.listen", "a", "--user", "--local"), "not allowed with"),
        (("edit",), "No editor is set"),
    ],
)
def test_an_invalid_value_is_one_sentence(quick: InProcess, arguments: tuple[str, ...], says: str) -> None:
    assert says in refused(quick.run("config", *arguments))
    assert not file(quick).exists()


def test_values_that_go_together_are_set_together(quick: InProcess) -> None:
    cert, key = ("daemon.tls_cert", "/etc/cert.pem"), ("daemon.tls_key", "/etc/key.pem")
    assert "belong together" in refused(quick.run("config", "set", *cert))
    assert "daemon.tls_key has no value" in refused(quick.run("config", "set", *cert, "daemon.tls_key"))
    assert not file(quick).exists()
    done = quick.run("config", "set", *cert, *key, "daemon.listen", "0.0.0.0")
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 3), done.stderr
    assert quick.run("config", "get", "daemon.tls_key").stdout == "/etc/key.pem\n"


def test_the_interpretation_of_a_value_is_printed(quick: InProcess) -> None:
    assert "agents.hang_after is set to 10m in " in quick.run("config", "set", "agents.hang_after", "600").stdout
    secret = quick.run("config", "set", "notify.webhook.url", "https://h/s3cret", "notify.webhook.secret_file", "/key")
    assert "s3cret" not in secret.stdout + secret.stderr
    assert "agents is a group of settings such as agents.turn_limit" in refused(quick.run("config", "get", "agents"))


def test_features_that_cannot_be_chosen_are_warned_of(quick: InProcess) -> None:
    done = quick.run("config", "set", "feature_flags.event_batchin", "false")
    assert "Warning: unknown feature feature_flags.event_batchin; did you mean event_batching?" in done.stderr
    assert any("event_batchin" in each for each in quick.json("config", "validate", "--json")["warnings"])


def test_all_errors_are_printed_with_the_warnings(quick: InProcess) -> None:
    file(quick).write_text(
        '{\n"agents": {"turn_limit": 0, "queue": 1},\n"daemon": {"log_level": "loud"},\n'
        '"permissions": {"deny": ["bash"]}}'
    )
    (quick.work / ".claude").mkdir()
    (quick.work / ".claude/settings.json").write_text("{")
    done = quick.run("config", "validate", BETCODE_SUBPROCESS_QUEUE="-1")
    assert done.returncode == 5
    assert [line.partition(": ")[2].partition(" must")[0] for line in done.stdout.splitlines()] == [
        "agents.turn_limit",
        "daemon.log_level",
        "line 1: a key in double quotes is missing",
        "agents.queue_limit",
        "bash: unknown tool bash; write Bash",
    ]
    assert f"Warning: {file(quick)}, line 2: unknown setting agents.queue" in done.stderr
    only = quick.run("config", "validate", str(quick.work / ".claude/settings.json"))
    assert (only.returncode, len(only.stdout.splitlines())) == (5, 1)
    assert quick.run("config", "validate", str(quick.work / "missing.json")).returncode == 5
    good = quick.work / "good.json"
    good.write_text('{"agents": {"turn_limit": 2}}')
    assert quick.run("config", "validate", str(good)).returncode == 0
    assert quick.run("config", "show").returncode == 5
    assert quick.run("config", "get", "agents.turn_limit").returncode == 5
    assert quick.run("config", "get", "cancel.term").returncode == 5  # the project's file cannot be read


def test_private_values_are_not_shown(quick: InProcess) -> None:
    url = "https://example.com/s3cret"
    quick.run("config", "set", "notify.webhook.secret_file", "/key")
    assert quick.run("config", "set", "notify.webhook.url", url).returncode == 0
    for arguments in (["show", "--origin"], ["show", "--json"], ["get", "notify.webhook.url"], ["validate"]):
        done = quick.run("config", *arguments)
        assert "s3cret" not in done.stdout + done.stderr
    assert "(private)" in quick.run("config", "show").stdout
    assert "is private" in refused(quick.run("config", "get", "notify.webhook.url"))


_EDITOR = """\
#!{python}
import pathlib, sys
texts, count = {texts!r}, pathlib.Path({count!r})
number = len(count.read_text()) if count.exists() else 0
count.write_text("x" * (number + 1))
assert sys.argv[1] == "--wait"
pathlib.Path(sys.argv[2]).write_text(texts[number])
"""


def editor(here: "Shell | InProcess", *texts: str) -> str:
    """A program that leaves the texts one after the other, whatever it is given; over all editors of a test."""
    program = here.work / "my editor"
    program.write_text(_EDITOR.format(python=sys.executable, texts=texts, count=str(here.work / "count")))
    program.chmod(0o755)
    return f"'{program}' --wait"


def snapshot(directory: Path) -> dict[Path, tuple[int, int, bytes]]:
    """Everything there that could have been touched."""
    return {
        path: (path.lstat().st_mode, path.lstat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in sorted([directory, *directory.rglob("*")])
    }


def status_says(here: Shell, text: str) -> bool:
    deadline = time.monotonic() + PATIENCE_S
    while text not in here.run("daemon", "status").stdout:
        if time.monotonic() > deadline:
            return False
    return True


def test_an_edited_file_replaces_the_old_one_once_it_is_valid(quick: InProcess) -> None:
    right, wrong = '{"agents": {"turn_limit": 7}} // mine\n', '{"agents": {"turn_limit": 0}}'
    done = quick.run("config", "edit", EDITOR="false", VISUAL=editor(quick, right))
    assert done.returncode == 0, done.stderr
    assert file(quick).read_text() == right
    done = quick.run("config", "edit", EDITOR=editor(quick, "", wrong))
    assert done.returncode == 5
    assert "line 1: agents.turn_limit must be" in done.stderr
    kept = Path(done.stderr.strip().rpartition(" is in ")[2])  # nobody types it again
    assert kept.read_text() == wrong
    kept.unlink()
    assert file(quick).read_text() == right
    assert "ended with 1" in quick.run("config", "edit", EDITOR="false").stderr
    assert "cannot be started" in refused(quick.run("config", "edit", EDITOR="/no/such/editor"))
    assert "EDITOR has an unclosed quote" in refused(quick.run("config", "edit", EDITOR='vi "'))


def test_on_a_terminal_a_wrong_file_is_edited_again(here: Shell) -> None:
    here.environment["TMPDIR"] = str(here.work)
    here.environment["EDITOR"] = editor(here, "{", '{"agents": {"turn_limit": 8}}', "{")
    with here.terminal("config", "edit") as person:
        person.expect("is not JSON")
        person.expect("Edit it again? [Y/n]")
        person.type("\n")
        assert person.ended() == 0
    assert json.loads(file(here).read_text()) == {"agents": {"turn_limit": 8}}
    with here.terminal("config", "edit") as person:
        person.expect("Edit it again? [Y/n]")
        person.type("n\n")
        assert person.ended() == 5
    assert json.loads(file(here).read_text()) == {"agents": {"turn_limit": 8}}


def test_the_settings_of_claude_code_are_copied_when_asked_for(here: Shell, tmp_path: Path) -> None:
    claude = tmp_path / "home/.claude"
    (claude / "rules").mkdir(parents=True)
    (claude / "settings.json").write_text('{"model": "opus", "permissions": {"deny": ["Bash(git push *)"]}}')
    (claude / "rules/style.md").write_text("short words")
    before = snapshot(claude)
    assert here.json("config", "import", "--json")["copied"] == ["settings.json", "rules/style.md"]
    copy = file(here)
    assert not copy.is_symlink()
    assert copy.read_text() == (claude / "settings.json").read_text()
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert (here.paths.config_dir / "rules/style.md").read_text() == "short words"
    assert here.run("config", "validate").stdout == "The settings are valid\n"
    copy.write_text("{}")
    again = here.run("config", "import")
    assert again.returncode == 5
    assert "use --replace to replace it" in again.stderr
    assert copy.read_text() == "{}"
    assert here.run("config", "import", "--replace").returncode == 0
    assert "opus" in copy.read_text()
    assert copy.with_name("settings.json.before").read_text() == "{}"
    assert snapshot(claude) == before
    checked = here.json("policy", "check", "Bash(git push origin)", "--json")
    assert (checked["outcome"], checked["rules"][0]["layer"]) == ("deny", "user")
    rules = here.json("policy", "list", "--json")["rules"]
    assert rules == [{"action": "deny", "rule": "Bash(git push *)", "layer": "user", "source": f"{copy}:1"}]
    assert "Bash(git push *)" in here.run("policy", "list").stdout
    assert "There are no settings" in refused(here.run("config", "import", "--from", str(tmp_path / "nothing")))


def test_files_replaced_by_imports_are_saved_each_time(quick: InProcess, tmp_path: Path) -> None:
    claude = tmp_path / "claude"
    claude.mkdir()
    (claude / "settings.json").write_text('{"model": "opus"}')
    file(quick).write_text('{"agents": {"turn_limit": 3}}')
    for _ in range(2):
        assert quick.run("config", "import", "--from", str(claude), "--replace").returncode == 0
    kept = sorted(path.name for path in file(quick).parent.glob("settings.json.*"))
    assert kept == ["settings.json.before", "settings.json.before-2"]
    assert "turn_limit" in (file(quick).parent / "settings.json.before").read_text()


def test_the_mcp_servers_of_agents_are_listed(here: Shell) -> None:
    assert here.json("config", "mcp", "--json") == {"servers": []}
    (here.work / "mcp").write_text('[{"name": "github", "status": "connected"}]')
    here.run("run", "say hello")
    (one,) = here.json("config", "mcp", "--json")["servers"]
    assert (one["name"], one["status"], one["tools"]) == ("github", "running", ["look"])
    assert "github" in here.run("config", "mcp").stdout


@pytest.mark.behaviour("config.order.flags-first")
def test_a_flag_of_the_daemon_overrides_all_files(here: Shell) -> None:
    here.run("config", "set", "agents.turn_limit", "3")
    done = here.run("daemon", "start", "--set", "agents.turn_limit=7", BETCODE_MAX_SUBPROCESSES="5")
    assert done.returncode == 0, done.stderr
    assert here.json("daemon", "status", "--json")["facts"]["turn_limit"] == "7"
    assert here.run("daemon", "restart", BETCODE_MAX_SUBPROCESSES="5").returncode == 0
    assert here.json("daemon", "status", "--json")["facts"]["turn_limit"] == "5"


@pytest.mark.parametrize(
    ("variables", "arguments", "says"),
    [
        ({"BETCODE_MAX_SUBPROCESSES": "many"}, [], "BETCODE_MAX_SUBPROCESSES: agents.turn_limit must be"),
        ({}, ["--set", "agents.turn_limit=0"], "--set agents.turn_limit: agents.turn_limit must be"),
        ({}, ["--set", "agents.turn=0"], "There is no setting agents.turn"),
    ],
)
def test_a_daemon_does_not_begin_with_a_wrong_setting(
    here: Shell, variables: dict[str, str], arguments: list[str], says: str
) -> None:
    assert says in refused(here.run("daemon", "run", *arguments, **variables))


def test_a_model_in_the_environment_of_the_command_counts_for_its_session(here: Shell) -> None:
    here.run("config", "set", "sessions.default_model", "project-1", "--project")
    for variables, model in (({}, "project-1"), ({"BETCODE_DEFAULT_MODEL": "mine-1"}, "mine-1")):
        assert f"--model={model}" in here.run("run", "argv", **variables).stdout
    assert "--model=flag-1" in here.run("run", "--model", "flag-1", "argv", BETCODE_DEFAULT_MODEL="mine-1").stdout


def test_the_status_lists_settings_that_need_a_restart_and_problems(here: Shell) -> None:
    here.run("daemon", "start")
    done = here.run("config", "set", "daemon.durability", "full")
    assert "Restart the daemon to apply it" in done.stderr
    here.daemon_signal("HUP")
    assert status_says(here, "Settings: restart the daemon to apply: daemon.durability")
    file(here).write_text("{")
    here.daemon_signal("HUP")
    assert status_says(here, f"Settings: not reloaded: {file(here)} is not JSON")
