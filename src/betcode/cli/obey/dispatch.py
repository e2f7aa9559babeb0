"""Parse arguments, run the command, and map errors to a sentence, a hint and an exit code."""

import gc
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress

from betcode.cli.core.command_exit import discard_unwritten, first_cause, run_to_exit_code
from betcode.cli.core.handlers import load_handler
from betcode.cli.obey.failure import NO_DAEMON, ObeyFailed, hint_for, usage_error
from betcode.cli.obey.parser import build_parser


def dispatch(arguments: Sequence[str]) -> int:
    """Run the command that the arguments name; return its exit code, or a negative signal number."""

    def run() -> int:
        chosen = build_parser().parse_args(arguments)
        _refuse_bytes(arguments)
        from betcode.cli.obey.options import options_from

        options = options_from(chosen, os.environ)
        command = load_handler(options.handler, package="betcode.cli.obey")
        gc.enable()
        return command(options)

    gc.disable()  # modules are never garbage, and scanning them takes a tenth of the time to load them
    return guarded(run)


def _refuse_bytes(arguments: Sequence[str]) -> None:
    """Refuse arguments that are not valid text, since requests carry only text.

    Raises:
        ObeyFailed: an argument is not valid UTF-8.
    """
    for word in arguments:
        try:
            word.encode()
        except UnicodeEncodeError:
            raise usage_error(f"{word!r} is not valid UTF-8", "check the shell's encoding (LANG)") from None


def guarded(run: Callable[[], int]) -> int:
    """Call `run` and return its exit code; an exception becomes a sentence and a hint on stderr."""
    return run_to_exit_code(run, _end_with)


def _end_with(error: BaseException) -> int:
    cause = first_cause(error)
    if isinstance(cause, BrokenPipeError):
        discard_unwritten()  # the reader of stdout or stderr has closed it
        return -signal.SIGPIPE
    if isinstance(cause, KeyboardInterrupt):
        return -signal.SIGINT
    failed = _failed(cause)
    with suppress(OSError):  # the disk of stderr may be full as well
        print_failure(failed.message, failed.hint)
        if os.environ.get("BETCODE_DEBUG"):
            import traceback

            traceback.print_exception(error)
    discard_unwritten()
    return failed.exit_code


def print_failure(message: str, hint: str) -> None:
    """Print one sentence on stderr and, if there is one, a hint."""
    from betcode.wording.terminal_text import in_a_line

    print(f"obey: {in_a_line(message)}", file=sys.stderr)
    if hint:
        print(f"Hint: {in_a_line(hint)}", file=sys.stderr)


def _failed(error: BaseException) -> ObeyFailed:
    if isinstance(error, ObeyFailed):
        return error
    from betcode.cli.core.exit_codes import CommandFailed, ExitCode
    from betcode.client.errors import ClientError, Unreachable

    if isinstance(error, Unreachable):
        return ObeyFailed(error.message, NO_DAEMON)
    if isinstance(error, ClientError):
        return ObeyFailed(error.message, hint_for(error.code, error.details.get("betcode_code", "")))
    if isinstance(error, CommandFailed):  # from functions shared with betcode, such as starting a daemon
        return ObeyFailed(error.message, NO_DAEMON if error.exit_code is ExitCode.NO_CONNECTION else "")
    if isinstance(error, OSError) and error.filename:
        return ObeyFailed(f"{error.filename} cannot be used: {error.strerror}")
    if isinstance(error, OSError):
        return ObeyFailed(f"{error.strerror or error}")
    hint = "" if os.environ.get("BETCODE_DEBUG") else "BETCODE_DEBUG=1 shows where"
    return ObeyFailed(f"internal error: {type(error).__name__}: {error}", hint)
