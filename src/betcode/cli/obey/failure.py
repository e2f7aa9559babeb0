"""Exit codes of obey (0 success, 1 failure, 2 invalid usage) and the hints for errors."""

from collections.abc import Mapping
from enum import IntEnum

from betcode.domain.error_codes import ErrorCode


class ObeyExit(IntEnum):
    OK = 0
    FAILED = 1
    USAGE = 2


class ObeyFailed(Exception):
    """Ends a command with one sentence for the person, a hint and an exit code."""

    def __init__(self, message: str, hint: str = "", exit_code: ObeyExit = ObeyExit.FAILED) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.exit_code = exit_code


def usage_error(message: str, hint: str) -> ObeyFailed:
    """Return the error for invalid arguments."""
    return ObeyFailed(message, hint, ObeyExit.USAGE)


NO_DAEMON = "obey serve starts it"
UNKNOWN_SESSION = "OBEY-2010"
_ANY = "OBEY-2000"

_ANEW = "obey session restart ID starts it again"
_SEE_DOCTOR = "betcode doctor finds the problem"
_ALLOWANCE = "a new session (obey session create) has its own limit"

# Hints by error code.
HINTS: Mapping[str, str] = {
    _ANY: "betcode daemon logs may say more",
    "OBEY-2001": "obey campaigns lists the registered ones",
    "OBEY-2002": "obey session create --help lists the providers",
    "OBEY-2003": "without --model, the provider's default is used",
    "OBEY-2004": _SEE_DOCTOR,
    "OBEY-2005": "obey campaigns shows where it should be",
    UNKNOWN_SESSION: "obey session list --all shows every session",
    "OBEY-2011": "obey session info ID shows its state",
    "OBEY-2012": "obey session info ID shows its state; the message can be sent again",
    "OBEY-2013": _ALLOWANCE,
    "OBEY-2014": _ALLOWANCE,
    "OBEY-2020": _ANEW,
    "OBEY-2021": "it was killed and is stopped",
    "OBEY-2030": _SEE_DOCTOR,
    "OBEY-2031": _ANEW,
    "OBEY-2032": _ANEW,
    ErrorCode.PERMISSION_NOT_FOUND: "betcode permission list shows the pending prompts and their ids",
    ErrorCode.ANSWER_REFUSED: "answer it yourself, in a shell that no agent started",
}


def hint_for(code: str, engine_code: str) -> str:
    """Return the hint for an error of the daemon; empty for an error whose sentence already says everything."""
    has_number = code != _ANY or engine_code in ("", ErrorCode.INTERNAL)
    return HINTS.get(code if has_number else engine_code, "")
