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
    """Something a client is told: a code, one sentence that says what to do, and the facts."""

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
            "Session has been closed: start a new one, or fork it to go on from where it was", session_id=session_id
        )


class SessionActive(BetcodeError):
    """It works, or a message waits in it: what was asked for needs an idle session."""

    code = ErrorCode.SESSION_ACTIVE

    def __init__(self, session_id: str) -> None:
        super().__init__("Session has active turn", session_id=session_id)


class SessionNotReady(BetcodeError):
    """It is in another phase than this needs; nothing was done."""

    code = ErrorCode.SESSION_NOT_READY

    def __init__(self, session_id: str, phase: str, needed: str) -> None:
        super().__init__(f"The session is {phase}: this needs one that is {needed}", session_id=session_id, phase=phase)


class SessionTimedOut(BetcodeError):
    """The session's own time is over; nothing was accepted."""

    code = ErrorCode.SESSION_TIMEOUT

    def __init__(self, session_id: str) -> None:
        super().__init__("The session's timeout is reached: start a new one, or restart it", session_id=session_id)


class SessionFailed(BetcodeError):
    """An internal error stopped the session."""

    code = ErrorCode.SESSION_FAILED

    def __init__(self, session_id: str, reason: str) -> None:
        super().__init__(
            f"The session has failed: {reason}. Delete it with `betcode session delete {session_id}` if that stays so",
            session_id=session_id,
        )


class CompactionFailed(BetcodeError):
    """The agent did not compact; nothing that was stored before has changed."""

    code = ErrorCode.COMPACTION_FAILED

    def __init__(self, session_id: str, reason: str) -> None:
        super().__init__("Session compaction failed", session_id=session_id, reason=reason)


class CompactionUnsupported(BetcodeError):
    code = ErrorCode.FEATURE_NOT_AVAILABLE

    def __init__(self, session_id: str, provider: str) -> None:
        super().__init__(
            f"Agents of the kind {provider} do not compact their context: the session goes on as it is",
            session_id=session_id,
            feature="context_compaction",
        )


class AgentCannot(BetcodeError):
    """The table of the session's agent says no; nothing was done."""

    code = ErrorCode.FEATURE_NOT_AVAILABLE

    def __init__(self, provider: str, capability: str, why: str, request_id: str = "") -> None:
        about = {"request_id": request_id} if request_id else {}
        super().__init__(f"The agent {provider} {why}", provider=provider, capability=capability, **about)


class SequenceOutOfRange(BetcodeError):
    code = ErrorCode.SEQUENCE_OUT_OF_RANGE

    def __init__(self, session_id: str, asked: int, newest: int) -> None:
        super().__init__(
            f"Sequence {asked} is beyond the newest, {newest}: ask from {newest} or less",
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
    """Another client may type; nothing was accepted."""

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
            f"No message {message_id} was sent to this session: look for its id in the session's history",
            session_id=session_id,
            message_id=message_id,
        )


class BlobNotFound(BetcodeError):
    code = ErrorCode.BLOB_NOT_FOUND

    def __init__(self, session_id: str, sha256: str) -> None:
        super().__init__("No such blob in this session", session_id=session_id, sha256=sha256)


class ForkRefused(BetcodeError):
    """The agent's conversation cannot be forked there; nothing was made."""

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
        super().__init__(f"Several worktrees are called {text!r}, or begin with it: give the whole id", prefix=text)


class WorktreeExists(BetcodeError):
    """Name, path or branch are taken; nothing was made."""

    code = ErrorCode.WORKTREE_EXISTS


class WorktreeUnusable(BetcodeError):
    """It cannot be worked in, or not be removed, at the moment."""

    code = ErrorCode.WORKTREE_UNUSABLE


class WorktreeHasChanges(BetcodeError):
    """Removing it would lose something; nothing was removed."""

    code = ErrorCode.WORKTREE_HAS_CHANGES


class SetupFailed(BetcodeError):
    """What a worktree is set up with failed; the worktree is kept or gone, as was asked for."""

    code = ErrorCode.WORKTREE_SETUP_FAILED


class GitFailed(BetcodeError):
    """git did not do what it was asked for; the message has its words."""

    code = ErrorCode.GIT_FAILED


class Conflict(BetcodeError):
    """Somebody else has changed it meanwhile; nothing was done."""

    code = ErrorCode.CONFLICT


class BudgetExceeded(BetcodeError):
    """The session has spent what it may; nothing was accepted."""

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
        super().__init__(f"The provider {provider!r} of this session is not known here")


class AgentCrashed(BetcodeError):
    """An agent ended in the middle of a turn, and nobody had asked for it."""

    code = ErrorCode.SUBPROCESS_CRASHED

    def __init__(self, provider: str, how: str, **details: str) -> None:
        super().__init__(f"{provider.capitalize()} process crashed ({how})", **details)


class RateLimited(BetcodeError):
    """A client asks for more than it may; nothing was done."""

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
    """Who calls has not shown the token."""

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
    """The database cannot be opened at all; the message says why and what to do."""

    code = ErrorCode.SQLITE_ERROR


class FeatureNotAvailable(BetcodeError):
    code = ErrorCode.FEATURE_NOT_AVAILABLE

    def __init__(self, feature: str, reason: str = "", **details: str) -> None:
        super().__init__(reason or f"{feature} is not part of this release yet", feature=feature, **details)


class DaemonStopping(BetcodeError):
    code = ErrorCode.DAEMON_STOPPING

    def __init__(self) -> None:
        super().__init__("The daemon is stopping: connect again in a moment")
