"""Where a command writes: the answer to stdout, everything else to stderr, and nothing unsafe to a terminal."""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import StringIO
from typing import TextIO

from betcode.wording.deprecation_notes import DeprecationNotes
from betcode.wording.terminal_text import clean, one_line, safe_json


class Screen:
    """Keeps the two streams in order where both are the same terminal."""

    begins_another = "/new begins another"  # how a person gets another session there

    def __init__(self, out: TextIO, err: TextIO, *, colour: bool, rewrites: bool = False) -> None:
        self._out = out
        self._err = err
        self._out_is_terminal = out.isatty()
        self._err_is_terminal = err.isatty()
        self._dim = colour and self._err_is_terminal
        self.deprecations = DeprecationNotes()
        self._in_a_line = False  # the answer's last line has not ended
        self._rewrites = rewrites and self._err_is_terminal
        self._passing = False  # the line on the terminal gives way to the next
        self._asked = False  # a question or ^C stands on the terminal, and nobody has ended its line yet

    @property
    def width(self) -> int:
        """Columns of the terminal; wide enough for anything where there is none."""
        if not self._out_is_terminal:
            return 200
        try:
            return max(os.get_terminal_size(self._out.fileno()).columns, 40)
        except OSError:
            return 80

    @property
    def is_terminal(self) -> bool:
        """Whether a person sees what is on stdout."""
        return self._out_is_terminal

    def answer(self, text: str) -> None:
        """The agent's own words: as they are into a pipe, made safe on a terminal."""
        if not text:
            return
        self._leave_question()
        self._out.write(clean(text) if self._out_is_terminal else text)
        self._out.flush()
        self._in_a_line = not text.endswith("\n")

    def end_answer(self) -> None:
        """An answer ends with its line."""
        if self._in_a_line:
            self._out.write("\n")
            self._out.flush()
            self._in_a_line = False

    def line(self, text: str = "") -> None:
        """A line of the result."""
        self._leave_question()
        self.end_answer()
        self._out.write(clean(text) + "\n")
        self._out.flush()

    def json(self, value: Mapping[str, object], *, indent: int | None = None) -> None:
        """One JSON value; compact on a line of its own unless an indent is given."""
        self._leave_question()
        self._out.write(safe_json(json.dumps(value, ensure_ascii=False, indent=indent)) + "\n")
        self._out.flush()

    @contextmanager
    def set_aside(self) -> Iterator[None]:
        """While another program has the terminal: what is written is kept, and comes in order afterwards."""
        out, err = self._out, self._err
        kept: list[tuple[TextIO, str]] = []
        self._out, self._err = _RecordingStream(out, kept), _RecordingStream(err, kept)
        try:
            yield
        finally:
            self._out, self._err = out, err
            for stream, text in kept:
                stream.write(text)
                stream.flush()

    def note(self, text: str) -> None:
        """A line beside the result: progress, tool calls, warnings."""
        self._beside(text, dim=self._dim)

    def show(self, text: str) -> None:
        """A line beside the result that a person decides about: never dim."""
        self._beside(text, dim=False)

    def passing(self, text: str) -> None:
        """A line beside the result that the next one takes the place of; only a terminal shows it."""
        if self._rewrites:
            self._break_line()
            try:
                width = os.get_terminal_size(self._err.fileno()).columns
            except OSError:
                width = 80
            indent = text[: len(text) - len(text.lstrip(" "))]
            self._err.write(indent + one_line(text, max(width, 40) - 1 - len(indent)))
            self._err.flush()
            self._passing = True

    def passed(self) -> None:
        """Nothing takes the place of a passing line."""
        self._leave_question()

    def _beside(self, text: str, *, dim: bool) -> None:
        self._break_line()
        safe = clean(text)
        self._err.write(f"\x1b[2m{safe}\x1b[0m\n" if dim else f"{safe}\n")
        self._err.flush()

    def ask(self, text: str) -> None:
        """A question that is answered on the same line."""
        self._break_line()
        self._err.write(clean(text))
        self._err.flush()
        self._asked = self._err_is_terminal

    @property
    def is_asking(self) -> bool:
        """Whether the last thing on the terminal is a question."""
        return self._asked

    @property
    def is_free(self) -> bool:
        """Whether a passing line would disturb nothing: no question, and no answer in the middle of a line."""
        return not (self._asked or (self._out_is_terminal and self._in_a_line))

    def typed(self) -> None:
        """The person has ended the question's line."""
        self._asked = False

    def interrupted(self) -> None:
        """The terminal has shown ^C, wherever the cursor was."""
        self._asked = self._err_is_terminal and not self._in_a_line

    def _break_line(self) -> None:
        self._leave_question()
        if self._out_is_terminal:
            self.end_answer()

    def _leave_question(self) -> None:
        """What comes now was not typed: it does not stand behind a question, nor behind what was only passing."""
        if self._passing:
            self._err.write("\r\x1b[K")
            self._err.flush()
            self._passing = False
        if self._asked:
            self._err.write("\n")
            self._err.flush()
            self._asked = False


class _RecordingStream(StringIO):
    """Takes what is meant for a stream."""

    def __init__(self, stream: TextIO, kept: list[tuple[TextIO, str]]) -> None:
        super().__init__()
        self._stream = stream
        self._kept = kept

    def write(self, text: str) -> int:
        self._kept.append((self._stream, text))
        return len(text)


def standard_screen(*, colour: bool = True) -> Screen:
    """The process's own stdout and stderr. A character that they cannot show becomes an escape, not an exception."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    rewrites = os.environ.get("TERM") != "dumb"
    colour = colour and rewrites and not os.environ.get("NO_COLOR")
    return Screen(sys.stdout, sys.stderr, colour=colour, rewrites=rewrites)
