"""The composer pane: queue, completion list, attachments and draft."""

from collections.abc import Sequence
from pathlib import Path

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message

from betcode.client import Client, ClientError, Link, LinkState
from betcode.domain.agents.commands import AttachedFile
from betcode.tui.composer.chips import ChipBar
from betcode.tui.composer.completion import AgentCommand
from betcode.tui.composer.completion_list import CompletionList
from betcode.tui.composer.composer import Composer
from betcode.tui.composer.outbox import UnsentMessage
from betcode.tui.composer.queue_bar import QueueBar, QueuedView
from betcode.tui.composer.sender import Sender
from betcode.tui.tasks import begin
from betcode.wording.terminal_text import clean


class ComposerPane(Vertical):
    """Sends the messages of one session, and restores a message that was withdrawn or refused."""

    DEFAULT_CSS = "ComposerPane { height: auto; }"

    class Sends(Message):
        """A message was written and is being sent."""

    class NotSent(Message):
        """The daemon refused a message; it is in the draft again."""

        def __init__(self, error: ClientError) -> None:
            super().__init__()
            self.error = error

    def __init__(self, client: Client, session_id: str, directory: str, data_dir: Path | None) -> None:
        super().__init__(id="writing")
        self._client = client
        self._session_id = session_id
        self._directory = directory
        self._queue: Sequence[QueuedView] = ()
        self._is_down = False
        self._sender = Sender(client, session_id, data_dir, self._show_queue, self._refused)
        self._bar, self._completions, self._chips = QueueBar(), CompletionList(), ChipBar()
        self._composer = Composer(self._completions, self._chips, self._bar, self._send, data_dir)

    def compose(self) -> ComposeResult:
        yield self._bar
        yield self._completions
        yield self._chips
        yield self._composer

    def on_mount(self) -> None:
        self._composer.begin(self._session_id, self._directory, is_local=self._client.is_local)
        self._show_queue()
        begin(self, self._sender.run)

    async def on_unmount(self) -> None:
        await self._sender.leave()

    def show(self, queue: Sequence[QueuedView], commands: Sequence[AgentCommand], link: Link | None) -> None:
        """Show the current state of the session."""
        self._queue = queue
        self._is_down = link is not None and link.state is not LinkState.CONNECTED
        self._composer.show_commands(commands)
        self._sender.link_changed(is_up=not self._is_down)
        self._show_queue()

    def _show_queue(self) -> None:
        self._bar.show(self._queue, self._sender.unsent, is_down=self._is_down)

    def _refused(self, message: UnsentMessage, error: ClientError) -> None:
        self._composer.restore_message(message.text, message.attachments)
        self._composer.save_draft()  # the screen may have been closed, so save the draft
        self.post_message(self.NotSent(error))

    def _send(self, text: str, attachments: tuple[AttachedFile, ...]) -> None:
        self.post_message(self.Sends())
        try:
            self._sender.send(text, attachments)
        except OSError as trouble:
            self._show_message(f"Cannot save the unsent message: {trouble.strerror}")

    def on_queue_bar_withdraw(self, message: QueueBar.Withdraw) -> None:
        message.stop()
        # Withdrawing may involve the agent: messages that are written meanwhile are sent meanwhile.
        begin(self, self._withdraw, message)

    async def _withdraw(self, message: QueueBar.Withdraw) -> None:
        if self._sender.is_unsent(message.message_id):
            unsent = self._sender.withdraw(message.message_id)
            if unsent is not None:
                self._composer.restore_message(unsent.text, unsent.attachments)
            else:
                self._show_message("The message may have arrived. You can edit it when the connection is back")
            return
        try:
            is_withdrawn = await self._client.withdraw(self._session_id, message.message_id)
        except ClientError as error:
            self._show_message(clean(error.message))
            return
        if not is_withdrawn:
            self._show_message("The agent already has this message: it can no longer be edited")
            return
        sent = self._sender.sent_from_here(message.message_id)
        self._composer.restore_message(
            message.text if sent is None else sent.text, () if sent is None else sent.attachments
        )

    def on_queue_bar_return_to_draft(self) -> None:
        self._composer.focus()

    def on_completion_list_selected(self, message: CompletionList.Selected) -> None:
        message.stop()
        self._composer.insert_candidate(message.candidate)
        self._composer.focus()

    def on_chip_bar_expand(self, message: ChipBar.Expand) -> None:
        message.stop()
        self._composer.attaching.expand(message.index)

    def on_chip_bar_remove(self, message: ChipBar.Remove) -> None:
        message.stop()
        self._composer.attaching.take(message.index)

    def _show_message(self, sentence: str) -> None:
        self.notify(sentence, markup=False)
