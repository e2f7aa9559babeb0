"""The card widget: shows one prompt and the key for each answer."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, assert_never

import anyio.to_thread
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Static

from betcode.tui.cards.card_state import (
    TYPING,
    CardMode,
    CardState,
    Effect,
    GiveAnswer,
    LeaveCard,
    NextCard,
    ScrollCard,
    TooEarly,
    hints,
    press,
    typed,
)
from betcode.tui.cards.changes import changed_path, read_local
from betcode.tui.cards.lines import pattern_lines, permission_lines, question_lines
from betcode.tui.cards.texts import waits
from betcode.tui.pending_board import AnswerDelivery
from betcode.tui.tasks import begin
from betcode.tui.widgets.line_view import LineKind, LineView, ViewLine
from betcode.v1 import agent_pb2 as v1
from betcode.wording.edited_input import InvalidEdit
from betcode.wording.prompts import AllowEdited, Prompt, PromptAnswer, fields_of
from betcode.wording.terminal_text import one_line

if TYPE_CHECKING:  # the input widgets are created when somebody types
    from textual.widgets import Input

    from betcode.tui.cards.input_editor import Draft, InputEditor

_BESIDE_ROWS = 12  # frame, keys, draft, status and a little of the conversation
_LEAST_ROWS = 3
_LOW_ROWS, _BESIDE_ON_LOW = 20, 9  # on a lower screen the draft is one line without a frame


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class CardContext:
    """Facts that a card shows besides the prompt."""

    position: str = ""  # "2 of 5"
    where: str = ""  # the session, if cards of several are shown; there, keys answer without the focus
    delivery: AnswerDelivery = AnswerDelivery.NONE
    failure: str = ""
    is_link_broken: bool = False


class Card(Vertical, can_focus=True):
    """No text of an agent can answer a card, and no key that was pressed before it was readable."""

    DEFAULT_CSS = """
    Card { height: auto; border: round $warning; padding: 0 1; }
    Card:focus, Card:focus-within { border: round $accent; }
    Card > #card-state { height: auto; }
    Card > #card-keys { height: auto; color: $text-muted; }
    Card > Input { height: 1; border: none; padding: 0; background: $boost; }
    Card > Input:focus { border: none; }
    Card > InputEditor { height: auto; min-height: 3; border: none; padding: 0; background: $boost; }
    Card > InputEditor:focus { border: none; }
    """

    class Answered(Message):
        """A person has decided."""

        def __init__(self, prompt: Prompt, given: PromptAnswer) -> None:
            super().__init__()
            self.prompt = prompt
            self.given = given

    class Stepped(Message):
        """The person wants another card."""

        def __init__(self, by: int) -> None:
            super().__init__()
            self.by = by

    class ReturnToDraft(Message):
        """The person returns to the draft; the card remains."""

    class Dismissed(Message):
        """The person has read a card that ended while they were typing on it."""

    def __init__(
        self,
        *,
        reads_files: bool = True,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = _utc_now,
    ) -> None:
        super().__init__()
        self._reads_files = reads_files  # files of a remote daemon are not on this machine
        self.clock = clock
        self._now = now
        self._state: CardState | None = None
        self._card_context = CardContext()
        self._over = ""  # how the prompt ended while somebody was typing on the card
        self._on_disk: str | None = None
        self._trouble = ""
        self._draft: Draft | None = None
        self._lines_key: object = None
        self._made_lines: list[ViewLine] = []

    def compose(self) -> ComposeResult:
        yield LineView()
        yield Static(id="card-state", markup=False)
        yield Static(id="card-keys", markup=False)

    @property
    def request_id(self) -> str:
        """The id of the shown prompt; empty without one."""
        return self._state.prompt.request_id if self._state is not None else ""

    @property
    def is_typing(self) -> bool:
        """Whether text is being typed here that would be lost with the card."""
        return self._state is not None and self._state.mode in TYPING

    @property
    def is_at_rest(self) -> bool:
        """Whether only the prompt itself is shown."""
        return self._state is None or self._state.mode is CardMode.CHOOSE

    @property
    def is_over(self) -> bool:
        return bool(self._over)

    def show(self, prompt: v1.PendingPrompt, context: CardContext) -> None:
        """Show this prompt; if it is already shown, update only the changed parts."""
        self._card_context = context
        if self._state is not None and not self._over and self._state.shows_the_same(prompt):
            self._state = replace(self._state, prompt=prompt)
            self._draw()
            return
        self._over = self._trouble = ""
        self._on_disk = None
        self._enter(CardState(prompt, self.clock()))
        self._draw(from_the_top=True)
        self.call_after_refresh(self.seen_anew)  # text is readable only after it was painted
        path = changed_path(
            prompt.permission.tool_name, fields_of(prompt.permission.input_json), prompt.working_directory
        )
        if path and self._reads_files:
            begin(self, self._read_file, path, group="file", exclusive=True)

    def end(self, words: str) -> None:
        """Report here that the prompt has ended while somebody types; the typed text is sent nowhere."""
        self._over = words
        self._draw()

    def seen_anew(self) -> None:
        """Ignore keys for a moment, because another screen was in front until now."""
        if self._state is not None:
            self._state = replace(self._state, shown_at=self.clock())

    def times_changed(self) -> None:
        """Update the times."""
        if self._state is not None and self.is_mounted:
            self._frame(self._state)

    async def _read_file(self, path: str) -> None:
        state = self._state
        text = await anyio.to_thread.run_sync(read_local, path, abandon_on_cancel=True)
        if text is not None and state is not None and self.request_id == state.prompt.request_id:
            self._on_disk = text
            self._draw()

    def on_descendant_focus(self) -> None:
        self._draw()

    def on_descendant_blur(self) -> None:
        self._draw()

    def on_focus(self) -> None:
        self._draw()

    def on_blur(self) -> None:
        self._draw()

    def on_key(self, event: events.Key) -> None:
        if self.press(event.key):
            event.stop()
            event.prevent_default()

    def press(self, key: str) -> bool:
        """Handle a key that was pressed on the card or is meant for it; return whether it has a meaning here."""
        state = self._state
        if state is None or (state.mode in TYPING and key != "escape"):
            return False
        if self._over:
            if key == "escape":
                self._dismiss()
            return True
        if self._card_context.delivery is not AnswerDelivery.NONE and key not in _ALWAYS:
            return True
        after, effect = press(state, key, self.clock())
        if after == state and effect is None:
            return False  # it may have a meaning for the screen
        self._trouble = ""
        self._enter(after)
        self._do(effect)
        self._draw(from_the_top=(after.mode, after.is_whole) != (state.mode, state.is_whole))
        return True

    def _do(self, effect: Effect | None) -> None:
        match effect:
            case GiveAnswer(given):
                self._answer(given)
            case NextCard(by):
                self.post_message(self.Stepped(by))
            case LeaveCard():
                self.post_message(self.ReturnToDraft())
            case ScrollCard(by, pages):
                body = self.query_one(LineView)
                body.scroll_relative(y=by * (max(body.size.height - 1, 1) if pages else 1), animate=False)
            case TooEarly():
                self._trouble = "Key ignored, because the card had just appeared. Press it again"
            case None:
                pass
            case other:
                assert_never(other)

    def _dismiss(self) -> None:
        assert self._state is not None
        self._over = ""
        self._enter(replace(self._state, mode=CardMode.CHOOSE))
        self._state = None
        self.post_message(self.Dismissed())

    def on_input_submitted(self, message: "Input.Submitted") -> None:
        message.stop()
        if self._state is None:
            return
        if self._over:
            self._dismiss()
        elif (effect := typed(self._state, message.value)) is not None:
            self._enter(replace(self._state, mode=CardMode.CHOOSE))
            self._answer(effect.given)
            self._draw(from_the_top=True)

    def on_input_editor_written(self, message: "InputEditor.Written") -> None:
        message.stop()
        if self._over:
            self._dismiss()
            return
        self._answer_edited(message.text)

    def on_input_editor_wants_editor(self, message: "InputEditor.WantsEditor") -> None:
        message.stop()
        if self._draft is None:
            return
        from betcode.tui.cards.input_editor import InputEditor
        from betcode.tui.outside_editor import edited_outside

        shown = self._draft.whole(self.query_one(InputEditor).text)
        try:
            written = edited_outside(self.app, f"{shown}\n", "input.json")
        except InvalidEdit as trouble:
            self._trouble = str(trouble)
        else:
            self._answer_edited(written)
        self._draw()

    def _answer_edited(self, written: str | bytes) -> None:
        """Answer with the input that was edited here, or with the content of an edited file."""
        if self._draft is None or self._state is None or self._over:
            return
        try:
            edited = self._draft.checked(written)
        except InvalidEdit as trouble:
            self._trouble = str(trouble)
        else:
            self._enter(replace(self._state, mode=CardMode.CHOOSE))
            self._answer(AllowEdited(edited))
        self._draw(from_the_top=True)

    def _answer(self, given: PromptAnswer) -> None:
        assert self._state is not None
        self._trouble = ""
        self.post_message(self.Answered(self._state.asked, given))

    def _enter(self, state: CardState) -> None:
        """Show the widget that the mode needs, and remove that of the mode before."""
        mode = self._state.mode if self._state is not None else CardMode.CHOOSE
        had_focus = self.has_focus_within
        self._state = state
        if state.mode is mode:
            return
        self.query("Input, InputEditor").remove()
        if state.mode not in TYPING:
            if had_focus:
                self.focus()
            return
        field = self._field(state)
        self.mount(field, before="#card-state")
        field.focus()

    def _field(self, state: CardState) -> "Input | InputEditor":
        """Return the widget to type in."""
        from textual.widgets import Input

        from betcode.tui.cards.input_editor import Draft, InputEditor

        if state.mode is CardMode.EDIT:
            self._draft = Draft(state.prompt.permission)
            editor = InputEditor(self._draft.text)
            editor.styles.max_height = max(self._rows, _LEAST_ROWS)
            return editor
        offers = state.prompt.permission.grant_offers
        return Input(offers[-1].pattern if offers and state.mode is CardMode.PATTERN else "", select_on_focus=False)

    @property
    def _rows(self) -> int:
        """Return the number of rows for the request."""
        rows = self.screen.size.height
        return min(rows - (_BESIDE_ON_LOW if rows < _LOW_ROWS else _BESIDE_ROWS), rows // 2)

    def _draw(self, *, from_the_top: bool = False) -> None:
        state = self._state
        if state is None or not self.is_mounted:
            return
        body = self.query_one(LineView)
        body.allow_rows(self._rows)
        body.display = state.mode is not CardMode.EDIT
        body.show(self._lines(state), from_the_top=from_the_top)
        if state.question is not None:
            body.see(LineKind.CHOSEN)
        state_text = self._state_text()
        shown = self.query_one("#card-state", Static)
        shown.display = bool(state_text)
        shown.update(Text(state_text, style="bold"))
        keys = "Enter or Esc: close" if self._over else hints(state)
        is_heard = self.has_focus_within or bool(self._card_context.where)
        self.query_one("#card-keys", Static).update(Text(keys if is_heard else f"Tab to answer: {keys}"))
        self._frame(state)

    def _lines(self, state: CardState) -> list[ViewLine]:
        """Return the lines, from a cache while nothing has changed: an input may be long."""
        width = max(self.content_size.width - 2, 20)
        prompt = state.prompt
        answered = len(prompt.questions.answers)
        made_of = (replace(state, prompt=_NOBODYS), prompt.request_id, prompt.agent_is_gone, answered)
        key = (made_of, self._on_disk, self._card_context.where, width)
        if key != self._lines_key:
            position = self._card_context.where
            where = [ViewLine(one_line(position, width), LineKind.DIM)] if position else []
            self._lines_key, self._made_lines = key, where + self._lines_of(state)
        return self._made_lines

    def _lines_of(self, state: CardState) -> list[ViewLine]:
        if state.question is not None:
            return question_lines(state.prompt, state.question, state.cursor, state.chosen)
        if state.mode is CardMode.PATTERNS or state.mode is CardMode.PATTERN:
            return pattern_lines(state.prompt.permission)
        return permission_lines(state.prompt, whole=state.is_whole, on_disk=self._on_disk)

    def _state_text(self) -> str:
        context = self._card_context
        if self._over:
            return one_line(self._over, 400)
        if context.delivery is AnswerDelivery.WAITS_FOR_CONNECTION or (
            context.delivery is AnswerDelivery.ON_ITS_WAY and context.is_link_broken
        ):
            return "Connection lost: your answer is sent when it is back"
        if context.delivery is AnswerDelivery.ON_ITS_WAY:
            return "Sending your answer"
        if self._trouble or context.failure:
            return one_line(self._trouble or context.failure, 400)
        return "Connection lost: an answer is sent when it is back" if context.is_link_broken else ""

    def _frame(self, state: CardState) -> None:
        kind = "question" if state.question is not None else "permission"
        self.border_title = " · ".join(filter(None, (kind, self._card_context.position)))  # only text of ours
        self.border_subtitle = waits(state.prompt, self._now())


_NOBODYS = v1.PendingPrompt()
_ALWAYS = frozenset({"escape", "left", "right", "pageup", "pagedown", "left_square_bracket", "right_square_bracket"})
