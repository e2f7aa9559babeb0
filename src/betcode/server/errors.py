"""Convert errors to gRPC statuses and to error events, from one table of codes."""

from collections.abc import Mapping
from dataclasses import dataclass

import grpc

from betcode.domain.error_codes import ErrorCode
from betcode.domain.errors import BetcodeError
from betcode.util.wall_clock import now_ns
from betcode.v1 import agent_pb2 as v1

DOMAIN = "betcode"  # of google.rpc.ErrorInfo
_MESSAGE_LIMIT = 1000  # characters: a status travels in HTTP/2 headers, which a client takes up to 8 KB of
_DETAIL_LIMIT = 200
_DETAIL_LIMITS = {"output": 1000}  # of those that are read by people

STATUS: Mapping[ErrorCode, grpc.StatusCode] = {
    ErrorCode.INVALID_REQUEST: grpc.StatusCode.INVALID_ARGUMENT,
    ErrorCode.SESSION_NOT_FOUND: grpc.StatusCode.NOT_FOUND,
    ErrorCode.SESSION_CLOSED: grpc.StatusCode.FAILED_PRECONDITION,
    ErrorCode.SESSION_ACTIVE: grpc.StatusCode.FAILED_PRECONDITION,
    ErrorCode.SESSION_NOT_READY: grpc.StatusCode.FAILED_PRECONDITION,
    ErrorCode.SESSION_TIMEOUT: grpc.StatusCode.DEADLINE_EXCEEDED,
    ErrorCode.SESSION_FAILED: grpc.StatusCode.INTERNAL,
    ErrorCode.COMPACTION_FAILED: grpc.StatusCode.INTERNAL,
    ErrorCode.SEQUENCE_OUT_OF_RANGE: grpc.StatusCode.OUT_OF_RANGE,
    ErrorCode.PERMISSION_NOT_FOUND: grpc.StatusCode.NOT_FOUND,
    ErrorCode.PERMISSION_STALE: grpc.StatusCode.FAILED_PRECONDITION,
    ErrorCode.PERMISSION_TIMEOUT: grpc.StatusCode.DEADLINE_EXCEEDED,
    ErrorCode.ANSWER_REFUSED: grpc.StatusCode.PERMISSION_DENIED,
    ErrorCode.NO_INPUT_LOCK: grpc.StatusCode.PERMISSION_DENIED,
    ErrorCode.MESSAGE_NOT_FOUND: grpc.StatusCode.NOT_FOUND,
    ErrorCode.BLOB_NOT_FOUND: grpc.StatusCode.NOT_FOUND,
    ErrorCode.FORK_REFUSED: grpc.StatusCode.FAILED_PRECONDITION,
    ErrorCode.REPOSITORY_NOT_FOUND: grpc.StatusCode.NOT_FOUND,
    ErrorCode.BRANCH_NOT_FOUND: grpc.StatusCode.NOT_FOUND,
    ErrorCode.WORKTREE_NOT_FOUND: grpc.StatusCode.NOT_FOUND,
    ErrorCode.WORKTREE_EXISTS: grpc.StatusCode.ALREADY_EXISTS,
    ErrorCode.WORKTREE_UNUSABLE: grpc.StatusCode.FAILED_PRECONDITION,
    ErrorCode.WORKTREE_HAS_CHANGES: grpc.StatusCode.FAILED_PRECONDITION,
    ErrorCode.WORKTREE_SETUP_FAILED: grpc.StatusCode.FAILED_PRECONDITION,
    ErrorCode.GIT_FAILED: grpc.StatusCode.FAILED_PRECONDITION,
    ErrorCode.CAMPAIGN_NOT_FOUND: grpc.StatusCode.NOT_FOUND,
    ErrorCode.CAMPAIGN_UNUSABLE: grpc.StatusCode.FAILED_PRECONDITION,
    ErrorCode.COMMAND_REFUSED: grpc.StatusCode.PERMISSION_DENIED,
    ErrorCode.CONFLICT: grpc.StatusCode.ABORTED,
    ErrorCode.BUDGET_EXCEEDED: grpc.StatusCode.RESOURCE_EXHAUSTED,
    ErrorCode.POOL_EXHAUSTED: grpc.StatusCode.RESOURCE_EXHAUSTED,
    ErrorCode.AGENT_UNAVAILABLE: grpc.StatusCode.FAILED_PRECONDITION,
    ErrorCode.SUBPROCESS_CRASHED: grpc.StatusCode.INTERNAL,
    ErrorCode.AGENT_ERROR: grpc.StatusCode.INTERNAL,
    ErrorCode.RATE_LIMITED: grpc.StatusCode.RESOURCE_EXHAUSTED,
    ErrorCode.UNAUTHENTICATED: grpc.StatusCode.UNAUTHENTICATED,
    ErrorCode.STORAGE_DEGRADED: grpc.StatusCode.RESOURCE_EXHAUSTED,
    ErrorCode.SQLITE_ERROR: grpc.StatusCode.INTERNAL,
    ErrorCode.FEATURE_NOT_AVAILABLE: grpc.StatusCode.UNIMPLEMENTED,
    ErrorCode.DAEMON_STOPPING: grpc.StatusCode.UNAVAILABLE,
    ErrorCode.INTERNAL: grpc.StatusCode.INTERNAL,
}

_RATE_TRAILERS = (
    ("retry-after-ms", "retry_after_ms"),
    ("rate-limit-limit", "limit"),
    ("rate-limit-remaining", "remaining"),
    ("rate-limit-reset", "reset"),
)

# The condition that would make the call succeed: every code with FAILED_PRECONDITION has one.
REQUIRED_STATE: Mapping[ErrorCode, str] = {
    ErrorCode.SESSION_CLOSED: "open",
    ErrorCode.SESSION_ACTIVE: "idle",
    ErrorCode.SESSION_NOT_READY: "ready",
    ErrorCode.FORK_REFUSED: "a turn that ended and can be forked",
    ErrorCode.PERMISSION_STALE: "unanswered",
    ErrorCode.WORKTREE_UNUSABLE: "existing, unlocked and not in use",
    ErrorCode.WORKTREE_HAS_CHANGES: "no unsaved work",
    ErrorCode.WORKTREE_SETUP_FAILED: "setup succeeded",
    ErrorCode.GIT_FAILED: "a repository that git can work in",
    ErrorCode.CAMPAIGN_UNUSABLE: "a registry and a directory that agree",
    ErrorCode.AGENT_UNAVAILABLE: "agent installed",
}


class InternalFault(BetcodeError):
    """Something here is wrong; the log has it, the client gets no traceback."""

    code = ErrorCode.INTERNAL

    def __init__(self) -> None:
        super().__init__("Internal error in the daemon: see its log")


@dataclass(frozen=True)
class _Status(grpc.Status):
    code: grpc.StatusCode
    details: str
    trailing_metadata: tuple[tuple[str, str | bytes], ...]


def status_of(error: BetcodeError) -> grpc.Status:
    """The gRPC status, with a google.rpc.ErrorInfo that programs can read."""
    return make_status(
        STATUS[error.code],
        error.message,
        reason=error.code,
        domain=DOMAIN,
        metadata=_with_required_state(error),
        trailers=_trailers(error),
    )


def make_status(
    code: grpc.StatusCode,
    message: str,
    *,
    reason: str,
    domain: str,
    metadata: Mapping[str, str],
    trailers: tuple[tuple[str, str], ...] = (),
) -> grpc.Status:
    """Return a status with the same facts in details and trailers; text too long for headers is truncated."""
    # Imported at the first error, because importing them slows every start.
    from google.protobuf.any_pb2 import Any
    from google.rpc.error_details_pb2 import ErrorInfo  # type: ignore[import-untyped]
    from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]
    from grpc_status import rpc_status

    info = Any()
    info.Pack(ErrorInfo(reason=reason, domain=domain, metadata=_cut_details(metadata)))
    number: int = code.value[0]
    status = rpc_status.to_status(Status(code=number, message=_cut(message, _MESSAGE_LIMIT), details=[info]))
    return _Status(status.code, status.details, (*status.trailing_metadata, *trailers))


def _trailers(error: BetcodeError) -> tuple[tuple[str, str], ...]:
    """The same facts for clients that read no details."""
    return tuple((name, error.details[fact]) for name, fact in _RATE_TRAILERS if fact in error.details)


def error_event(error: BetcodeError, *, is_fatal: bool, session_id: str = "") -> v1.AgentEvent:
    """Return an error event for one stream only: it has no sequence number, and no reader's position changes."""
    event = v1.AgentEvent()
    event.timestamp.FromNanoseconds(now_ns())
    event.error.code = error.code
    event.error.message = _cut(error.message, _MESSAGE_LIMIT)
    event.error.is_fatal = is_fatal
    if session_id:
        event.error.details["session_id"] = session_id
    event.error.details.update(_cut_details(_with_required_state(error)))
    return event


def _with_required_state(error: BetcodeError) -> Mapping[str, str]:
    needed = REQUIRED_STATE.get(error.code)
    return error.details if needed is None else {"required_state": needed, **error.details}


def _cut_details(details: Mapping[str, str]) -> dict[str, str]:
    return {name: _cut(value, _DETAIL_LIMITS.get(name, _DETAIL_LIMIT)) for name, value in details.items()}


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
