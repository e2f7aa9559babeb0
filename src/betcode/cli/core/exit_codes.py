"""The exit codes of commands, and the exit code of each error."""

from collections.abc import Mapping
from enum import IntEnum
from typing import Self

from betcode.domain.error_codes import ErrorCode


class ExitCode(IntEnum):
    meaning: str

    def __new__(cls, number: int, meaning: str = "") -> Self:
        member = int.__new__(cls, number)
        member._value_ = number
        member.meaning = meaning
        return member

    OK = (0, "success")
    AGENT_ERROR = (
        1,
        (
            "the agent failed, or the turn was cancelled or stopped by someone else; the audit is broken "
            "(`audit verify`) or the database is (`db check`); `doctor` found a problem; git or the setup "
            "of a worktree failed"
        ),
    )
    NO_CONNECTION = (2, "no connection to the daemon, or it does not serve this client")
    PERMISSION_DENIED = (3, "permission denied, or a budget was not raised")
    RATE_LIMITED = (4, "rate limited, over budget, or no free slot or memory")
    INVALID_ARGUMENTS = (5, "invalid arguments or settings")
    SESSION_NOT_FOUND = (6, "session not found")
    INTERNAL = (7, "internal error")
    # The same as timeout(1).
    TIMED_OUT = (124, "the turn did not end within `run --timeout` and was stopped")
    # The same as a shell reports for a program that a signal ended.
    INTERRUPTED = (
        130,
        "Ctrl-C: the turn was stopped, or left running after a second Ctrl-C; the last line says which",
    )
    BROKEN_PIPE = (141, "the reader of the output has exited")


EXIT_OF: Mapping[ErrorCode, ExitCode] = {
    ErrorCode.INVALID_REQUEST: ExitCode.INVALID_ARGUMENTS,
    ErrorCode.SESSION_NOT_FOUND: ExitCode.SESSION_NOT_FOUND,
    ErrorCode.SESSION_CLOSED: ExitCode.INVALID_ARGUMENTS,
    ErrorCode.SESSION_ACTIVE: ExitCode.INVALID_ARGUMENTS,
    ErrorCode.SESSION_NOT_READY: ExitCode.INVALID_ARGUMENTS,
    ErrorCode.SESSION_TIMEOUT: ExitCode.INVALID_ARGUMENTS,
    ErrorCode.SESSION_FAILED: ExitCode.INTERNAL,
    ErrorCode.COMPACTION_FAILED: ExitCode.AGENT_ERROR,
    ErrorCode.SEQUENCE_OUT_OF_RANGE: ExitCode.INVALID_ARGUMENTS,
    ErrorCode.PERMISSION_NOT_FOUND: ExitCode.INVALID_ARGUMENTS,
    ErrorCode.PERMISSION_STALE: ExitCode.INVALID_ARGUMENTS,
    ErrorCode.PERMISSION_TIMEOUT: ExitCode.PERMISSION_DENIED,
    ErrorCode.ANSWER_REFUSED: ExitCode.PERMISSION_DENIED,
    ErrorCode.NO_INPUT_LOCK: ExitCode.PERMISSION_DENIED,
    ErrorCode.MESSAGE_NOT_FOUND: ExitCode.INVALID_ARGUMENTS,
    ErrorCode.BLOB_NOT_FOUND: ExitCode.INVALID_ARGUMENTS,
    ErrorCode.FORK_REFUSED: ExitCode.INVALID_ARGUMENTS,
    ErrorCode.REPOSITORY_NOT_FOUND: ExitCode.INVALID_ARGUMENTS,
    ErrorCode.BRANCH_NOT_FOUND: ExitCode.INVALID_ARGUMENTS,
    ErrorCode.WORKTREE_NOT_FOUND: ExitCode.INVALID_ARGUMENTS,
    ErrorCode.WORKTREE_EXISTS: ExitCode.INVALID_ARGUMENTS,
    ErrorCode.WORKTREE_UNUSABLE: ExitCode.INVALID_ARGUMENTS,
    ErrorCode.WORKTREE_HAS_CHANGES: ExitCode.INVALID_ARGUMENTS,
    ErrorCode.WORKTREE_SETUP_FAILED: ExitCode.AGENT_ERROR,
    ErrorCode.GIT_FAILED: ExitCode.AGENT_ERROR,
    ErrorCode.CAMPAIGN_NOT_FOUND: ExitCode.INVALID_ARGUMENTS,
    ErrorCode.CAMPAIGN_UNUSABLE: ExitCode.INVALID_ARGUMENTS,
    ErrorCode.COMMAND_REFUSED: ExitCode.PERMISSION_DENIED,
    ErrorCode.CONFLICT: ExitCode.INVALID_ARGUMENTS,
    ErrorCode.BUDGET_EXCEEDED: ExitCode.RATE_LIMITED,
    ErrorCode.POOL_EXHAUSTED: ExitCode.RATE_LIMITED,
    ErrorCode.AGENT_UNAVAILABLE: ExitCode.AGENT_ERROR,
    ErrorCode.SUBPROCESS_CRASHED: ExitCode.AGENT_ERROR,
    ErrorCode.AGENT_ERROR: ExitCode.AGENT_ERROR,
    ErrorCode.RATE_LIMITED: ExitCode.RATE_LIMITED,
    ErrorCode.UNAUTHENTICATED: ExitCode.PERMISSION_DENIED,
    ErrorCode.STORAGE_DEGRADED: ExitCode.INTERNAL,
    ErrorCode.SQLITE_ERROR: ExitCode.INTERNAL,
    ErrorCode.FEATURE_NOT_AVAILABLE: ExitCode.INVALID_ARGUMENTS,
    ErrorCode.DAEMON_STOPPING: ExitCode.NO_CONNECTION,
    ErrorCode.INTERNAL: ExitCode.INTERNAL,
}


class CommandFailed(Exception):
    """Ends a command with one sentence for the person and an exit code."""

    def __init__(self, message: str, exit_code: ExitCode) -> None:
        super().__init__(message)
        self.message = message
        self.exit_code = exit_code


def exit_of(code: str, otherwise: ExitCode = ExitCode.INTERNAL) -> ExitCode:
    """Return the exit code of an error code; `otherwise` for an unknown code of a later daemon."""
    try:
        return EXIT_OF[ErrorCode(code)]
    except ValueError:
        return otherwise
