"""Output of a command: the answer to stdout, everything else to stderr, escaped on terminals."""

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
    """Writes to stdout and stderr, in order if both are the same terminal."""

    start_hint = "/new starts another"  # how a person starts another session

    def __init__(self, out: TextIO, err: TextIO, *, colour: bool, rewrites: bool = False) -> None:
        self._out = out
        self._err = err
        self._out_is_terminal = out.isatty()
        self._err_is_terminal = err.isatty()
        self._dim = colour and self._err_is_terminal
        self.deprecations = DeprecationNotes()
        self._in_a_line = False  # the last line of the answer is incomplete
        self._rewrites = rewrites and self._err_is_terminal
        self._passing = False  # the next line replaces the line on the terminal
        self._is_asking = False  # the terminal shows a question or ^C, and its line has not ended

    @property
    def width(self) -> int:
        """The width of the terminal in columns; a large number without a terminal."""
        if not self._out_is_terminal:
            return 200
        try:
            return max(os.get_terminal_size(self._out.fileno()).columns, 40)
        except OSError:
            return 80

    @property
    def is_terminal(self) -> bool:
        """Whether stdout is a terminal."""
        return self._out_is_terminal

    def answer(self, text: str) -> None:
        """Write the agent's text: unchanged into a pipe, escaped on a terminal."""
        if not text:
            return
        self._end_question()
        self._out.write(clean(text) if self._out_is_terminal else text)
        self._out.flush()
        self._in_a_line = not text.endswith("\n")

    def end_answer(self) -> None:
        """End the last line of the answer."""
        if self._in_a_line:
            self._out.write("\n")
            self._out.flush()
            self._in_a_line = False

    def line(self, text: str = "") -> None:
        """Write a line of the result."""
        self._end_question()
        self.end_answer()
        self._out.write(clean(text) + "\n")
        self._out.flush()

    def json(self, value: Mapping[str, object], *, indent: int | None = None) -> None:
        """Write one JSON value: compact on one line, unless an indent is given."""
        self._end_question()
        self._out.write(safe_json(json.dumps(value, ensure_ascii=False, indent=indent)) + "\n")
        self._out.flush()

    @contextmanager
    def set_aside(self) -> Iterator[None]:
        """Hold output back while another program uses the terminal, then write it in order."""
        out, err = self._out, self._err
        recorded: list[tuple[TextIO, str]] = []
        self._out, self._err = _RecordingStream(out, recorded), _RecordingStream(err, recorded)
        try:
            yield
        finally:
            self._out, self._err = out, err
            for stream, text in recorded:
                stream.write(text)
                stream.flush()

    def note(self, text: str) -> None:
        """Write a line to stderr: progress, tool calls, warnings."""
        self._write_stderr(text, dim=self._dim)

    def show(self, text: str) -> None:
        """Write a line to stderr that a person decides about; it is never dim."""
        self._write_stderr(text, dim=False)

    def show_transient(self, text: str) -> None:
        """Write a line to stderr that the next line replaces; only on a terminal."""
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

    def clear_transient(self) -> None:
        """Remove a line of `show_transient` that nothing has replaced."""
        self._end_question()

    def _write_stderr(self, text: str, *, dim: bool) -> None:
        self._break_line()
        safe = clean(text)
        self._err.write(f"\x1b[2m{safe}\x1b[0m\n" if dim else f"{safe}\n")
        self._err.flush()

    def ask(self, text: str) -> None:
        """Ask a question whose answer is typed on the same line."""
        self._break_line()
        self._err.write(clean(text))
        self._err.flush()
        self._is_asking = self._err_is_terminal

    @property
    def is_asking(self) -> bool:
        """Whether a question is the last text on the terminal."""
        return self._is_asking

    @property
    def is_free(self) -> bool:
        """Whether a line of `show_transient` may be shown: there is no question and no incomplete answer."""
        return not (self._is_asking or (self._out_is_terminal and self._in_a_line))

    def typed(self) -> None:
        """Note that the person has ended the line of the question."""
        self._is_asking = False

    def interrupted(self) -> None:
        """Note that the terminal has printed ^C."""
        self._is_asking = self._err_is_terminal and not self._in_a_line

    def _break_line(self) -> None:
        self._end_question()
        if self._out_is_terminal:
            self.end_answer()

    def _end_question(self) -> None:
        """End the line of a question, and remove a line of `show_transient`, before other output."""
        if self._passing:
            self._err.write("\r\x1b[K")
            self._err.flush()
            self._passing = False
        if self._is_asking:
            self._err.write("\n")
            self._err.flush()
            self._is_asking = False


class _RecordingStream(StringIO):
    """Records writes to a stream."""

    def __init__(self, stream: TextIO, recorded: list[tuple[TextIO, str]]) -> None:
        super().__init__()
        self._stream = stream
        self._recorded = recorded

    def write(self, text: str) -> int:
        self._recorded.append((self._stream, text))
        return len(text)


def standard_screen(*, colour: bool = True) -> Screen:
    """Return a screen for the process's stdout and stderr. Characters that they cannot encode are escaped."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    rewrites = os.environ.get("TERM") != "dumb"
    colour = colour and rewrites and not os.environ.get("NO_COLOR")
    return Screen(sys.stdout, sys.stderr, colour=colour, rewrites=rewrites)
