"""Keys for the real process on a real terminal: all in one write, and before the screen has drawn anything."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.processes.command import Shell, shell
from support.processes.terminal import painted
from support.screens.keys import as_bytes


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with shell(tmp_path_factory.mktemp("shell")) as commands:
        assert commands.run("daemon", "start").returncode == 0
        yield commands


def test_input_before_the_first_paint_is_sent_with_its_enter(here: Shell) -> None:
    with painted(here) as screen:
        screen.type("say typed ahead\rsay and\x7f\x7f\x7fmore\r")
        screen.shows("> say typed ahead")
        screen.shows("> say more")
        screen.type("\x11")
        assert screen.ended() == 0
        assert screen.is_restored


def test_a_burst_on_a_real_terminal_is_handled_in_order(here: Shell) -> None:
    with painted(here) as screen:
        screen.shows("connected")
        keys = ("say one two", "ctrl+w", "three", "ctrl+a", "ctrl+k", "say left", "left", "left", "X", "enter")
        screen.type(as_bytes(*keys))
        screen.shows("> say leXft")
        screen.type("\x11")
        assert screen.ended() == 0


def test_leaving_behind_a_message_sends_it_first(here: Shell) -> None:
    with painted(here) as screen:
        screen.type("say last words\r/quit\r")
        assert screen.ended() == 0
    with painted(here, "attach", here.json("session", "list", "--json")["sessions"][0]["id"]) as screen:
        screen.shows("> say last words")
        screen.type("\x11")
        assert screen.ended() == 0


@pytest.mark.parametrize("typed", ["say typed ahead\r", "\r\rsay typed ahead\r", "\x1b[27usay typed ahead\r"])
def test_input_before_the_trust_question_is_painted_does_not_answer_it(tmp_path: Path, typed: str) -> None:
    with shell(tmp_path) as here:
        (here.work / ".mcp.json").write_text(json.dumps({"mcpServers": {"lab": {"command": "true"}}}))
        assert here.run("daemon", "start").returncode == 0
        with painted(here) as screen:
            screen.type(typed)
            screen.shows("Trust this project?")
            assert not (here.work / "agent.pids").exists()
            screen.type(as_bytes("down", "enter"))
            screen.shows("> say typed ahead")
            screen.type("\x11")
            assert screen.ended() == 0
        assert [one["directory"] for one in here.json("policy", "trusted", "--json")["projects"]] == [str(here.work)]
        pid = (here.work / "agent.pids").read_text().split()[-1]
        assert "--setting-sources=user" not in Path(f"/proc/{pid}/cmdline").read_text().split("\0")
