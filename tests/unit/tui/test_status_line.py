"""The status line, with literals."""

import pytest

from betcode.client import Link, LinkState
from betcode.tui.input_lock.view import LockView
from betcode.tui.model.session_status import SessionStatusModel
from betcode.tui.widgets.head_line import head_parts
from betcode.tui.widgets.status_line import StatusContext, StatusPart, elapsed, fitting, parts_of, short_count
from betcode.v1 import agent_pb2 as v1
from betcode.wording.terminal_text import columns

UP = Link(LinkState.CONNECTED)
BUSY = SessionStatusModel(
    model="opus-5",
    status=v1.THINKING,
    branch="main",
    worktree="shop",
    cost_usd=1.234,
    tokens_in=12_000,
    tokens_out=345,
    context_percent=42.0,
    present=(v1.PresentClient(client_id="me"), v1.PresentClient(client_id="you")),
)


def line(session_status: SessionStatusModel, context: StatusContext, width: int, lock: LockView | None = None) -> str:
    return " · ".join(
        part.text for part in fitting(parts_of(session_status, lock or LockView("me"), context, width), width)
    )


def test_a_wide_line_tells_everything() -> None:
    told = line(BUSY, StatusContext(link=UP, turn_s=65, queued=2), 200)
    assert told == (
        "connected · working 1:05 · 2 queued · context ███░░░░░ 42% · $1.23 · opus-5 · shop ⎇ main · 12.3k tokens"
        " · 1 other here · F1: keys"
    )


def test_less_than_a_cent_is_not_nothing() -> None:
    assert "<$0.01" in line(SessionStatusModel(cost_usd=0.001), StatusContext(link=UP), 80)
    assert "$0.00" in line(SessionStatusModel(), StatusContext(link=UP), 80)


def test_an_unreported_cost_is_not_shown_as_zero() -> None:
    assert "$0.00" in line(SessionStatusModel(can=v1.ProviderCapabilities(cost=True)), StatusContext(link=UP), 80)
    assert "$" not in line(SessionStatusModel(can=v1.ProviderCapabilities()), StatusContext(link=UP), 80)


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_a_line_fits_the_screen_and_shows_the_important_parts(width: int) -> None:
    told = line(BUSY, StatusContext(link=UP, turn_s=65, queued=2), width)
    assert columns(told) <= width
    assert told.startswith("connected · working 1:05 · 2 queued")


def test_a_broken_connection_counts_down_and_outweighs_the_rest() -> None:
    broken = StatusContext(link=Link(LinkState.BROKEN, retry_in_s=8.0), retry_in_s=4.6)
    assert line(BUSY, broken, 45) == "connection lost, retry in 5 s · working"
    assert line(BUSY, broken, 78).startswith("connection lost, retry in 5 s · stopped? betcode daemon start · working")
    assert "reconnecting" in line(BUSY, StatusContext(link=Link(LinkState.BROKEN)), 80)


def test_a_lost_connection_is_never_shown_as_connected() -> None:
    assert line(SessionStatusModel(), StatusContext(), 80).startswith("connecting")
    refused = line(SessionStatusModel(), StatusContext(link=UP, refusal="Client too old"), 80)
    assert refused.startswith("not connected: Client too old")


def test_nothing_waits_in_a_session_that_has_ended() -> None:
    waiting = SessionStatusModel(status=v1.WAITING_FOR_USER)
    assert line(waiting, StatusContext(link=UP, has_ended=True), 60).startswith("the session has ended · $0.00")


def test_the_reason_for_waiting_replaces_the_work() -> None:
    waits = StatusContext(link=UP, waits="API overloaded, retries in 5 s")
    assert line(BUSY, waits, 60).startswith("connected · API overloaded, retries in 5 s")
    reached = SessionStatusModel(budget_reached=("cost",))
    assert "budget reached (cost)" in line(reached, StatusContext(link=UP), 80)


def test_how_long_a_question_waits_is_for_its_card_to_tell() -> None:
    asked = SessionStatusModel(status=v1.WAITING_FOR_USER)
    assert line(asked, StatusContext(link=UP, turn_s=65), 60).startswith("connected · waiting for you · $")


def test_keys_of_the_conversation_are_shown_while_it_has_the_focus() -> None:
    assert "Enter: expand · y: copy · Esc: input" in line(BUSY, StatusContext(link=UP, turn_s=65, is_reading=True), 80)
    assert line(BUSY, StatusContext(link=UP, turn_s=65, is_reading=True), 40).endswith("working 1:05 · Esc: input")


def test_another_holder_of_the_lock_is_shown() -> None:
    theirs = LockView("me", holder_id="you", holder="cli bob")
    assert "locked by cli bob" in line(SessionStatusModel(), StatusContext(link=UP), 60, theirs)
    assert "locked" not in line(
        SessionStatusModel(), StatusContext(link=UP), 60, LockView("me", holder_id="me", holder="tui me")
    )


def test_a_turn_that_is_being_stopped_shows_how_to_force_it() -> None:
    assert "interrupting, Esc forces" in line(BUSY, StatusContext(link=UP, is_stopping=True), 40)


def test_a_line_with_one_part_too_many_cuts_it() -> None:
    assert [part.text for part in fitting([StatusPart("a long sentence", 1)], 8)] == ["a long …"]


def test_times_and_counts_are_short() -> None:
    assert [elapsed(seconds) for seconds in (9.9, 65, 3725)] == ["9 s", "1:05", "1:02:05"]
    assert [short_count(number) for number in (950, 12_345, 4_500_000)] == ["950", "12.3k", "4.5M"]


def test_the_head_line_omits_the_machine_before_the_number_of_prompts() -> None:
    assert head_parts("my session", "box", 0, 40) == ("my session", "box")
    assert head_parts("a session with a long name", "box", 2, 40) == ("a session w…", "2 waiting elsewhere: Ctrl+O")
    assert head_parts("name", "box", 1, 80)[1] == "1 waiting elsewhere: Ctrl+O · box"


@pytest.mark.parametrize(
    ("kind", "model", "told"),
    [
        ("codex", "gpt-5", "codex gpt-5"),
        ("codex", "", "codex"),
        ("claude", "claude-opus-5", "claude-opus-5"),
        ("", "opus", "opus"),
    ],
)
def test_the_provider_is_shown_once(kind: str, model: str, told: str) -> None:
    assert f" · {told} · " in line(SessionStatusModel(provider=kind, model=model), StatusContext(link=UP), 120)


@pytest.mark.parametrize(
    ("seconds", "has_answered", "shown"),
    [(19.9, False, "working 19 s"), (20.0, False, "no answer from the agent yet, 20 s"), (65, True, "working 1:05")],
)
def test_a_long_silence_of_the_agent_is_shown(seconds: float, has_answered: bool, shown: str) -> None:
    session_status = SessionStatusModel(status=v1.THINKING, has_answered=has_answered)
    assert shown in line(session_status, StatusContext(link=UP, turn_s=seconds), 120)
