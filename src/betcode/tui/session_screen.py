"""One session on the screen: conversation, cards, the place to write in, and how it stands."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from betcode.client import Client, ClientError
from betcode.tui.cards.deck import CardDeck
from betcode.tui.composer.composer import Composer
from betcode.tui.pending_board import PendingBoard
from betcode.tui.session_feed import SessionFeed
from betcode.tui.status_line import StatusLine
from betcode.tui.view.conversation_view import ConversationView
from betcode.v1 import agent_pb2 as v1

_FRAMES_A_SECOND = 30


class SessionScreen(Screen[None]):
    """Everything it shows comes from the daemon; what is typed goes there."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", "cancel")]

    def __init__(self, client: Client, summary: v1.SessionSummary, board: PendingBoard) -> None:
        super().__init__()
        self._client = client
        self._summary = summary
        self._feed = SessionFeed(client, summary, self._model_changed)
        self._is_stale = True
        self._board = board

    @property
    def session_id(self) -> str:
        return self._summary.id

    def compose(self) -> ComposeResult:
        yield ConversationView(self._feed.conversation)
        yield CardDeck(self._board, self._summary.id)
        yield Composer()
        yield StatusLine()

    def on_mount(self) -> None:
        self.query_one(Composer).show_session(self._summary.id, self._summary.working_directory)
        self.query_one(Composer).focus()
        self.set_interval(1 / _FRAMES_A_SECOND, self._draw)
        self.run_worker(self._feed.run(), exit_on_error=False)

    def _model_changed(self) -> None:
        self._is_stale = True

    def _draw(self) -> None:
        """At most so often as an eye sees, however much comes in."""
        if not self._is_stale:
            return
        self._is_stale = False
        self.query_one(ConversationView).blocks_changed()
        self.query_one(StatusLine).show(self._feed.standing, self._feed.link)

    def on_screen_resume(self) -> None:
        self.query_one(CardDeck).seen_anew()

    async def on_composer_submitted(self, message: Composer.Submitted) -> None:
        try:
            await self._client.send(self._summary.id, message.text, message.attachments)
        except ClientError as error:
            self.query_one(Composer).give_back(message.text)
            self.notify(error.message, severity="error", markup=False)

    async def action_cancel(self) -> None:
        await self._client.cancel(self._summary.id)
