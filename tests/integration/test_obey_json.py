"""The --json output of obey on a real daemon matches docs/obey.yaml, field by field."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from command_docs import DOCS, Reference

from betcode.cli.core.arguments import commands_of
from betcode.cli.obey.parser import build_parser
from support.obey.command import ObeyShell, obey_shell

REFERENCE = Reference(DOCS / "obey.yaml", DOCS / "obey.json")
COMMANDS = [words for words, _ in commands_of(build_parser())]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObeyShell]:
    with obey_shell(tmp_path_factory.mktemp("json")) as commands:
        yield commands


class Caller:
    """Calls commands and compares what they print with what is documented."""

    def __init__(self, here: ObeyShell) -> None:
        self._here = here
        self.called: set[str] = set()
        self.faults: list[str] = []

    def __call__(self, *arguments: str) -> Any:
        at = arguments.index("--") if "--" in arguments else len(arguments)
        done = self._here.told(*arguments[:at], "--json", *arguments[at:])
        chosen = build_parser().parse_args(arguments)
        values = list(_values(done.stdout))
        self.check(" ".join(filter(None, (chosen.command, getattr(chosen, "verb", "")))), values)
        return values[0]

    def check(self, words: str, values: list[Any]) -> None:
        assert values, words
        self.called.add(words)
        self.faults += [fault for value in values for fault in REFERENCE.faults(words, value)]
        self.faults += [f"{words}: {value}" for value in values if not value["schema_version"].startswith("obey.")]


def _values(text: str) -> Iterator[Any]:
    """One value, or one a line."""
    try:
        yield json.loads(text)
    except ValueError:
        yield from map(json.loads, text.splitlines())


def test_every_command_is_documented_with_an_example_and_no_other() -> None:
    assert list(REFERENCE.commands) == COMMANDS == list(REFERENCE.examples)


@pytest.mark.parametrize("words", REFERENCE.examples)
def test_an_example_has_the_fields_that_are_documented(words: str) -> None:
    assert REFERENCE.faults(words, REFERENCE.examples[words]) == []


def test_commands_print_the_documented_json(here: ObeyShell) -> None:
    call = Caller(here)
    assert call("serve")["started"] is True
    assert call("serve")["started"] is False
    call("ping")
    call("campaigns")
    with watching(here) as watched:
        _sessions(call, here)
        happened = _until_stopped(watched)
    call.check("session watch", happened)
    assert {one.get("type") for one in happened} >= {"completion", "status", "tool_call", "tool_result", None}
    call("status")
    call("exec", "--", "git", "--version")
    call("exec", "--follow", "--", "git", "--version")
    call("completion", "zsh")
    assert call("stop")["stopped"] is True
    assert call("stop")["stopped"] is False
    assert call.faults == []
    assert call.called == set(COMMANDS)


def _sessions(call: Caller, here: ObeyShell) -> None:
    session = call("session", "create", "--name", "scout")["session"]["id"]
    call("session", "list")
    assert call("session", "send", session, "say hi")["reply"].strip() == "hi"
    with here.terminal("session", "send", session, "tool") as asking:
        asking.expect(f"answer {session} ")
        assert call("session", "answer", session, asking.expect(" allow").strip(), "allow")["allowed"] is True
        assert asking.ended() == 0
    call("session", "info", session)
    call("session", "restart", session)
    call("session", "stop", session)


@contextmanager
def watching(here: ObeyShell) -> Iterator["subprocess.Popen[str]"]:
    """All sessions, from the first line on."""
    argv, pipe = here.argv("session", "watch", "--json"), subprocess.PIPE
    with subprocess.Popen(argv, env=here.environment, cwd=here.work, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "Watching all sessions\n"
        try:
            yield process
        finally:
            process.kill()


def _until_stopped(watched: "subprocess.Popen[str]") -> list[Any]:
    assert watched.stdout is not None
    happened = []
    for line in watched.stdout:
        happened.append(json.loads(line))
        if happened[-1].get("new_status") == "stopped":
            break
    return happened
