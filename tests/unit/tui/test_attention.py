"""Alerts for a person who does not watch the screen."""

from collections.abc import Callable, Mapping
from typing import cast

import pytest

from betcode.tui.attention import Attention, notification, title
from betcode.tui.pending_board import BoardChanged, Listener, News, PendingBoard, PromptOpened
from betcode.v1 import agent_pb2 as v1
from support.daemon.pending_prompts import permission

XTERM = {"TERM": "xterm-256color"}


class Told:
    """The part of a board that is heard."""

    def __init__(self) -> None:
        self.all: list[v1.PendingPrompt] = []
        self.listeners: list[Listener] = []

    def listen(self, listener: Listener) -> Callable[[], None]:
        self.listeners.append(listener)
        return lambda: self.listeners.remove(listener)


class Here:
    """Somebody at a terminal, who looks at one session or at none."""

    def __init__(self, environment: Mapping[str, str] = XTERM) -> None:
        self.written: list[str] = []
        self.looks_at = "s"
        self.now = 100.0
        self.board = Told()
        self.attention = Attention(
            cast("PendingBoard", self.board),
            self.written.append,
            lambda session_id: session_id == self.looks_at,
            environment,
            clock=lambda: self.now,
        )

    def hears(self, news: News) -> list[str]:
        """What this has written."""
        if isinstance(news, PromptOpened):
            self.board.all.append(news.prompt)
        before = len(self.written)
        for listener in self.board.listeners:
            listener(news)
        return self.written[before:]


def test_the_title_shows_the_number_of_prompts_and_is_restored() -> None:
    here = Here()
    here.attention.show_name("betcode · tests")
    here.attention.begin()
    assert here.written == ["\x1b[22;0t", "\x1b]0;betcode · tests\a"]
    assert here.hears(PromptOpened(permission("a"), was_open_before=False)) == [
        "\x1b]0;● 1 waiting · betcode · tests\a"
    ]
    assert here.hears(BoardChanged()) == []
    here.attention.end()
    assert here.written[-1] == "\x1b]0;\a\x1b[23;0t"
    assert here.hears(PromptOpened(permission("b"), was_open_before=False)) == []


def test_several_prompts_at_once_cause_one_alert() -> None:
    here = Here()
    here.looks_at = ""
    here.attention.begin()
    call, _ = here.hears(PromptOpened(permission("a"), was_open_before=False))
    assert call == "\a\x1b]9;betcode: work: Bash ls\a"
    assert len(here.hears(PromptOpened(permission("b"), was_open_before=False))) == 1
    here.now += 3
    assert len(here.hears(PromptOpened(permission("c"), was_open_before=False))) == 2


def test_visible_or_old_prompts_cause_no_alert() -> None:
    here = Here()
    here.attention.begin()
    assert not any("]9;" in each for each in here.hears(PromptOpened(permission("a"), was_open_before=False)))
    here.looks_at = ""
    assert not any("]9;" in each for each in here.hears(PromptOpened(permission("b"), was_open_before=True)))


@pytest.mark.parametrize("term", ["dumb", "linux", ""])
def test_a_terminal_that_would_show_the_sequences_gets_none(term: str) -> None:
    here = Here({"TERM": term} if term else {})
    here.looks_at = ""
    here.attention.begin()
    assert here.hears(PromptOpened(permission("a"), was_open_before=False)) == []
    assert here.written == []


@pytest.mark.parametrize(
    "environment", [XTERM, {"TERM": "foot"}, {"TERM": "screen", "TMUX": "/x"}, {"VTE_VERSION": "7"}]
)
def test_nothing_foreign_ends_a_sequence_or_begins_one(environment: Mapping[str, str]) -> None:
    evil = "a\x07b\x1b\\c\x9cd\x9d0;e\n;f\u202e"
    plain = notification("x", environment)
    for sequence, clean in ((title(evil), title("x")), (notification(evil, environment), plain)):
        for control in "\x07\x1b\x9c\x9d\n\u202e":
            assert sequence.count(control) == clean.count(control)


def test_terminals_are_spoken_to_in_their_own_way() -> None:
    assert notification("a;b", {"TERM": "foot"}) == "\x1b]777;notify;betcode;a,b\a"
    assert notification("a", {"TERM": "tmux", "TMUX": "/x"}) == "\x1bPtmux;\x1b\x1b]9;betcode: a\a\x1b\\"


def test_a_name_of_a_session_is_a_line_in_the_notification() -> None:
    here = Here()
    here.looks_at = ""
    here.attention.begin()
    prompt = permission("a")
    prompt.session_name = "x\x1b]52;c;evil\x07" + "y" * 500
    call = here.hears(PromptOpened(prompt, was_open_before=False))[0]
    assert call.count("\x1b") == 1
    assert len(call) < 250
