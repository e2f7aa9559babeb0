"""The output of a setup as lines without control characters."""

import codecs

from betcode.domain.values.text import without_escapes

_LONGEST = 16 * 1024


class OutputLines:
    """Splits bytes into lines; of text that a program overwrote, only the last version remains."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._unfinished = ""

    def feed(self, data: bytes) -> list[str]:
        """Return the lines that are complete now."""
        *lines, self._unfinished = (self._unfinished + self._decoder.decode(data)).split("\n")
        if len(self._unfinished) > _LONGEST:
            lines.append(self._unfinished)
            self._unfinished = ""
        return [_plain(line) for line in lines]

    def rest(self) -> str:
        """Return the incomplete last line, and reset it."""
        line, self._unfinished = self.incomplete, ""
        return line

    @property
    def incomplete(self) -> str:
        """Return the incomplete last line."""
        return _plain(self._unfinished)


def _plain(line: str) -> str:
    bare = without_escapes(line).rstrip("\r")
    return bare.rpartition("\r")[2]
