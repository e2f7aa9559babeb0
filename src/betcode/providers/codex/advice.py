"""Maps errors of Codex to error codes, and to advice where a retry does not help."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import Raw

from betcode.domain.agents.agent_state import Failure, PauseKind
from betcode.domain.error_codes import ErrorCode
from betcode.providers.codex import frames

_LOGIN = "log in with `codex login`, or set the key that ~/.codex/config.toml names for its provider of models"
_GONE = Failure("Codex no longer has this conversation: start a new session (the history here stays)", False, True)
_TAKEN = Failure("another Codex has this conversation open: end it there, and send the message again", None, True)
_NO_POINT = Failure(
    "Codex no longer has the source session of this fork: start a new session (the history stays)",
    None,
    True,
)
_CONFIG = Failure("Codex rejects its configuration: correct ~/.codex/config.toml (see its output)")
_OUTDATED = Failure(
    "this version of Codex does not support what betcode needs: update it (npm install -g @openai/codex)"
)
_STILLBORN = Failure("Codex could not start: read its output, and run `codex` in the same directory", None, True)

# By the error response to the request for a thread.
_REFUSED: Sequence[tuple[re.Pattern[str], Failure]] = (
    (re.compile(r"^thread/fork: .*(?:no rollout found|not found)", re.IGNORECASE), _NO_POINT),
    (re.compile(r"no rollout found|thread not found", re.IGNORECASE), _GONE),
    (re.compile(r"already has an active writer", re.IGNORECASE), _TAKEN),
)
# By the last lines of stderr.
_LAST: Sequence[tuple[re.Pattern[str], Failure]] = (
    (re.compile(r"error loading config|failed to load config|is no longer supported; remove", re.IGNORECASE), _CONFIG),
    (re.compile(r"unknown feature|unexpected argument|unrecognized subcommand", re.IGNORECASE), _OUTDATED),
)
# By the name in `codexErrorInfo`; errors without advice are not listed.
_ADVICE = {
    "unauthorized": _LOGIN,
    "contextWindowExceeded": "compact the conversation, or start a new session",
    "sessionBudgetExceeded": "start a new session, or raise the budget in Codex's configuration",
    "usageLimitExceeded": "check the plan and the billing of the account, or wait until the limit is reset",
    "rateLimitExceeded": "wait a little and send the message again",
    "serverOverloaded": "wait a little and send the message again",
    "internalServerError": "wait a little and send the message again",
    "modelNotFound": "choose another model",
    "sandboxError": "check that bubblewrap is installed, or choose another `sandbox` in the provider's configuration",
}
_BY_STATUS = {
    401: _LOGIN,
    403: _LOGIN,
    404: "check that the model exists, and the URL of its provider in ~/.codex/config.toml",
    429: "wait a little and send the message again",
}
_LIMITED = frozenset({"usageLimitExceeded", "rateLimitExceeded"})
_TOO_MANY = 429
_OVERLOADED = frozenset({"serverOverloaded", "internalServerError"})


@dataclass(frozen=True, slots=True)
class TurnTrouble:
    """The cause of a turn's error, and advice."""

    kind: str
    status: int | None  # of HTTP
    message: str

    @property
    def code(self) -> ErrorCode:
        return ErrorCode.RATE_LIMITED if self.is_limit else ErrorCode.AGENT_ERROR

    @property
    def is_limit(self) -> bool:
        return self.kind in _LIMITED or self.status == _TOO_MANY

    @property
    def pause(self) -> PauseKind:
        if self.is_limit:
            return PauseKind.LIMIT
        return PauseKind.OVERLOAD if self.kind in _OVERLOADED else PauseKind.API

    @property
    def advice(self) -> str:
        if "Missing environment variable" in self.message:
            return "set that variable in the environment of the session, or log in with `codex login`"
        return _ADVICE.get(self.kind) or _BY_STATUS.get(self.status or 0, "")


def trouble_in(error: frames.TurnError) -> TurnTrouble:
    kind, status = _kind(error.codex_error_info)
    return TurnTrouble(kind, status, error.message or "The turn failed")


def failure_in(last_errors: Sequence[str], refused_thread: str) -> Failure | None:
    """Find a cause that a retry does not fix, in the response to the request for a thread or in stderr."""
    if refused_thread:
        found = (failure for words, failure in _REFUSED if words.search(refused_thread))
        return next(found, _STILLBORN)
    said = ((words, failure) for line in reversed(last_errors) for words, failure in _LAST if words.search(line))
    return next((failure for _, failure in said), None)


def _kind(info: Raw) -> tuple[str, int | None]:
    """Return the error's name, and its HTTP status if it has one."""
    value = frames.plain(info)
    if isinstance(value, str):
        return value, None
    if isinstance(value, dict) and value:
        word, below = next(iter(value.items()))
        status = below.get("httpStatusCode") if isinstance(below, dict) else None
        return str(word), status if isinstance(status, int) else None
    return "", None
