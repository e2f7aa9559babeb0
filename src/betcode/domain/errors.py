"""The tree of errors; each class has the code that clients see.

BetcodeError
├── InvalidRequest            INVALID_REQUEST
├── SessionNotFound           SESSION_NOT_FOUND
├── SessionClosed             SESSION_CLOSED
├── SessionActive             SESSION_ACTIVE
├── SessionNotReady           SESSION_NOT_READY
├── SessionTimedOut           SESSION_TIMEOUT
├── SessionFailed             SESSION_FAILED
├── CompactionFailed          COMPACTION_FAILED
├── CompactionUnsupported     FEATURE_NOT_AVAILABLE
├── AgentCannot               FEATURE_NOT_AVAILABLE
├── SequenceOutOfRange        SEQUENCE_OUT_OF_RANGE
├── PromptNotFound            PERMISSION_NOT_FOUND
├── PermissionStale           PERMISSION_STALE
├── AnswerRefused             ANSWER_REFUSED
├── NoInputLock               NO_INPUT_LOCK
├── MessageNotFound           MESSAGE_NOT_FOUND
├── BlobNotFound              BLOB_NOT_FOUND
├── ForkRefused               FORK_REFUSED
├── RepositoryNotFound        REPOSITORY_NOT_FOUND
├── BranchNotFound            BRANCH_NOT_FOUND
├── WorktreeNotFound          WORKTREE_NOT_FOUND
├── AmbiguousWorktree         INVALID_REQUEST
├── WorktreeExists            WORKTREE_EXISTS
├── WorktreeUnusable          WORKTREE_UNUSABLE
├── WorktreeHasChanges        WORKTREE_HAS_CHANGES
├── SetupFailed               WORKTREE_SETUP_FAILED
├── GitFailed                 GIT_FAILED
├── Conflict                  CONFLICT
├── BudgetExceeded            BUDGET_EXCEEDED
├── PoolExhausted             POOL_EXHAUSTED
├── AgentMemoryExhausted      POOL_EXHAUSTED
├── AgentUnavailable          AGENT_UNAVAILABLE
│   └── UnknownProvider       AGENT_UNAVAILABLE
├── AgentCrashed              SUBPROCESS_CRASHED
├── RateLimited               RATE_LIMITED
├── Unauthenticated           UNAUTHENTICATED
├── StorageDegraded           STORAGE_DEGRADED
├── StorageFailed             SQLITE_ERROR
├── DatabaseUnusable          SQLITE_ERROR
├── FeatureNotAvailable       FEATURE_NOT_AVAILABLE
├── DaemonStopping            DAEMON_STOPPING
└── those of campaigns        see campaign_errors
"""

import math
from collections.abc import Mapping
from typing import ClassVar

from betcode.domain.error_codes import ErrorCode


class BetcodeError(Exception):
    """An error for a client: a code, one sentence with the remedy, and the facts."""

    code: ClassVar[ErrorCode] = ErrorCode.INTERNAL

    def __init__(self, message: str, **details: str) -> None:
        super().__init__(message)
        self.message = message
        self.details: Mapping[str, str] = details


class InvalidRequest(BetcodeError):
    code = ErrorCode.INVALID_REQUEST


class SessionNotFound(BetcodeError):
    code = ErrorCode.SESSION_NOT_FOUND

    def __init__(self, session_id: str) -> None:
        super().__init__("Session does not exist", session_id=session_id)


class SessionClosed(BetcodeError):
    code = ErrorCode.SESSION_CLOSED

    def __init__(self, session_id: str) -> None:
        super().__init__(
            "Session has been closed: start a new one, or fork it to continue from its end", session_id=session_id
        )


class SessionActive(BetcodeError):
    """The session is working, or a message is queued: the request needs an idle session."""

    code = ErrorCode.SESSION_ACTIVE

    def __init__(self, session_id: str) -> None:
        super().__init__("Session has active turn", session_id=session_id)


class SessionNotReady(BetcodeError):
    """The session is in another phase than the request needs; nothing was done."""

    code = ErrorCode.SESSION_NOT_READY

    def __init__(self, session_id: str, phase: str, needed: str) -> None:
        super().__init__(
            f"The session is {phase}: this call requires a session that is {needed}", session_id=session_id, phase=phase
        )


class SessionTimedOut(BetcodeError):
    """The session's timeout has passed; nothing was accepted."""

    code = ErrorCode.SESSION_TIMEOUT

    def __init__(self, session_id: str) -> None:
        super().__init__("The session's timeout is reached: start a new one, or restart it", session_id=session_id)


class SessionFailed(BetcodeError):
    """An internal error stopped the session."""

    code = ErrorCode.SESSION_FAILED

    def __init__(self, session_id: str, reason: str) -> None:
        super().__init__(
            f"The session has failed: {reason}. If this persists, delete it with `betcode session delete {session_id}`",
            session_id=session_id,
        )


class CompactionFailed(BetcodeError):
    """The agent did not compact; stored data is unchanged."""

    code = ErrorCode.COMPACTION_FAILED

    def __init__(self, session_id: str, reason: str) -> None:
        super().__init__("Session compaction failed", session_id=session_id, reason=reason)


class CompactionUnsupported(BetcodeError):
    code = ErrorCode.FEATURE_NOT_AVAILABLE

    def __init__(self, session_id: str, provider: str) -> None:
        super().__init__(
            f"{provider} does not support compaction: the session is unchanged",
            session_id=session_id,
            feature="context_compaction",
        )


class AgentCannot(BetcodeError):
    """The session's agent does not support the request; nothing was done."""

    code = ErrorCode.FEATURE_NOT_AVAILABLE

    def __init__(self, provider: str, capability: str, why: str, request_id: str = "") -> None:
        about = {"request_id": request_id} if request_id else {}
        super().__init__(f"The agent {provider} {why}", provider=provider, capability=capability, **about)


class SequenceOutOfRange(BetcodeError):
    code = ErrorCode.SEQUENCE_OUT_OF_RANGE

    def __init__(self, session_id: str, asked: int, newest: int) -> None:
        super().__init__(
            f"Sequence {asked} is beyond the newest, {newest}: start at {newest} or less",
            session_id=session_id,
            newest_sequence=str(newest),
        )


class PromptNotFound(BetcodeError):
    code = ErrorCode.PERMISSION_NOT_FOUND

    def __init__(self, request_id: str) -> None:
        super().__init__("No such prompt: see betcode permission list", request_id=request_id)


class PermissionStale(BetcodeError):
    code = ErrorCode.PERMISSION_STALE


class AnswerRefused(BetcodeError):
    """The call comes, or may come, from inside an agent, whose processes may only read."""

    code = ErrorCode.ANSWER_REFUSED


class NoInputLock(BetcodeError):
    """Another client has the input lock; nothing was accepted."""

    code = ErrorCode.NO_INPUT_LOCK

    def __init__(
        self, session_id: str, holder_client_id: str, holder_client_type: str, holder_client_name: str = ""
    ) -> None:
        super().__init__(
            "Another client holds input lock",
            session_id=session_id,
            holder_client_id=holder_client_id,
            holder_client_type=holder_client_type,
            holder_client_name=holder_client_name,
        )


class MessageNotFound(BetcodeError):
    code = ErrorCode.MESSAGE_NOT_FOUND

    def __init__(self, session_id: str, message_id: str) -> None:
        super().__init__(
            f"No message {message_id} was sent to this session: find its id in the session's history",
            session_id=session_id,
            message_id=message_id,
        )


class BlobNotFound(BetcodeError):
    code = ErrorCode.BLOB_NOT_FOUND

    def __init__(self, session_id: str, sha256: str) -> None:
        super().__init__("No such blob in this session", session_id=session_id, sha256=sha256)


class ForkRefused(BetcodeError):
    """The agent's conversation cannot be forked there; nothing was created."""

    code = ErrorCode.FORK_REFUSED


class RepositoryNotFound(BetcodeError):
    code = ErrorCode.REPOSITORY_NOT_FOUND


class BranchNotFound(BetcodeError):
    code = ErrorCode.BRANCH_NOT_FOUND


class WorktreeNotFound(BetcodeError):
    code = ErrorCode.WORKTREE_NOT_FOUND

    def __init__(self, worktree_id: str) -> None:
        super().__init__("Worktree does not exist", worktree_id=worktree_id)


class AmbiguousWorktree(BetcodeError):
    code = ErrorCode.INVALID_REQUEST

    def __init__(self, text: str) -> None:
        super().__init__(f"Several worktrees match {text!r}: give the full id", prefix=text)


class WorktreeExists(BetcodeError):
    """Name, path or branch are in use; nothing was created."""

    code = ErrorCode.WORKTREE_EXISTS


class WorktreeUnusable(BetcodeError):
    """It cannot be worked in, or not be removed, at the moment."""

    code = ErrorCode.WORKTREE_UNUSABLE


class WorktreeHasChanges(BetcodeError):
    """Removing it would lose something; nothing was removed."""

    code = ErrorCode.WORKTREE_HAS_CHANGES


class SetupFailed(BetcodeError):
    """The setup of a worktree failed; the worktree is kept or removed, as requested."""

    code = ErrorCode.WORKTREE_SETUP_FAILED


class GitFailed(BetcodeError):
    """git failed; the message has its output."""

    code = ErrorCode.GIT_FAILED


class Conflict(BetcodeError):
    """It was changed meanwhile; nothing was done."""

    code = ErrorCode.CONFLICT


class BudgetExceeded(BetcodeError):
    """The session has reached its budget; nothing was accepted."""

    code = ErrorCode.BUDGET_EXCEEDED


class PoolExhausted(BetcodeError):
    code = ErrorCode.POOL_EXHAUSTED

    def __init__(self, at_work: int, waiting: int) -> None:
        super().__init__(
            "Subprocess pool at capacity",
            at_work=str(at_work),
            waiting=str(waiting),
            retry_after_ms="5000",
        )


class AgentMemoryExhausted(BetcodeError):
    code = ErrorCode.POOL_EXHAUSTED

    def __init__(self, used_mb: int, limit_mb: int) -> None:
        super().__init__(
            f"Live agents use {used_mb} MB of the {limit_mb} MB allowed and none of them is idle: "
            "wait for one, close a session, or raise agents.memory_limit",
            used_mb=str(used_mb),
            limit_mb=str(limit_mb),
            retry_after_ms="5000",
        )


class AgentUnavailable(BetcodeError):
    """The agent cannot be started at all, and trying again will not help."""

    code = ErrorCode.AGENT_UNAVAILABLE


class UnknownProvider(AgentUnavailable):
    """A session's kind of agent is none that this daemon has."""

    def __init__(self, provider: str) -> None:
        super().__init__(f"Unknown provider {provider!r} of this session")


class AgentCrashed(BetcodeError):
    """An agent exited unexpectedly during a turn."""

    code = ErrorCode.SUBPROCESS_CRASHED

    def __init__(self, provider: str, how: str, **details: str) -> None:
        super().__init__(f"{provider.capitalize()} process crashed ({how})", **details)


class RateLimited(BetcodeError):
    """A client exceeds a rate limit; nothing was done."""

    code = ErrorCode.RATE_LIMITED

    def __init__(self, limit: int, retry_after_s: float, reset_s: float) -> None:
        super().__init__(
            "Rate limit exceeded",
            retry_after_ms=str(math.ceil(retry_after_s * 1000)),
            limit=str(limit),
            remaining="0",
            reset=str(math.ceil(reset_s)),
        )


class Unauthenticated(BetcodeError):
    """The caller did not send the token."""

    code = ErrorCode.UNAUTHENTICATED

    def __init__(self) -> None:
        super().__init__("This needs the daemon's token: send it as `authorization: Bearer TOKEN`")


class StorageDegraded(BetcodeError):
    """Nothing can be written at the moment, so nothing is accepted."""

    code = ErrorCode.STORAGE_DEGRADED


class StorageFailed(BetcodeError):
    code = ErrorCode.SQLITE_ERROR

    def __init__(self, reason: str = "") -> None:
        super().__init__("Database operation failed", **({"reason": reason} if reason else {}))


class DatabaseUnusable(BetcodeError):
    """The database cannot be opened; the message gives the reason and the remedy."""

    code = ErrorCode.SQLITE_ERROR


class FeatureNotAvailable(BetcodeError):
    code = ErrorCode.FEATURE_NOT_AVAILABLE

    def __init__(self, feature: str, reason: str = "", **details: str) -> None:
        super().__init__(reason or f"{feature} is not part of this release yet", feature=feature, **details)


class DaemonStopping(BetcodeError):
    code = ErrorCode.DAEMON_STOPPING

    def __init__(self) -> None:
        super().__init__("The daemon is stopping: connect again in a moment")
