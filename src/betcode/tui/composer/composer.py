"""The text area in which a message is written."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from textual import events
from textual.actions import SkipAction
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer
from textual.widgets import TextArea

from betcode.domain.agents.commands import AttachedFile
from betcode.tui.composer import completion
from betcode.tui.composer.attachments import DraftAttachments
from betcode.tui.composer.chips import ChipBar
from betcode.tui.composer.completion import AgentCommand, Candidate, CompletionKind, CompletionRequest
from betcode.tui.composer.completion_list import CompletionList
from betcode.tui.composer.completion_updates import CompletionUpdater
from betcode.tui.composer.drafts import TEXT_LIMIT, Drafts
from betcode.tui.composer.history import HistoryFile, HistoryWalk, SentMessage, in_order
from betcode.tui.composer.paste import writable
from betcode.tui.composer.pieces import Draft, attachment_of
from betcode.tui.composer.queue_bar import QueueBar
from betcode.tui.composer.terminal_keys import NEW_LINE, learn_keys
from betcode.wording.edited_input import InvalidEdit

_SAVE_AFTER_S = 0.3
_SCROLLS = {
    "pageup": "page_up",
    "pagedown": "page_down",
    "ctrl+home": "scroll_home",
    "ctrl+end": "scroll_end",
}


class Composer(TextArea):
    """Enter sends; Ctrl+J, Shift+Enter, Alt+Enter or a backslash at the end insert a line break."""

    DEFAULT_CSS = """
    Composer { height: auto; min-height: 3; max-height: 40vh; border: round $foreground 35%; padding: 0; }
    Composer:focus { border: round $primary; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+e", "edit_outside", "write in the editor", show=False),
        Binding("ctrl+r", "search_history", "search sent messages", show=False),
        Binding("alt+p", "expand_last", "expand the pasted text", show=False),
        Binding("ctrl+underscore,alt+z", "undo", "undo", show=False),
    ]

    class Command(Message):
        """A command of the screen, with its argument."""

        def __init__(self, name: str, rest: str) -> None:
            super().__init__()
            self.name = name
            self.rest = rest

    class Scrolls(Message):
        """A key that scrolls the conversation; `action` is the action of the conversation."""

        def __init__(self, action: str) -> None:
            super().__init__()
            self.action = action

    def __init__(
        self,
        completions: CompletionList,
        chips: ChipBar,
        queue: QueueBar,
        hand_over: Callable[[str, tuple[AttachedFile, ...]], None],
        data_dir: Path | None = None,
    ) -> None:
        learn_keys()
        super().__init__(id="composer", placeholder="Write a message", highlight_cursor_line=False)
        self._queue_bar = queue
        self._hand_over = hand_over  # sends a message
        self._completing = CompletionUpdater(self, completions)
        self.attaching = DraftAttachments(self, chips, self.on_text_area_changed, self._type)
        self._drafts = Drafts(data_dir / "drafts") if data_dir else None
        self._history = HistoryFile(data_dir / "history.jsonl") if data_dir else None
        self._walk = HistoryWalk((), "")
        self._session_id = ""
        self._directory = ""  # the session's directory
        self._files_in = ""  # the directory of files that can be named; empty: none but this process's own
        self._keeping: Timer | None = None
        self._before_search: str | None = None
        self._has_complained = False

    # -- state for other widgets

    @property
    def draft(self) -> Draft:
        return Draft(self.text, self.attaching.all)

    @property
    def has_draft(self) -> bool:
        """Whether the draft has text or attachments."""
        return not self.draft.is_empty

    def begin(self, session_id: str, directory: str, *, is_local: bool) -> None:
        """Load the draft of this session; `is_local`: its directory is on this machine."""
        self._session_id, self._directory = session_id, directory
        self._files_in = directory if is_local else ""
        self._completing.show_directory(self._files_in)
        draft = self._drafts.read(session_id) if self._drafts else Draft()
        self.load_text(writable(draft.text))
        self.move_cursor(self.document.end)
        self.attaching.put(draft.attachments)

    def show_commands(self, commands: Sequence[AgentCommand]) -> None:
        """Complete these commands of the agent."""
        self._completing.commands = tuple(commands)

    def restore_message(self, text: str, attachments: Sequence[AttachedFile] = ()) -> None:
        """Insert a message that was not sent before the text written since."""
        self._rewrite("\n".join(filter(None, (writable(text), self.text))))
        self.attaching.put((*map(attachment_of, attachments), *self.attaching.all))
        self.focus()

    def clear_draft(self) -> None:
        """Clear the draft; undo restores the text."""
        self._rewrite("")
        self.attaching.put(())

    def save_draft(self) -> None:
        """Save the draft now."""
        if self._keeping is not None:
            self._keeping.stop()
            self._keeping = None
        if self._drafts is not None and self._session_id:
            try:
                self._drafts.write(self._session_id, self.draft)
            except OSError as trouble:
                self._complain(f"Cannot save the draft: {trouble.strerror}")

    def undo(self) -> None:
        # The scroll bar may disappear, and Textual would use the cursor position before it has updated it.
        self.move_cursor((0, 0))
        super().undo()

    def redo(self) -> None:
        self.move_cursor((0, 0))
        super().redo()

    def render_line(self, y: int) -> Strip:
        # A window may have no columns for a moment while it shrinks, and Textual cannot wrap the placeholder then.
        return super().render_line(y) if self.content_size.width > 0 else Strip.blank(0)

    # -- keys

    def check_consume_key(self, key: str, character: str | None = None) -> bool:
        """Leave a question mark on an empty draft to the screen, which shows the help."""
        return (key != "question_mark" or self.has_draft) and super().check_consume_key(key, character)

    async def _on_key(self, event: events.Key) -> None:
        if event.key in NEW_LINE:
            self._consume(event)
            self._replace_via_keyboard("\n", *self.selection)
        elif event.key == "enter":
            self._consume(event)
            self._enter()
        elif event.key == "tab" and self._completing.is_open:
            self._consume(event)
            self._insert_selected()
        elif event.key in _SCROLLS:
            self._consume(event)
            self.post_message(self.Scrolls(_SCROLLS[event.key]))
        elif event.key == "escape" and (self._completing.is_open or self._before_search is not None):
            self._consume(event)
            self._close_list()
        elif event.key == "question_mark" and not self.has_draft:
            event.prevent_default()  # the screen shows the help
        elif event.key.startswith("alt+"):
            event.prevent_default()  # terminals send a letter with it that must not be inserted
        else:
            await super()._on_key(event)

    def _consume(self, event: events.Key) -> None:
        event.prevent_default()
        event.stop()

    def action_cursor_up(self, select: bool = False) -> None:
        if self._completing.is_open:
            self._completing.move(-1)
        elif select or not self.navigator.is_first_wrapped_line(self.cursor_location):
            super().action_cursor_up(select)
        elif not (not self.has_draft and self._walk.is_at_draft and self._queue_bar.select_last()):
            self._walk_history(older=True)

    def action_cursor_down(self, select: bool = False) -> None:
        if self._completing.is_open:
            self._completing.move(1)
        elif select or not self.navigator.is_last_wrapped_line(self.cursor_location):
            super().action_cursor_down(select)
        else:
            self._walk_history(older=False)

    def action_delete_left(self) -> None:
        if self.selection.is_empty and self.cursor_location == (0, 0) and self.attaching.all:
            self.attaching.take(-1)
        else:
            super().action_delete_left()

    def action_cut(self) -> None:
        if self.selection.is_empty:
            raise SkipAction
        super().action_cut()

    # -- sending

    def _enter(self) -> None:
        request, selected = self._completing.request, self._completing.selected
        if request is not None and selected is not None:
            is_whole = request.kind is CompletionKind.COMMAND and selected.inserted.strip() == request.query
            if not is_whole:
                self.insert_candidate(selected)
                return
        if self._before_search is not None:
            self._before_search = None  # nothing was found: the search text becomes the draft
            return
        row, column = self.cursor_location
        line = self.document.get_line(row)
        if column == len(line) and line.endswith("\\"):
            self._replace_via_keyboard("\n", (row, column - 1), (row, column))
            return
        self._completing.close()
        self._submit()

    def _submit(self) -> None:
        draft = self.draft
        if draft.is_empty:
            return
        if self.attaching.is_reading:
            self.notify("A file is still loading. Send when it is attached", markup=False)
            return
        command = completion.own_command(draft.text, {one.name for one in self._completing.commands})
        self._remember(draft.text)
        if command is not None:
            self.load_text("")
            if command[0] == "attach":
                self._attach_named(command[1])
            else:
                self.post_message(self.Command(*command))
        else:
            # Directly and not by a Textual message, so that it is sent even if the person quits now.
            self._hand_over(draft.text, draft.files)
            self.load_text("")
            self.attaching.put(())
            self.save_draft()

    def _remember(self, text: str) -> None:
        self._walk = HistoryWalk((), "")
        if self._history is not None:
            try:
                self._history.add(SentMessage(text, self._directory))
            except OSError as trouble:
                self._complain(f"Cannot save the message history: {trouble.strerror}")

    # -- history

    def _walk_history(self, *, older: bool) -> None:
        if older and self._walk.is_at_draft and self._history is not None:
            self._walk = HistoryWalk(self._shown_history(), self._directory)
        text = self._walk.older(self.text) if older else self._walk.newer(self.text)
        if text is not None:
            self._rewrite(text)
            self.move_cursor((0, len(self.document.get_line(0))) if older else self.document.end)
            self._completing.dismiss()
        elif older:
            super().action_cursor_up()
        else:
            super().action_cursor_down()

    def _shown_history(self) -> list[SentMessage]:
        sent = self._history.read() if self._history else []
        return [SentMessage(writable(one.text), one.directory) for one in sent]

    def action_search_history(self) -> None:
        """Search sent messages for the text of the draft; Escape restores the draft."""
        if self._before_search is not None:
            self._completing.move(1)
            return
        self._completing.history = in_order(self._shown_history(), self._directory)
        self._before_search = self.text
        self._update_completion()
        if not self._completing.is_open:
            self._before_search = None
            self.notify("No sent message matches", markup=False)

    # -- completion

    def on_text_area_changed(self) -> None:
        self._update_completion()
        if self._drafts is not None and self._keeping is None and self.is_attached:
            self._keeping = self.set_timer(_SAVE_AFTER_S, self.save_draft)

    def on_text_area_selection_changed(self) -> None:
        self._update_completion()

    def _update_completion(self) -> None:
        if self._before_search is not None:
            self._completing.update_for(CompletionRequest(CompletionKind.HISTORY, self.text, 0, 0))
            return
        row, column = self.cursor_location
        request = completion.completion_at(self.document.get_line(row), column) if self.selection.is_empty else None
        is_late_command = request is not None and request.kind is CompletionKind.COMMAND and row > 0
        self._completing.update_for(None if is_late_command else request)

    def _insert_selected(self) -> None:
        if self._completing.selected is not None:
            self.insert_candidate(self._completing.selected)

    def insert_candidate(self, candidate: Candidate) -> None:
        """Insert the candidate instead of the word at the cursor, or a sent message instead of the draft."""
        request = self._completing.request
        if request is None:
            return
        self._before_search = None
        self._completing.close()
        if request.kind is CompletionKind.HISTORY:
            self._rewrite(candidate.inserted)
            return
        row, _ = self.cursor_location
        result = self._replace_via_keyboard(candidate.inserted, (row, request.start), (row, request.end))
        if result is not None:
            self.move_cursor(result.end_location)

    def _close_list(self) -> None:
        before, self._before_search = self._before_search, None
        if before is not None:
            self._rewrite(before)
            self._completing.close()
        else:
            self._completing.dismiss()

    # -- pasting and attaching

    async def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default()
        event.stop()
        self.attaching.paste(event.text)

    def action_paste(self) -> None:
        """Paste the image in the system clipboard, or else the text copied here."""
        self.attaching.paste_image(self.app.clipboard)

    def action_expand_last(self) -> None:
        self.attaching.expand(len(self.attaching.all) - 1)

    def _type(self, text: str) -> None:
        """Insert the text as if it was typed."""
        if result := self._replace_via_keyboard(text, *self.selection):
            self.move_cursor(result.end_location)

    def _attach_named(self, name: str) -> None:
        if name:
            self.attaching.attach(Path(self._files_in or ".") / Path(name).expanduser())
        else:
            self.notify("Name a file: /attach FILE", markup=False)

    # -- the rest

    def action_edit_outside(self) -> None:
        """Edit the draft in the person's own editor."""
        from betcode.tui.outside_editor import edited_outside

        self.save_draft()
        try:
            written = edited_outside(self.app, self.text, "message.md")
        except InvalidEdit as why:
            self.notify(writable(str(why)), markup=False)
            return
        text = written.decode(errors="replace").rstrip("\n")
        if len(text) > TEXT_LIMIT:
            self.attaching.paste(text)  # attach long text as a file, as a paste does
        else:
            self._rewrite(writable(text))

    def on_unmount(self) -> None:
        self.save_draft()

    def _rewrite(self, text: str) -> None:
        """Replace the whole text; undo restores it."""
        self.history.checkpoint()
        self.replace(text, (0, 0), self.document.end, maintain_selection_offset=False)
        self.move_cursor(self.document.end)

    def _complain(self, sentence: str) -> None:
        """Show an error once: a full disk would repeat it."""
        if not self._has_complained:
            self._has_complained = True
            self.notify(sentence, severity="warning", markup=False)
