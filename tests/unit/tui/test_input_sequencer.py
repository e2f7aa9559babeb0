"""Property: a burst of keys has the same effects as the same keys typed slowly."""

import math
import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import ClassVar

import anyio
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.pilot import Pilot
from textual.widgets import Input, Static

from betcode.domain.agents.commands import AttachedFile
from betcode.tui.cards.input_editor import InputEditor
from betcode.tui.composer.chips import ChipBar
from betcode.tui.composer.completion import ScreenCommand
from betcode.tui.composer.completion_list import CompletionList
from betcode.tui.composer.composer import Composer
from betcode.tui.composer.queue_bar import QueueBar
from betcode.tui.keyboard.sequencer import SequencedApp
from betcode.tui.widgets.dialogs import AskLine, KeyMenu, MenuEntry
from support.patience import PATIENCE_S
from support.screens.keys import as_bytes, parsed, type_burst

pytestmark = pytest.mark.anyio


class Desk(SequencedApp[None]):
    """The widgets that people type in, and overlays that keys open, without a daemon."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "focus_next", priority=False),
        Binding("ctrl+o", "ask", priority=True),
        Binding("ctrl+t", "menu", priority=True),
        Binding("ctrl+b", "add_field"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.log_of_effects: list[str] = []
        self._completions, self._chips, self._bar = CompletionList(), ChipBar(), QueueBar()
        self.composer = Composer(self._completions, self._chips, self._bar, self._sent)

    def compose(self) -> ComposeResult:
        yield Static("above", id="above")
        yield InputEditor("git push")
        yield self._bar
        yield self._completions
        yield self._chips
        yield self.composer

    def on_mount(self) -> None:
        self.composer.show_commands([ScreenCommand(name) for name in ("deep-research", "model", "tour")])
        self.composer.focus()

    def _sent(self, text: str, _files: tuple[AttachedFile, ...]) -> None:
        self.log_of_effects.append(f"sent {text!r}")

    def on_composer_command(self, message: Composer.Command) -> None:
        self.log_of_effects.append(f"command {message.name} {message.rest!r}")

    def on_input_editor_written(self, message: InputEditor.Written) -> None:
        self.log_of_effects.append(f"edited {message.text!r}")

    def on_input_submitted(self, message: Input.Submitted) -> None:
        self.log_of_effects.append(f"field {message.value!r}")
        message.input.remove()
        self.composer.focus()

    def action_ask(self) -> None:
        self.push_screen(AskLine("What?"), lambda given: self.log_of_effects.append(f"asked {given!r}"))

    def action_menu(self) -> None:
        entries = [MenuEntry("a", "one"), MenuEntry("b", "two")]
        self.push_screen(KeyMenu("Which?", entries), lambda key: self.log_of_effects.append(f"chosen {key}"))

    async def action_add_field(self) -> None:
        field = Input()
        await self.mount(field, after="#above")
        field.focus()

    @property
    def result(self) -> object:
        """What the keys have led to."""
        text = [each.text for each in (*self.screen_stack[0].query(InputEditor), self.composer)]
        fields = [each.value for screen in self.screen_stack for each in screen.query(Input)]
        screens = [type(each).__name__ for each in self.screen_stack]
        focus = type(self.focused).__name__
        offered = self._completions.selected
        return self.log_of_effects, text, fields, screens, focus, self.composer.selection, offered


LETTERS = st.text(alphabet="ab/@ tmx", min_size=1, max_size=6)
NAMED = (
    "enter", "tab", "backspace", "delete", "left", "right", "up", "down", "home", "end", "escape",
    "ctrl+a", "ctrl+b", "ctrl+e", "ctrl+j", "ctrl+k", "ctrl+o", "ctrl+t", "ctrl+u", "ctrl+w", "alt+enter", "alt+z",
)  # fmt: skip
KEYS = st.lists(LETTERS | st.sampled_from([each for each in NAMED if each != "ctrl+e"]), max_size=8)


async def _after(keys: Sequence[str], *, slowly: bool) -> object:
    app = Desk()
    async with app.run_test() as pilot:
        await pilot.pause()
        if slowly:
            for event in parsed(as_bytes(*keys)):
                app.post_message(event)
                await _idle(app, pilot)
        else:
            type_burst(app, as_bytes(*keys))
            await _idle(app, pilot)
        return app.result


async def _idle(app: Desk, pilot: Pilot[None]) -> None:
    with anyio.fail_after(PATIENCE_S):
        await pilot.pause()
        while not app.input.is_idle:
            await pilot.pause()


@settings(max_examples=settings().max_examples // 8)  # each opens two screens: half a second
@given(KEYS)
@example(["one two", "ctrl+w", "three"])
@example(["one", "backspace", "backspace", "X"])
@example(["/model haiku", "enter"])
@example(["/", "enter", "x", "enter"])
@example(["ctrl+o", "its name", "backspace", "enter", "rest"])
@example(["ctrl+t", "a", "b", "ctrl+t", "b", "enter"])
@example(["ctrl+b", "in the field", "home", "X", "enter", "in the draft"])
@example(["tab", "ctrl+a", "ctrl+k", "echo", "enter"])
async def test_a_burst_of_keys_has_the_effect_of_slow_typing(keys: list[str]) -> None:
    assert await _after(keys, slowly=False) == await _after(keys, slowly=True)


async def test_input_waits_while_another_screen_is_being_opened() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        await _idle(app, pilot)
        with app.input.hold():
            type_burst(app, as_bytes("ab", "left", "c"))
            await pilot.pause()
            assert app.composer.text == ""
        await _idle(app, pilot)
        assert app.composer.text == "acb"


async def test_a_hold_ends_by_itself_after_its_limit() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        await _idle(app, pilot)
        with app.input.hold(limit_s=0.2):
            type_burst(app, "ab")
            with anyio.fail_after(PATIENCE_S):
                while app.composer.text != "ab":
                    await pilot.pause()


async def test_the_key_that_leaves_works_although_nothing_else_is_let_through() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        await _idle(app, pilot)
        with app.input.hold(math.inf), anyio.fail_after(PATIENCE_S):
            type_burst(app, as_bytes("ab", "ctrl+q"))
            while not app._exit:
                await pilot.pause()
        assert app.composer.text == ""


async def test_keys_that_waited_when_a_question_opened_are_delivered_after_it() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        await _idle(app, pilot)
        with ExitStack() as question:
            with app.input.hold():
                type_burst(app, "ab")
                await pilot.pause()
                question.enter_context(app.input.aside(before=time.monotonic()))
            type_burst(app, "c")
            await _idle(app, pilot)
            assert app.composer.text == "c", "only keys that were typed later answer the question"
        await _idle(app, pilot)
        assert app.composer.text == "cab"


async def test_keys_that_arrive_late_but_were_typed_before_a_question_are_delivered_after_it() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        await _idle(app, pilot)
        with app.input.aside(before=math.inf):
            type_burst(app, "ab")
            await _idle(app, pilot)
            assert app.composer.text == ""
        await _idle(app, pilot)
        assert app.composer.text == "ab"
