"""The --json output of commands on a real daemon matches docs/commands.yaml, field by field."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_docs import Reference

from betcode.cli.core.arguments import commands_of
from betcode.cli.core.parser import build_parser
from support.git.repositories import make_repository
from support.processes.command import Shell, shell
from support.processes.command_server import Calling, calling

REFERENCE = Reference()
COMMANDS = [words for words, _ in commands_of(build_parser())]
# The daemon itself, and what only ends with the terminal or the daemon: their JSON is shown by tests of their own.
ELSEWHERE = {"daemon run", "daemon restart", "attach", "permission watch"}


class Caller:
    """Calls commands and compares what they print with what is documented."""

    def __init__(self, call: Calling) -> None:
        self._call = call
        self.called: set[str] = set()
        self.faults: list[str] = []

    def __call__(self, *arguments: str, code: int = 0, documented: bool = True) -> Any:
        """What it prints; its fields are compared with those that are documented."""
        chosen = build_parser().parse_args(arguments)
        words = " ".join(filter(None, (chosen.command, getattr(chosen, "verb", ""))))
        at = arguments.index("--") if "--" in arguments else len(arguments)
        done = self._call([*arguments[:at], "--json", *arguments[at:]], EDITOR="true")
        assert done.code == code, (arguments, done.stderr)
        self.called.add(words)
        values = list(_values(done.stdout))
        assert values, arguments
        if documented:
            self.faults += [fault for value in values for fault in REFERENCE.faults(words, value)]
        return values[0] if len(values) == 1 else values


def _values(text: str) -> Iterator[Any]:
    """One value, or one a line."""
    try:
        yield json.loads(text)
    except ValueError:
        yield from map(json.loads, text.splitlines())


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    root = tmp_path_factory.mktemp("json")
    with shell(root) as commands:
        commands.work = make_repository(root / "shop")
        assert commands.run("daemon", "start").returncode == 0
        yield commands


def test_every_command_is_documented_and_no_other() -> None:
    assert list(REFERENCE.commands) == COMMANDS
    assert set(COMMANDS) - set(REFERENCE.examples) == {"daemon run"}


@pytest.mark.parametrize("words", REFERENCE.examples)
def test_an_example_has_the_fields_that_are_documented(words: str) -> None:
    assert REFERENCE.faults(words, REFERENCE.examples[words]) == []


def test_a_field_that_is_missing_unknown_or_of_another_type_is_found() -> None:
    printed = {"session_id": 7, "was_open": True, "colour": "red"}
    assert REFERENCE.faults("session close", printed) == [
        "session close.session_id is no string: 7",
        "session close.colour is not documented",
    ]
    assert REFERENCE.faults("session close", {"session_id": ""}) == ["session close.was_open is missing"]
    assert REFERENCE.faults("session list", {"sessions": [{}], "total": 1})


def test_commands_print_the_documented_json(here: Shell, tmp_path: Path) -> None:
    with calling(here.environment, here.work) as process:
        _go_through(Caller(process), here, tmp_path)


def _go_through(call: Caller, here: Shell, tmp_path: Path) -> None:
    session = call("run", "say hello")["session_id"]
    asking = call("run", "--on-ask", "park", "tool", code=3)
    _sessions(call, session, tmp_path)
    _prompts(call, asking["session_id"], asking["parked"][0])
    _worktrees(call)
    _policies(call, tmp_path)
    _settings(call, here)
    copy = _database(call)
    for words in ("daemon start", "daemon status", "daemon health", "doctor", "version", "features", "config mcp"):
        call(*words.split(), code=1 if words == "doctor" else 0)
    call("providers")
    call("daemon", "logs", "-n", "5")
    call("daemon", "install", "--print")
    call("daemon", "uninstall", "--name", "nobody")
    call("completion", "fish")
    call("session", "close", session)
    call("session", "delete", session, "--yes")
    call("daemon", "stop")
    call("daemon", "status", code=2)
    call("version")
    call("db", "restore", copy)
    call("db", "repair")
    assert call.faults == []
    assert set(COMMANDS) - call.called == ELSEWHERE


def _sessions(call: Caller, session: str, tmp_path: Path) -> None:
    call("session", "new", "--name", "tea")
    call("session", "list")
    call("session", "show", session)
    call("session", "follow", session, "--until-idle")
    call("session", "budget", session, "--max-cost", "5")
    call("session", "rename", session, "hello")
    call("session", "cancel", session)
    call("session", "lock", session)
    call("session", "fork", session)
    call("session", "diff", session)
    call("session", "diff", session, "--stat")
    call("session", "export", session, "-o", str(tmp_path / "talk.md"))
    call("cassette", "save", session, "-o", str(tmp_path / "talk.ndjson"), "--yes")
    call("session", "export", session, documented=False)
    call("session", "compact", session)
    call("search", "hello")


def _prompts(call: Caller, session: str, prompt: str) -> None:
    call("permission", "list")
    call("permission", "answer", prompt, "--allow-session")
    call("session", "grants", session)
    call("session", "grants", session, "--clear")


def _worktrees(call: Caller) -> None:
    made = call("worktree", "create", "--new", "fix", "--switch")["worktree"]["path"]
    call("worktree", "list")
    call("worktree", "switch", "fix")
    call("worktree", "setup", "fix")
    call("worktree", "setup", "fix", "--show")
    (Path(made) / "new.txt").write_text("new\n")
    call("worktree", "diff", "fix")
    call("worktree", "diff", "fix", "--stat")
    call("worktree", "run", "fix", "--", "true")
    call("worktree", "prune", "--yes", "--older-than", "1d")
    call("worktree", "remove", "fix", "--force", "--yes")
    call("worktree", "restore")
    call("worktree", "restore", "fix")


def _policies(call: Caller, tmp_path: Path) -> None:
    rules = tmp_path / "rules.json"
    rules.write_text('{"permissions": {"deny": ["Bash"]}}')
    call("policy", "check", "Bash(git push)")
    call("policy", "list")
    call("policy", "try", str(rules))
    call("policy", "trust", ".")
    call("policy", "trusted")
    call("policy", "untrust", ".")
    call("audit", "list")
    call("audit", "export", documented=False)
    call("audit", "export", "-o", str(tmp_path / "audit.csv"))
    call("audit", "verify")


def _settings(call: Caller, here: Shell) -> None:
    claude = Path(here.environment["HOME"]) / ".claude"
    claude.mkdir()
    (claude / "settings.json").write_text('{"model": "opus"}')
    call("config", "show")
    call("config", "get", "daemon.autostart")
    call("config", "set", "agents.turn_limit", "3")
    call("config", "unset", "agents.turn_limit")
    call("config", "validate")
    call("config", "path")
    call("config", "edit")
    call("config", "import", "--replace")


def _database(call: Caller) -> str:
    call("db", "check")
    call("db", "usage")
    call("db", "prune", "--older-than", "90d", "--dry-run")
    return str(call("db", "backup")["file"])
