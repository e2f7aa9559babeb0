"""Read the prompt of `betcode run` from its argument, a file, stdin, or several of them in this order."""

import os
import select
import stat
import sys
from collections.abc import Callable
from pathlib import Path

from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.cli.core.options import CommandOptions

_STDIN = "-"
_AT_MOST_BYTES = 48 * 1024 * 1024  # the daemon's limit for one call
# Programs that start others with a pipe on stdin and neither write to it nor close it do not send a prompt.
_FIRST_BYTE_S = 3.0


def prompt_of(options: CommandOptions, note: Callable[[str], None]) -> str:
    """Return the argument, the file and stdin, joined with blank lines.

    Raises:
        CommandFailed: there is no prompt, it is not text, or it is too long.
    """
    prompt, file = options.text("prompt"), options.text("file")
    if prompt == _STDIN and file == _STDIN:
        raise CommandFailed("stdin can be read once: - as PROMPT or as --file", ExitCode.INVALID_ARGUMENTS)
    has_prompt_text = options.has("prompt") and prompt != _STDIN
    names_stdin = _STDIN in (prompt, file)
    parts = [prompt] if has_prompt_text else []
    if file and file != _STDIN:
        parts.append(_from_file(Path(file).expanduser()))
    if names_stdin or not (has_prompt_text or file) or _has_more(note):
        parts.append(_from_stdin())
    text = "\n\n".join(part for part in parts if part.strip())
    if not text:
        raise CommandFailed('The prompt is empty: betcode run "PROMPT"', ExitCode.INVALID_ARGUMENTS)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise CommandFailed("The prompt is not valid UTF-8", ExitCode.INVALID_ARGUMENTS) from error
    return text


def _from_file(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return _text(file.read(_AT_MOST_BYTES + 1), str(path))
    except OSError as trouble:
        raise CommandFailed(f"{path} cannot be read: {trouble.strerror}", ExitCode.INVALID_ARGUMENTS) from trouble


def _has_more(note: Callable[[str], None]) -> bool:
    try:
        return sys.stdin is not None and has_prompt(0, _FIRST_BYTE_S)
    except StdinSilent:
        note(f"Nothing came on stdin within {_FIRST_BYTE_S:g} s: continuing without it (--file - waits for it)")
        return False


def _from_stdin() -> str:
    if sys.stdin is None or sys.stdin.isatty():
        raise CommandFailed('Give a prompt: betcode run "PROMPT"', ExitCode.INVALID_ARGUMENTS)
    try:
        data = sys.stdin.buffer.read(_AT_MOST_BYTES + 1)
    except OSError as trouble:  # it is open for writing only, or its terminal is gone
        raise CommandFailed(f"stdin cannot be read: {trouble.strerror}", ExitCode.INVALID_ARGUMENTS) from trouble
    return _text(data, "stdin")


def _text(data: bytes, source: str) -> str:
    if len(data) > _AT_MOST_BYTES:
        raise CommandFailed(
            f"{source} is longer than {_AT_MOST_BYTES >> 20} MiB: use --attach FILE or a shorter prompt",
            ExitCode.INVALID_ARGUMENTS,
        )
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise CommandFailed(
            f"{source} is not valid UTF-8: send it with --attach FILE", ExitCode.INVALID_ARGUMENTS
        ) from error
    return text.rstrip("\r\n")  # the final line break of a file is not part of the prompt


class StdinSilent(Exception):
    """stdin is an open pipe to which nobody writes."""


def has_prompt(descriptor: int, within_s: float) -> bool:
    """Whether stdin is redirected and has a prompt.

    Raises:
        StdinSilent: it is a pipe, and nothing arrived in time.
    """
    try:
        kind = os.fstat(descriptor).st_mode
    except OSError:
        return False  # closed
    if not stat.S_ISFIFO(kind):
        return stat.S_ISREG(kind)  # otherwise it is a terminal, /dev/null or a socket
    if not select.select([descriptor], [], [], within_s)[0]:
        raise StdinSilent
    return True
