"""Card widgets on a board that the test fills."""

import itertools
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from betcode.client import LinkState
from betcode.tui.cards.card import Card
from betcode.tui.cards.deck import CardDeck
from betcode.tui.pending_board import PendingBoard
from betcode.tui.widgets.line_view import folded
from betcode.v1 import agent_pb2 as v1
from support.daemon.pending_prompts import ToldClient, permission, refusal
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio


class Table(App[None]):
    """A screen with nothing else on it."""

    def __init__(self, board: PendingBoard) -> None:
        super().__init__()
        self._board = board

    def compose(self) -> ComposeResult:
        yield CardDeck(self._board, "s")

    def on_mount(self) -> None:
        self.query_one(Card).clock = itertools.count(time.monotonic() + 100.0, 1.0).__next__
        self.run_worker(self._board.run(), exit_on_error=False)


class Shown:
    def __init__(self, client: ToldClient, pilot: Pilot[None]) -> None:
        self.client = client
        self.pilot = pilot

    @property
    def text(self) -> str:
        strips = self.pilot.app.screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)

    async def shows(self, *wanted: str) -> str:
        with anyio.move_on_after(PATIENCE_S):
            while not all(words in self.text for words in wanted):
                await self.pilot.pause(0.01)
            return self.text
        raise AssertionError(f"{wanted} is not shown:\n{self.text}")


@asynccontextmanager
async def shown(*prompts: v1.PendingPrompt, size: tuple[int, int] = (60, 20)) -> AsyncIterator[Shown]:
    client = ToldClient()
    for prompt in prompts:
        client.opened(prompt)
    async with Table(client.board()).run_test(size=size) as pilot:
        yield Shown(client, pilot)


def asked(tool: str, given: object, directory: str = "/") -> v1.PendingPrompt:
    request = v1.PermissionRequest(request_id="a", tool_name=tool, input_json=json.dumps(given))
    return v1.PendingPrompt(request_id="a", session_id="s", working_directory=directory, permission=request)


async def test_while_an_answer_is_on_its_way_the_card_takes_no_other() -> None:
    async with shown(permission("a")) as here:
        here.client.gate = anyio.Event()
        await here.shows("y allow")
        await here.pilot.press("y")
        await here.shows("Sending your answer")
        await here.pilot.press("n", "y")
        here.client.gate.set()
        with anyio.fail_after(PATIENCE_S):
            while "y allow" in here.text:
                await here.pilot.pause(0.01)
        assert here.client.answered == [("a", "ALLOW_ONCE")]


async def test_a_refusal_is_shown_on_the_card_which_stays() -> None:
    async with shown(permission("a")) as here:
        here.client.outcomes = [refusal("[red]1000 grants\x1b already")]
        await here.shows("y allow")
        await here.pilot.press("y")
        await here.shows("[red]1000 grants␛ already", "y allow")


class Alarm:
    """A timer that a test lets go off."""

    def __init__(self, goes_off: Callable[[], None]) -> None:
        self._goes_off: Callable[[], None] | None = goes_off

    def stop(self) -> None:
        self._goes_off = None

    def go_off(self) -> None:
        if self._goes_off is not None:
            self._goes_off()


async def test_a_notice_stays_its_time_after_an_earlier_one(monkeypatch: pytest.MonkeyPatch) -> None:
    alarms: list[Alarm] = []

    def set_timer(_: float, goes_off: Callable[[], None]) -> Alarm:
        alarms.append(Alarm(goes_off))
        return alarms[-1]

    async with shown(permission("a"), permission("b"), permission("c")) as here:
        await here.shows("1 of 3")
        deck = here.pilot.app.query_one(CardDeck)
        monkeypatch.setattr(deck, "set_timer", set_timer)
        here.client.resolved("a", resolution="expired")
        await here.shows("expired without an answer")
        here.client.resolved("b", resolution="withdrawn")
        await here.shows("withdrawn by the agent")
        alarms[0].go_off()
        await here.pilot.pause()
        assert "withdrawn by the agent" in here.text
        alarms[1].go_off()
        await here.pilot.pause()
        assert "withdrawn" not in here.text


async def test_the_keys_of_a_long_edit_are_seen_on_a_small_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "true")
    async with shown(asked("Write", {"file_path": "/a", "content": "line\n" * 500}), size=(40, 15)) as here:
        await here.shows("y allow", "d deny with reason", "v details")
        await here.pilot.press("e")
        await here.shows("line", "Ctrl+S allow this input", "Esc back")
        await here.pilot.press("ctrl+e")
        await here.shows("No editor can run in this terminal")


@pytest.mark.parametrize("is_local", [True, False])
async def test_a_written_file_is_only_compared_with_a_local_file(tmp_path: Path, is_local: bool) -> None:
    (tmp_path / "a.txt").write_text("old words\n")
    client = ToldClient()
    client.is_local = is_local
    client.opened(asked("Write", {"file_path": "a.txt", "content": "new words\n"}, str(tmp_path)))
    async with Table(client.board()).run_test(size=(60, 20)) as pilot:
        here = Shown(client, pilot)
        if is_local:
            await here.shows("-old words", "+new words")
        else:
            text = await here.shows("+new words", "(whole file)")
            assert "old words" not in text


async def test_a_small_card_shows_wide_letters_and_a_megabyte() -> None:
    async with shown(asked("Bash", {"command": "日本語" * 40_000}), size=(40, 15)) as here:
        await here.shows("$ 日本語", "y allow")
        await here.pilot.press("v", "pagedown", "pagedown")
        await here.shows("日本語日本語", "v less")


@pytest.mark.parametrize("text", ["", "abc", "a" * 25, "日本語" * 9, "\t\tx" * 7, "é" * 21, "👩‍👩‍👧x" * 6])
def test_a_folded_line_loses_nothing(text: str) -> None:
    assert "".join(folded(text, 10)) == text.replace("\t", "    ")


async def test_changes_while_cards_are_removed_do_no_harm() -> None:
    async with shown(permission("a")) as here:
        await here.shows("permission")
        going = here.pilot.app.query_one(CardDeck).remove()
        for state in itertools.islice(itertools.cycle((LinkState.BROKEN, LinkState.CONNECTED)), 200):
            here.client.linked(state)
            await anyio.lowlevel.checkpoint()
        await going
