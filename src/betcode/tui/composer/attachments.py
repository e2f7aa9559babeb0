"""The attachments of a draft, from pastes, files and the clipboard, validated before they are shown."""

import codecs
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import assert_never

import anyio.to_thread
from textual.widget import Widget

from betcode.domain.agents.commands import AttachedFile
from betcode.domain.sessions.media_type import RECOGNISED, is_text, kind_of
from betcode.tui.composer.chips import ChipBar
from betcode.tui.composer.paste import DroppedFiles, LongText, ShortText, TooLong, classify, classify_text, writable
from betcode.tui.composer.pieces import Attachment, pasted_text, too_much
from betcode.tui.tasks import begin
from betcode.wording.attachments import CannotAttach, read_files
from betcode.wording.sizes import readable
from betcode.wording.terminal_text import clean

_FILE_BYTES = 10 * 1024 * 1024  # the daemon's default limit for one file
_EXPANDED_AT_MOST = 200_000  # characters; longer texts are better edited in an editor


class DraftAttachments:
    """The attachments of one draft, in order. Text that is not a file is passed to `write`."""

    def __init__(
        self, owner: Widget, chips: ChipBar, changed: Callable[[], None], write: Callable[[str], None]
    ) -> None:
        self._owner = owner
        self._chips = chips
        self._changed = changed
        self._write = write
        self._reading = 0
        self.all: tuple[Attachment, ...] = ()

    @property
    def is_reading(self) -> bool:
        """Whether a named file has not been read yet."""
        return self._reading > 0

    def put(self, attachments: Sequence[Attachment]) -> None:
        """Replace all attachments."""
        self.all = tuple(attachments)
        self._chips.show(self.all)
        self._changed()

    def take(self, index: int) -> Attachment | None:
        """Remove and return one."""
        if not -len(self.all) <= index < len(self.all):
            return None
        one = self.all[index]
        self.put([each for each in self.all if each is not one])
        return one

    def expand(self, index: int) -> None:
        """Replace the attachment by its text, or by the path of its file."""
        chosen = self.all[index] if 0 <= index < len(self.all) else None
        if chosen is None or not chosen.instead:
            return
        if len(chosen.instead) > _EXPANDED_AT_MOST:
            self._show_message("The text is too long to edit here: it is sent as a file")
            return
        self.take(index)
        self._write(writable(chosen.instead))

    def paste(self, text: str) -> None:
        """Handle a paste: short text, long text, or dropped files."""
        pasted = classify(text)
        match pasted:
            case TooLong():
                self._show_message(pasted.message)
            case DroppedFiles():
                self._begin(self._attach_dropped(pasted))
            case ShortText() | LongText():
                self._insert_or_attach(pasted)
            case _:
                assert_never(pasted)

    def attach(self, path: Path) -> None:
        """Attach the file at this path."""
        self._begin(self._attach_named(path))

    def paste_image(self, otherwise: str) -> None:
        """Attach the image in the system clipboard, or insert the text if there is none."""
        self._begin(self._attach_clipboard(otherwise))

    def _begin(self, reading: Coroutine[None, None, None]) -> None:
        self._reading += 1
        begin(self._owner, self._until_read, reading)

    async def _until_read(self, reading: Coroutine[None, None, None]) -> None:
        try:
            await reading
        except CannotAttach as trouble:
            self._show_message(clean(trouble.message))
        finally:
            self._reading -= 1

    async def _attach_dropped(self, dropped: DroppedFiles) -> None:
        files = await anyio.to_thread.run_sync(read_dropped, dropped.paths)
        if files is None:
            self._insert_or_attach(classify_text(dropped.text))
        else:
            self._add([Attachment(file, str(path)) for file, path in zip(files, dropped.paths, strict=True)])

    async def _attach_named(self, path: Path) -> None:
        files = await anyio.to_thread.run_sync(read_named, (path,))
        self._add([Attachment(file, str(path)) for file in files])

    async def _attach_clipboard(self, otherwise: str) -> None:
        from betcode.tui.composer.clipboard import NoImage, clipboard_image

        found = await clipboard_image(len(self.all) + 1)
        if not isinstance(found, NoImage):
            self._add([Attachment(found)])
        elif otherwise:
            self._insert_or_attach(classify_text(otherwise))
        else:
            self._show_message(found.message)

    def _insert_or_attach(self, words: ShortText | LongText) -> None:
        if isinstance(words, LongText):
            self._add([pasted_text(words.text, self.all)])
        else:
            self._write(words.text)

    def _add(self, more: Sequence[Attachment]) -> None:
        together = (*self.all, *more)
        if why := too_much(tuple(one.file for one in together)):
            self._show_message(clean(why))
        else:
            self.put(together)

    def _show_message(self, sentence: str) -> None:
        self._owner.notify(sentence, severity="warning", markup=False)


def read_dropped(paths: Sequence[Path]) -> tuple[AttachedFile, ...] | None:
    """Read dropped files; None if they are not files for an agent. This may block.

    Raises:
        CannotAttach: they cannot be sent.
    """
    for path in paths:
        try:
            if not path.is_file():
                return None
            with path.open("rb") as file:
                beginning = file.read(4096)
        except OSError:
            return None
        if kind_of(beginning) not in RECOGNISED and not _begins_as_text(beginning):
            return None
    return read_named(paths)


def read_named(paths: Sequence[Path]) -> tuple[AttachedFile, ...]:
    """Read the named files. This may block.

    Raises:
        CannotAttach: one of them cannot be sent.
    """
    for path in paths:
        try:
            size = path.stat().st_size
        except OSError:
            continue  # `read_files` reports it better
        if size > _FILE_BYTES:
            most = readable(_FILE_BYTES)
            raise CannotAttach(clean(f"{path.name} is {readable(size)}: the limit for an attachment is {most}"))
    files = read_files([str(path) for path in paths])
    for file in files:
        if not file.filename.isprintable():
            raise CannotAttach(clean(f"{file.filename} has invisible characters in its name: rename it"))
        if kind_of(file.data) not in RECOGNISED and not is_text(file.data):
            raise CannotAttach(clean(f"{file.filename} is not an image, a PDF or text: agents cannot read it"))
    return files


def _begins_as_text(beginning: bytes) -> bool:
    """Whether the bytes are text; a character may be cut at their end."""
    try:
        return b"\0" not in beginning and bool(codecs.getincrementaldecoder("utf-8")().decode(beginning))
    except UnicodeDecodeError:
        return False
