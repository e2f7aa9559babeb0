"""Parse arguments, run the command, and map errors to one sentence and an exit code."""

import errno
import gc
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress

from betcode.cli.core.command_exit import discard_unwritten, first_cause, run_to_exit_code
from betcode.cli.core.exit_codes import CommandFailed, ExitCode, exit_of
from betcode.cli.core.handlers import load_handler
from betcode.cli.core.parser import build_parser

# Errors in a path that the person gave: invalid input, not a failure of betcode.
_OF_PATHS = frozenset({errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.EACCES, errno.EROFS})
_SHOWN_OF_A_PATH = 200


def dispatch(arguments: Sequence[str]) -> int:
    """Run the command that the arguments name, and return its exit code."""

    def run() -> int:
        chosen = build_parser().parse_args(arguments)
        from betcode.cli.core.options import options_from

        options = options_from(chosen, os.environ)
        command = load_handler(options.handler)
        gc.enable()
        return command(options)

    gc.disable()  # modules are never garbage, and scanning them takes a tenth of the time to load them
    return guarded(run)


def guarded(run: Callable[[], int]) -> int:
    """Call `run` and return its exit code; an exception becomes one sentence on stderr and an exit code."""
    return run_to_exit_code(run, _end_with)


def _end_with(error: BaseException) -> int:
    cause = first_cause(error)
    if isinstance(cause, BrokenPipeError):
        discard_unwritten()  # the reader of stdout or stderr has closed it
        return ExitCode.BROKEN_PIPE
    if isinstance(cause, KeyboardInterrupt):
        return ExitCode.INTERRUPTED
    message, code = _verdict(cause)
    from betcode.wording.terminal_text import in_a_line

    with suppress(OSError):  # the disk of stderr may be full as well
        print(f"betcode: {in_a_line(message)}", file=sys.stderr)
        if os.environ.get("BETCODE_DEBUG"):
            import traceback

            traceback.print_exception(error)
    discard_unwritten()
    return code


def _shown(path: object) -> str:
    text = os.fsdecode(path) if isinstance(path, bytes) else str(path)
    return text if len(text) <= _SHOWN_OF_A_PATH else text[:_SHOWN_OF_A_PATH] + "…"


def _verdict(error: BaseException) -> tuple[str, ExitCode]:
    if isinstance(error, CommandFailed):
        return error.message, error.exit_code
    from betcode.client.errors import ClientError, Outdated, Unreachable

    if isinstance(error, Unreachable):
        return f"{error.message}. Start it with: betcode daemon start", ExitCode.NO_CONNECTION
    if isinstance(error, Outdated):
        return error.message, ExitCode.NO_CONNECTION
    if isinstance(error, ClientError) and error.is_unimplemented and "setting" in error.details:
        return f"This feature requires configuration. {error.message}", exit_of(error.code)
    if isinstance(error, ClientError):
        from betcode.wording.times import when_again

        return error.message + when_again(error.retry_after_s), exit_of(error.code)
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return f"No space left on device ({error.filename or 'the output'})", ExitCode.INTERNAL
    if isinstance(error, OSError) and error.errno in _OF_PATHS and error.filename:
        return f"{_shown(error.filename)} cannot be used: {error.strerror}", ExitCode.INVALID_ARGUMENTS
    hint = "" if os.environ.get("BETCODE_DEBUG") else " (BETCODE_DEBUG=1 shows where)"
    return f"internal error: {type(error).__name__}: {error}{hint}", ExitCode.INTERNAL
