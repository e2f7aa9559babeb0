"""Patches as text: escaped for terminals, coloured, and counted."""

import codecs
from collections.abc import Iterator
from dataclasses import dataclass

from betcode.wording.terminal_text import clean, columns, ending, padded

_LINE_LIMIT = 1 << 20  # a longer line is shown in parts
_NAME_WIDTH = 60
_BAR_WIDTH = 30
_RED, _GREEN, _CYAN, _BOLD, _PLAIN = "\x1b[31m", "\x1b[32m", "\x1b[36m", "\x1b[1m", "\x1b[0m"


class PatchPainter:
    """Converts the bytes of a patch to lines for a terminal; control characters are escaped."""

    def __init__(self, *, colour: bool) -> None:
        self._colour = colour
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._rest = ""
        self._in_hunk = False

    def feed(self, data: bytes, *, final: bool = False) -> str:
        """Return the text that can be shown by now."""
        text = self._rest + self._decoder.decode(data, final)
        lines = text.split("\n")
        self._rest = lines.pop()
        if len(self._rest) > _LINE_LIMIT:
            lines.append(self._rest)
            self._rest = ""
        if final and self._rest:
            lines.append(self._rest)
        return "".join(self._painted(line) + "\n" for line in lines)

    def _painted(self, line: str) -> str:
        if line.startswith("diff --git "):
            self._in_hunk = False
        elif line.startswith("@@ "):
            self._in_hunk = True
        safe = clean(line)
        style = self._style(line) if self._colour else ""
        return f"{style}{safe}{_PLAIN}" if style else safe

    def _style(self, line: str) -> str:
        if line.startswith("@@ "):
            return _CYAN
        if not self._in_hunk:
            return _BOLD
        return {"+": _GREEN, "-": _RED}.get(line[:1], "")


@dataclass(frozen=True, slots=True)
class ChangedFile:
    path: str
    from_path: str = ""  # the old path of a renamed file
    added: int = 0
    removed: int = 0
    is_binary: bool = False

    @property
    def shown(self) -> str:
        return f"{self.from_path} => {self.path}" if self.from_path else self.path


def changed_files(counts: bytes) -> Iterator[ChangedFile]:
    """Yield the files from the output of `git diff --numstat -z`."""
    parts = iter(counts.decode(errors="replace").split("\0"))
    for part in parts:
        if not part:
            continue
        added, removed, path = part.split("\t", 2)
        from_path = ""
        if not path:
            from_path, path = next(parts), next(parts)
        if added == "-":
            yield ChangedFile(path, from_path, is_binary=True)
        else:
            yield ChangedFile(path, from_path, int(added), int(removed))


def stat_lines(files: list[ChangedFile], *, colour: bool) -> list[str]:
    """Return one line per file, and their sum."""
    if not files:
        return []
    names = [ending(clean(each.shown).replace("\n", "␊"), _NAME_WIDTH) for each in files]
    width = max(map(columns, names))
    most = max(each.added + each.removed for each in files)
    lines = [
        f" {padded(name, width)} | {_counted(each, most, colour=colour)}"
        for name, each in zip(names, files, strict=True)
    ]
    added, removed = sum(each.added for each in files), sum(each.removed for each in files)
    noun = "file" if len(files) == 1 else "files"
    what = "line" if added == 1 else "lines"
    return [*lines, f" {len(files)} {noun} changed, {added} {what} added, {removed} removed"]


def _counted(file: ChangedFile, most: int, *, colour: bool) -> str:
    if file.is_binary:
        return "binary"
    number = file.added + file.removed
    scale = min(_BAR_WIDTH / most, 1) if most else 0
    plus, minus = (max(round(count * scale), 1) if count else 0 for count in (file.added, file.removed))
    bars = f"{_GREEN}{'+' * plus}{_RED}{'-' * minus}{_PLAIN}" if colour else "+" * plus + "-" * minus
    return f"{number:>5} {bars}".rstrip()
