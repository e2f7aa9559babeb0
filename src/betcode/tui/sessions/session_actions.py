"""Actions on a session (rename, fork, export, …): each asks for its input and reports its result."""

from collections.abc import Awaitable, Callable
from contextlib import aclosing
from functools import partial
from pathlib import Path

from betcode.client import Client, ClientError
from betcode.tui.keyboard.sequencer import SequencedApp
from betcode.tui.sessions.directory import SessionDirectory
from betcode.tui.sessions.rows import called
from betcode.tui.widgets.dialogs import AskLine, AskYesNo, TextView
from betcode.tui.widgets.line_view import LineKind, ViewLine
from betcode.v1 import agent_pb2 as v1
from betcode.wording.budgets import budget_lines
from betcode.wording.ids import short_id
from betcode.wording.patches import PatchPainter
from betcode.wording.terminal_text import clean, one_line
from betcode.wording.whole_files import FileNotWritten, format_of, write_whole

_SHOWN_BYTES = 2 * 1024 * 1024  # of a patch
_NAME = 40
_KINDS = {"+": LineKind.ADDED, "-": LineKind.REMOVED, "@": LineKind.PLACE}  # by the first character of a line in a hunk

Open = Callable[[str], None]


class SessionActions:
    """Runs in a task of the screen, above the current screen."""

    def __init__(self, app: SequencedApp[int], client: Client, directory: SessionDirectory, open_session: Open) -> None:
        self._app = app
        self._client = client
        self._directory = directory
        self._open = open_session

    async def do(self, name: str, one: v1.SessionSummary, at: int = 0, argument: str = "") -> None:
        """Run the action with its argument; show an error of the daemon."""
        actions: dict[str, Callable[[v1.SessionSummary], Awaitable[None]]] = {
            "rename": partial(self._rename, argument=argument),
            "fork": self._fork,
            "export": partial(self._export, argument=argument),
            "compact": self._compact,
            "budget": self._budget,
            "close": self._close,
            "delete": self._delete,
            "copy": self._copy,
            "diff": self._diff,
        }
        try:
            if name == "fork_here":
                await self._fork(one, at)
            else:
                await actions[name](one)
        except ClientError as error:
            self._show_message(error.message, bad=True)
        self._directory.refresh()

    async def _rename(self, one: v1.SessionSummary, argument: str = "") -> None:
        name: str | None = argument
        if not argument:
            asks = AskLine("Name of the session (empty: no name)", one.name)
            name = await self._app.push_screen_wait(asks)
        if name is not None:
            await self._client.rename(one.id, name.strip())
            self._show_message(f"Renamed to {name.strip()}" if name.strip() else "The name was removed")

    async def _fork(self, one: v1.SessionSummary, at: int = 0) -> None:
        with self._app.input.hold():  # later input belongs to the fork
            made = await self._client.fork(one.id, at_sequence=at)
            self._show_message(f"Forked from {one_line(called(one), _NAME)}. This is the fork")
            self._open(made.session_id)

    async def _export(self, one: v1.SessionSummary, argument: str = "") -> None:
        usual = f"betcode-{short_id(one.id)}.html"
        asks = AskLine("Export to file (.html, .md or .json)", usual)
        file: str | None = argument
        if not argument:
            file = await self._app.push_screen_wait(asks)
        if not file or not file.strip():
            return
        path = Path(file.strip()).expanduser()
        try:
            await write_whole(self._client.export(one.id, format_of(path)), path)
        except FileNotWritten as trouble:
            self._show_message(str(trouble), bad=True)
        else:
            self._show_message(f"Written to {path.resolve()}")

    async def _compact(self, one: v1.SessionSummary) -> None:
        self._show_message("Compacting the context; this can take a while")
        done = await self._client.compact(one.id)
        saved = f": {done.tokens_saved:,} tokens saved" if done.tokens_saved else ""
        self._show_message(f"The context is compacted{saved}")

    async def _budget(self, one: v1.SessionSummary) -> None:
        now = await self._directory.find(one.id) or one
        lines = budget_lines(now.budget, now.budget_use)
        change = f"Change it with: betcode session budget {short_id(one.id)}"
        await self._app.push_screen_wait(TextView("Budget", [ViewLine(line) for line in (*lines, "", change)]))

    async def _close(self, one: v1.SessionSummary) -> None:
        about = " Its agent is working and will be stopped." if one.status == "active" else ""
        question = f"Close {one_line(called(one), _NAME)}?{about} Its history stays."
        if await self._app.push_screen_wait(AskYesNo(question)):
            was_open = await self._client.close(one.id)
            self._show_message("The session is closed" if was_open else "The session was already closed")

    async def _delete(self, one: v1.SessionSummary) -> None:
        about = " Its agent is working and will be stopped." if one.status == "active" else ""
        question = f"Delete {one_line(called(one), _NAME)} and its whole history?{about}"
        if await self._app.push_screen_wait(AskYesNo(question)):
            await self._client.delete(one.id)
            self._show_message("The session and its history are deleted")

    async def _copy(self, one: v1.SessionSummary) -> None:
        self._app.copy_to_clipboard(one.id)
        self._show_message(f"Copied: {one.id}")

    async def _diff(self, one: v1.SessionSummary) -> None:
        """Show the changes of the last turn, or all changes if turns are not counted."""
        now = await self._directory.find(one.id) or one
        turn = now.budget_use.turns
        painter = PatchPainter(colour=False)
        lines: list[ViewLine] = []
        pieces: list[str] = []
        size = 0
        async with aclosing(self._client.diffs.of_session(one.id, turn=turn)) as chunks:
            async for chunk in chunks:
                if chunk.note:
                    lines.append(ViewLine(f"Note: {clean(chunk.note)}", LineKind.NOTE))
                size += len(chunk.data)
                if size > _SHOWN_BYTES:
                    lines.append(
                        ViewLine(
                            f"Truncated. For the whole diff: betcode session diff {short_id(one.id)}", LineKind.NOTE
                        )
                    )
                    break
                pieces.append(painter.feed(chunk.data))
        patch = "".join((*pieces, painter.feed(b"", final=True)))
        lines += patch_lines(patch) if patch else [ViewLine("No changes")]
        title = f"Changes of turn {turn}" if turn else "Changes"
        await self._app.push_screen_wait(TextView(title, lines))

    def _show_message(self, words: str, *, bad: bool = False) -> None:
        self._app.notify(clean(words), severity="error" if bad else "information", markup=False)


def patch_lines(text: str) -> list[ViewLine]:
    """Return the lines of a patch, sanitized, each with its kind."""
    lines: list[ViewLine] = []
    in_hunk = False
    for line in text.removesuffix("\n").split("\n"):
        in_hunk = line.startswith("@@ ") or (in_hunk and not line.startswith("diff --git "))
        lines.append(ViewLine(line, _KINDS.get(line[:1], LineKind.PLAIN) if in_hunk else LineKind.TITLE))
    return lines
