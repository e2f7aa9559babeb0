"""The open cards of one session, oldest first."""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.messages import Prune
from textual.timer import Timer
from textual.widgets import Static

from betcode.client import LinkState
from betcode.tui.cards.card import Card, CardContext
from betcode.tui.cards.texts import how_it_ended
from betcode.tui.composer.composer import Composer
from betcode.tui.keyboard.sequencer import SequencedApp
from betcode.tui.pending_board import AnswerDelivery, BoardChanged, News, PendingBoard, PromptClosed, PromptOpened
from betcode.v1 import agent_pb2 as v1
from betcode.wording.prompts import Prompt, PromptAnswer

_NOTICE_S = 12.0
_HOLD_S = 1.0  # a slow daemon does not block the keyboard for longer


class CardDeck(Vertical):
    """Hidden while there are no prompts. A new card takes the focus only from an empty draft."""

    DEFAULT_CSS = """
    CardDeck { height: auto; }
    CardDeck > #card-notice { height: auto; color: $text-warning; }
    """

    def __init__(
        self,
        board: PendingBoard,
        session_id: str,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(id="cards")
        self.display = False
        self._board = board
        self._session_id = session_id
        self._clock = clock
        self._open: Sequence[v1.PendingPrompt] = ()
        self._current = ""
        self._stop_listening: Callable[[], None] | None = None
        self._notice_timer: Timer | None = None
        self._answering = ""  # later input waits until this prompt is answered
        self._input_hold = ExitStack()

    def compose(self) -> ComposeResult:
        notice = Static(id="card-notice", markup=False)
        notice.display = False
        yield notice
        yield Card(reads_files=self._board.is_local, clock=self._clock)

    def on_mount(self) -> None:
        self._stop_listening = self._board.listen(self._board_changed)
        self.set_interval(1.0, self._card.times_changed)
        self.show(self._board.of(self._session_id))

    async def on_prune(self, _event: Prune) -> None:
        """Stop listening: the children of a removed widget end before it is unmounted."""
        if self._stop_listening is not None:
            self._stop_listening()
            self._stop_listening = None
        self._release_input()

    def show(self, prompts: Sequence[v1.PendingPrompt]) -> None:
        """Show the open prompts of this session."""
        before = [each.request_id for each in self._open]
        self._open = tuple(prompts)
        ids = [each.request_id for each in self._open]
        card = self._card
        card.display = bool(ids) or card.is_over
        self.display = card.display or self.query_one("#card-notice").display
        if card.is_over:
            return
        if not ids:
            if card.has_focus_within:
                self._back_to_the_draft()
            self._current = ""
            return
        is_new = self._current not in ids
        if is_new:
            position = before.index(self._current) if self._current in before else 0
            self._current = ids[min(position, len(ids) - 1)]
        position = ids.index(self._current)
        card.show(self._open[position], self._card_context(self._current, position))
        if is_new:
            self._take_focus_from_an_empty_draft()

    def take_focus(self) -> bool:
        """Focus the card; return False if there is none."""
        if self._card.display:
            self._card.focus()
        return self._card.display

    @property
    def is_typing(self) -> bool:
        """Whether text is being typed on a card, so that shortcuts do not apply."""
        return self._card.is_typing and self._card.has_focus_within

    def seen_anew(self) -> None:
        """Update the card when the screen is shown again."""
        self._card.seen_anew()

    def take_focus_if_draft_is_empty(self) -> None:
        """Focus an open card if the draft is empty, after earlier focus requests have been processed."""
        self.app.call_later(self._take_focus_from_an_empty_draft)

    def _card_context(self, request_id: str, position: int) -> CardContext:
        link = self._board.link
        return CardContext(
            position=f"{position + 1} of {len(self._open)}" if len(self._open) > 1 else "",
            delivery=self._board.delivery(request_id),
            failure=self._board.failure(request_id),
            is_link_broken=link is not None and link.state is LinkState.BROKEN,
        )

    def _board_changed(self, news: News) -> None:
        match news:
            case PromptClosed(prompt, resolved, by_us) if prompt.session_id == self._session_id and not by_us:
                words = how_it_ended(prompt, resolved)
                if prompt.request_id == self._card.request_id and self._card.is_typing:
                    self._card.end(words)
                else:
                    self._show_notice(words)
            case PromptOpened() | PromptClosed() | BoardChanged():
                pass
        self.show(self._board.of(self._session_id))
        if self._answering and not self._is_being_answered:
            self._release_input()

    def _show_notice(self, words: str) -> None:
        notice = self.query_one("#card-notice", Static)
        notice.update(words)
        notice.display = bool(words)
        if self._notice_timer is not None:
            self._notice_timer.stop()  # it was for the message before
            self._notice_timer = None
        if words:
            self.display = True
            self._notice_timer = self.set_timer(_NOTICE_S, self._clear_notice)

    def _clear_notice(self) -> None:
        self._show_notice("")
        self.show(self._open)

    @property
    def _card(self) -> Card:
        return self.query_one(Card)

    def _take_focus_from_an_empty_draft(self) -> None:
        focused = self.screen.focused
        is_written = any(each.has_draft for each in self.screen.query(Composer))
        if self._current and not is_written and (focused is None or isinstance(focused, Composer)):
            self._card.focus()

    def _back_to_the_draft(self) -> None:
        composer = self.screen.query(Composer)
        if composer:
            composer.first().focus()

    def on_card_answered(self, message: Card.Answered) -> None:
        message.stop()
        self._answer(message.prompt, message.given)

    def _answer(self, prompt: Prompt, given: PromptAnswer) -> None:
        if self._board.delivery(prompt.request_id) is AnswerDelivery.NONE:
            self._hold_input(prompt.request_id)
            if not self._board.answer(prompt, given):
                self._release_input()

    def _hold_input(self, request_id: str) -> None:
        """Hold input that was typed after an answer for the next focus, such as the draft."""
        self._release_input()
        if isinstance(self.app, SequencedApp):
            self._answering = request_id
            self._input_hold.enter_context(self.app.input.hold(_HOLD_S))

    def _release_input(self) -> None:
        self._answering = ""
        self._input_hold.close()

    @property
    def _is_being_answered(self) -> bool:
        is_open = any(each.request_id == self._answering for each in self._open)
        return is_open and self._board.delivery(self._answering) is AnswerDelivery.ON_ITS_WAY

    def on_card_stepped(self, message: Card.Stepped) -> None:
        message.stop()
        ids = [each.request_id for each in self._open]
        if len(ids) > 1:
            self._current = ids[(ids.index(self._current) + message.by) % len(ids)]
            self.show(self._open)

    def on_card_return_to_draft(self, message: Card.ReturnToDraft) -> None:
        message.stop()
        self._back_to_the_draft()

    def on_card_dismissed(self, message: Card.Dismissed) -> None:
        message.stop()
        self._current = ""
        self.show(self._open)
