"""The screen of one session: conversation, cards, composer and status line."""

import time
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, ClassVar, cast

import anyio.to_thread
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.widgets import Static, TextArea

from betcode.client import Client, ClientError, Link, LinkState
from betcode.tui import keys
from betcode.tui.cards.deck import CardDeck
from betcode.tui.composer.composer import Composer
from betcode.tui.composer.pane import ComposerPane
from betcode.tui.input_lock.actions import LockActions
from betcode.tui.input_lock.view import LockCard, LockView, lock_notice, lock_view
from betcode.tui.model.blocks import TurnEnd
from betcode.tui.pending_board import PendingBoard
from betcode.tui.session_feed import SessionFeed
from betcode.tui.sessions.rows import headed
from betcode.tui.sessions.side_panel import SidePanel
from betcode.tui.tasks import begin
from betcode.tui.view.conversation_view import ConversationView
from betcode.tui.widgets.head_line import HeadLine
from betcode.tui.widgets.status_line import StatusContext, StatusLine
from betcode.tui.widgets.welcome import Welcome
from betcode.v1 import agent_pb2 as v1
from betcode.wording.input_lock import holder_in, is_locked
from betcode.wording.terminal_text import clean, one_line
from betcode.wording.times import when_again

if TYPE_CHECKING:
    from betcode.tui.app import BetcodeApp

_FRAME_S = 1 / 30
_BRANCH_EVERY = 5  # seconds
_TWICE_S = 2.0  # two presses within this time count as one


class SessionScreen(Screen[None]):
    """Shows only data of the daemon, and sends all input to it."""

    BINDINGS: ClassVar[list[BindingType]] = keys.bindings(keys.KeyContext.SESSION)

    def __init__(self, client: Client, summary: v1.SessionSummary, board: PendingBoard) -> None:
        super().__init__()
        self._client = client
        self._summary = self._listed = summary
        self._feed = SessionFeed(client, summary, self._model_changed)
        self._is_stale = False
        self._drawn_at = 0.0
        self._lock = LockView(client.identity.client_id)
        self._lock_dealings = LockActions(client, summary.id, self._show_message)
        self._link: Link | None = None
        self._broken_at = 0.0
        self._refusal = ""
        self._end_text = ""
        self._was_at_work: bool | None = None
        self._view = ConversationView(self._feed.conversation)
        self._deck = CardDeck(board, summary.id)
        self._lock_card = LockCard()
        self._welcome = None if summary.message_count else Welcome(summary.provider)
        self._head, self._status, self._side = HeadLine(), StatusLine(), SidePanel()
        self._stops = 0  # how often the person cancelled this turn
        self._interrupted_at = self._escaped_at = 0.0
        self._ticks = 0

    @property
    def session_id(self) -> str:
        return self._summary.id

    @property
    def summary(self) -> v1.SessionSummary:
        """The summary of the session when it was opened."""
        return self._summary

    @property
    def length(self) -> int:
        """The number of loaded blocks."""
        return len(self._feed.conversation.blocks)

    @property
    def has_failed(self) -> bool:
        """Whether the screen can no longer be updated."""
        return bool(self._refusal)

    @property
    def can(self) -> v1.ProviderCapabilities | None:
        """The capabilities of its agent, if the daemon reports them."""
        return self._feed.session_status.can

    @property
    def turn_in_view(self) -> int:
        """The end of the turn in view; 0 for the newest."""
        blocks = self._feed.conversation.blocks
        at = self._view.index_in_view
        rest = range(at, len(blocks)) if at >= 0 else ()
        return next((blocks[index].first for index in rest if isinstance(blocks[index], TurnEnd)), 0)

    def jump_to(self, sequence: int) -> None:
        """Scroll to this event."""
        self._view.jump_to(sequence)

    @property
    def owner(self) -> "BetcodeApp":
        return cast("BetcodeApp", self.app)

    def compose(self) -> ComposeResult:
        yield self._head
        with Horizontal(id="middle"):
            with Vertical(id="main"):
                yield self._view
                if self._welcome is not None:
                    yield self._welcome
                yield self._deck
                yield self._lock_card
                yield Static(id="ended", markup=False)
                yield ComposerPane(self._client, self._summary.id, self._summary.working_directory, self.owner.data_dir)
            yield self._side
        yield self._status

    def on_mount(self) -> None:
        self.query_one("#ended").display = False
        self._view.draft = self.query_one(Composer)
        self.set_focus(self._view.draft)  # at once: somebody may already be typing
        self._deck.take_focus_if_draft_is_empty()
        self.set_interval(1.0, self._tick)
        begin(self, self._follow)
        self._model_changed()

    # ------------------------------------------------------------ drawing

    def on_screen_resume(self) -> None:
        self._deck.seen_anew()
        self._model_changed()

    def on_resize(self) -> None:
        self._model_changed()

    on_descendant_focus = on_resize

    def _model_changed(self) -> None:
        """Draw at most once per frame, whatever the number of events; at once after a pause."""
        if self._is_stale or not self.is_attached:
            return
        self._is_stale = True
        due_s = self._drawn_at + _FRAME_S - time.monotonic()
        if due_s <= 0:
            self.call_later(self._draw)
        else:
            self.set_timer(due_s, self._draw)

    def _draw(self) -> None:
        self._is_stale = False
        if self not in self.app.screen_stack or not self._view.is_attached:
            return  # a hidden screen is drawn when it is shown, a removed one never
        self._drawn_at = time.monotonic()
        self._apply_status()
        self._view.blocks_changed()
        self.query_one(ComposerPane).show(
            self._feed.session_status.queue, self._feed.session_status.commands, self._link
        )
        if self._welcome is not None and self._feed.conversation.blocks:
            self._welcome.remove()
            self._welcome = None
        self._draw_lines()

    async def _read_branch(self) -> None:
        """Read the current branch: anybody, including the agent, may check out another one."""
        from betcode.git.worktree_files import branch_at

        read_branch = partial(branch_at, self._summary.working_directory, or_commit=True)
        self._feed.session_status.branch = await anyio.to_thread.run_sync(read_branch, abandon_on_cancel=True)

    def _tick(self) -> None:
        """Update what changes by itself: times, and the branch."""
        self._ticks += 1
        if self._client.is_local and self._ticks % _BRANCH_EVERY == 1 and self in self.app.screen_stack:
            begin(self, self._read_branch, group="branch", exclusive=True)
        if self in self.app.screen_stack and self._view.is_attached:
            self._draw_lines()

    def _draw_lines(self) -> None:
        session_status = self._feed.session_status
        self._status.show(session_status, self._lock, self._status_context())
        self._lock_card.show(self._lock, datetime.now(UTC))
        listed = self.owner.directory.known(self.session_id) or self._summary
        if listed is not self._listed:
            self._listed = listed
            session_status.begin(listed)
        name = headed(listed, self._feed.conversation.opening)
        self.owner.show_name(name)
        self._head.show(name, self.owner.machine, self.owner.waiting_elsewhere(self.session_id))
        if self._side.display:
            self._side.show(self.owner.directory, self.session_id, session_status)
        if self._feed.has_ended or self._refusal:
            self._show_end()

    def _status_context(self) -> StatusContext:
        now, link, since = time.monotonic(), self._link, self._feed.session_status.worked_since
        is_broken = link is not None and link.state is LinkState.BROKEN
        return StatusContext(
            link=link,
            retry_in_s=max(self._broken_at + link.retry_in_s - now, 0.0) if is_broken and link is not None else 0.0,
            refusal=self._refusal,
            turn_s=max((datetime.now(UTC) - since).total_seconds(), 0.0) if since is not None else None,
            is_stopping=self._stops > 0,
            queued=len(self._feed.session_status.queue),
            waits=self._feed.session_status.waits(datetime.now(UTC)),
            has_ended=self._feed.has_ended,
            is_reading=self._view.has_focus,
        )

    def _apply_status(self) -> None:
        """Apply the effects of the session's state that are not drawn."""
        if self._feed.link is not self._link:
            self._link, self._broken_at = self._feed.link, time.monotonic()
        is_at_work = self._feed.session_status.is_at_work
        if is_at_work != self._was_at_work:
            self._stops = 0
            self._was_at_work = is_at_work
        before, self._lock = self._lock, lock_view(self._feed.session_status.lock, self._client.identity.client_id)
        if (words := lock_notice(before, self._lock)) and not self._lock_dealings.is_asking:
            self.notify(words, markup=False)
        if self._lock.asking_id and not before.asking_id:
            self.app.bell()
            if not self.query_one(Composer).has_draft:
                self._lock_card.display = True
                self._lock_card.focus()
        elif before.asking_id and not self._lock.asking_id and self._lock_card.has_focus:
            self.query_one(Composer).focus()

    def _show_end(self) -> None:
        ended = self.query_one("#ended", Static)
        forks = "Ctrl+X, f: continue in a fork · " if self._feed.has_ended and not self._refusal else ""
        words = self._refusal or "This session is closed and accepts no messages. Its history remains."
        whole = f"{one_line(words, 200)} {forks}Ctrl+N: a new session · Ctrl+S: others"
        if whole != self._end_text:
            self._end_text = whole
            ended.update(whole)
        if ended.display:
            return
        ended.display = True
        self.query_one(Composer).disabled = True
        self._view.focus()
        self.owner.directory.refresh()

    # ------------------------------------------------------------ events

    async def _follow(self) -> None:
        try:
            await self._feed.run()
            if await self._feed.is_deleted():
                self._refusal = "The session was deleted with its history."
        except ClientError as error:
            self._refusal = error.message
        self._model_changed()

    def on_conversation_view_wants_older(self, message: ConversationView.WantsOlder) -> None:
        begin(self, self._load_older, message.compacted)

    async def _load_older(self, compacted: bool) -> None:
        if not await self._feed.load_older(compacted=compacted) and self._feed.trouble:
            self._show_message(f"Cannot load older messages: {self._feed.trouble}", bad=True)

    def on_conversation_view_wants_whole(self, message: ConversationView.WantsWhole) -> None:
        from betcode.tui.whole_block import show_whole

        begin(self, show_whole, self.owner, self._client, self._summary.id, message.block)

    # ------------------------------------------------------------ actions

    def on_composer_pane_not_sent(self, message: ComposerPane.NotSent) -> None:
        error = message.error
        if is_locked(error):
            words = f"Not sent: {holder_in(error, self._lock.own_id)} has the input lock. Ctrl+L requests it"
        else:
            words = f"Not sent: {error.message}{when_again(error.retry_after_s)}"
        self._show_message(words, bad=True)

    def on_composer_pane_sends(self) -> None:
        self._view.action_scroll_end()  # the message and its answer appear there

    async def on_composer_scrolls(self, message: Composer.Scrolls) -> None:
        await self._view.run_action(message.action)

    async def on_composer_command(self, message: Composer.Command) -> None:
        """Run a screen command that was typed instead of a message."""
        if (action := keys.COMMANDS.get(message.name)) is not None:
            await self.run_action(action)
        else:
            self.owner.do_here(message.name, message.rest)

    def action_cancel(self) -> None:
        now, session_status = time.monotonic(), self._feed.session_status
        if not session_status.is_at_work:
            if not self._feed.has_ended:
                self.query_one(Composer).focus()
            return
        if session_status.status == v1.WAITING_FOR_USER and not self._stops and now - self._escaped_at > _TWICE_S:
            # No turn is running, and after leaving a card people often press Escape once too often
            self._escaped_at = now
            self._show_message("Press Esc again to interrupt the turn")
            return
        self._stops += 1
        begin(self, self._cancel, self._stops)
        self._model_changed()

    async def _cancel(self, presses: int) -> None:
        try:
            was_open = await self._client.cancel(self._summary.id)
        except ClientError as error:
            self._stops = 0
            self._show_message(f"Not interrupted: {error.message}", bad=True)
            return
        if not was_open:
            self._stops = 0
        elif presses > 1:
            self._show_message("Interrupting again; the agent is killed if it does not respond")

    def action_lock(self) -> None:
        if self._lock.asking_id:
            self.post_message(LockCard.Answered(self._lock.asking_id, grant=True))
        elif self._lock.is_ours:
            self._show_message("You already have the input lock")
        elif not self._lock_dealings.is_asking:
            begin(self, self._lock_dealings.ask, self._lock)

    def on_lock_card_answered(self, message: LockCard.Answered) -> None:
        self.query_one(Composer).focus()
        begin(self, self._lock_dealings.answer, message)

    def action_interrupt(self) -> None:
        composer = self.query_one(Composer)
        selected = self.get_selected_text() or composer.selected_text
        now = time.monotonic()
        if selected:
            self.app.copy_to_clipboard(selected)
            self.clear_selection()
            self._show_message("Copied")
        elif composer.has_draft:
            composer.clear_draft()
        elif now - self._interrupted_at < _TWICE_S:
            self.owner.action_leave()
        else:
            self._show_message("Press Ctrl+C again to quit; Esc interrupts the turn")
            self._interrupted_at = now

    def action_panels(self) -> None:
        """Toggle the panels: beside the conversation on a wide screen, below it on a narrow one."""
        self.toggle_class("-turned")
        self._model_changed()

    def action_next_focus(self) -> None:
        """Cycle the focus: draft, card, conversation."""
        if self._is_on_a_card:
            self._view.focus()
        elif self.focused is not self.query_one(Composer) or not self._deck.take_focus():
            self.app.action_focus_next()
            if self._is_on_a_card:  # the card is between the conversation and the draft, and had the focus before
                self.app.action_focus_next()

    @property
    def _is_on_a_card(self) -> bool:
        return self.focused is not None and self._deck in self.focused.ancestors_with_self

    def action_leave_empty(self) -> None:
        if self.query_one(Composer).has_draft or self._deck.is_typing:
            raise SkipAction
        self.owner.action_leave()

    def action_help_empty(self) -> None:
        if self._deck.is_typing:
            raise SkipAction
        if isinstance(self.focused, TextArea) and (self.focused is not self.query_one(Composer) or self.focused.text):
            raise SkipAction
        self.owner.action_help()

    def _show_message(self, words: str, *, bad: bool = False) -> None:
        self.notify(clean(words), severity="error" if bad else "information", markup=False)
