"""What a setup writes, as lines that are safe to show and readable without its colours."""

import codecs

from betcode.domain.values.text import without_escapes

_LONGEST = 16 * 1024


class OutputLines:
    """Bytes in, whole lines out; of what a program wrote over itself only the last is left."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._unfinished = ""

    def feed(self, data: bytes) -> list[str]:
        """The lines that are complete now."""
        *lines, self._unfinished = (self._unfinished + self._decoder.decode(data)).split("\n")
        if len(self._unfinished) > _LONGEST:
            lines.append(self._unfinished)
            self._unfinished = ""
        return [_plain(line) for line in lines]

    def rest(self) -> str:
        """The line that was begun, and is begun no more."""
        line, self._unfinished = self.begun, ""
        return line

    @property
    def begun(self) -> str:
        """What stands on the last line so far."""
        return _plain(self._unfinished)


def _plain(line: str) -> str:
    bare = without_escapes(line).rstrip("\r")
    return bare.rpartition("\r")[2]
