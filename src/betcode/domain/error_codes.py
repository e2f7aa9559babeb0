"""The error codes for programs, each with the situation in which a client gets it."""

from enum import StrEnum
from typing import Self


class ErrorCode(StrEnum):
    """The codes of `ErrorEvent.code` and `google.rpc.ErrorInfo.reason`; `meaning` says when a client gets one."""

    meaning: str

    def __new__(cls, code: str, meaning: str = "") -> Self:
        member = str.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        return member

    INVALID_REQUEST = ("INVALID_REQUEST", "the request is invalid; the message names the remedy")
    SESSION_NOT_FOUND = ("SESSION_NOT_FOUND", "no session has this id")
    SESSION_CLOSED = ("SESSION_CLOSED", "the session was closed; start a new one")
    SESSION_ACTIVE = ("SESSION_ACTIVE", "a turn is open, or a message waits: wait for it, or cancel it")
    SESSION_NOT_READY = ("SESSION_NOT_READY", "the session is starting, stopping or working; `phase` names the phase")
    SESSION_TIMEOUT = ("SESSION_TIMEOUT", "the session's timeout has passed; start a new one")
    SESSION_FAILED = (
        "SESSION_FAILED",
        "an internal error stopped the session; send a message to try again, or delete it",
    )
    COMPACTION_FAILED = (
        "COMPACTION_FAILED",
        "the agent did not compact; `reason` has the cause, and the session is unchanged",
    )
    SEQUENCE_OUT_OF_RANGE = ("SEQUENCE_OUT_OF_RANGE", "`from_sequence` is beyond the newest event")
    PERMISSION_NOT_FOUND = ("PERMISSION_NOT_FOUND", "no prompt has this id")
    PERMISSION_STALE = ("PERMISSION_STALE", "answered differently, withdrawn, superseded or expired")
    PERMISSION_TIMEOUT = ("PERMISSION_TIMEOUT", "the prompt expired (an event; the session continues)")
    ANSWER_REFUSED = (
        "ANSWER_REFUSED",
        "the call comes, or may come, from inside an agent, which may only read",
    )
    NO_INPUT_LOCK = (
        "NO_INPUT_LOCK",
        "another client has the input lock; nothing was sent. `holder_client_id` names it",
    )
    MESSAGE_NOT_FOUND = ("MESSAGE_NOT_FOUND", "no such message was sent to this session")
    BLOB_NOT_FOUND = ("BLOB_NOT_FOUND", "no such blob in this session")
    FORK_REFUSED = (
        "FORK_REFUSED",
        (
            "the agent cannot be forked there: no turn has ended, it was compacted since, or its kind "
            "cannot; nothing was created"
        ),
    )
    REPOSITORY_NOT_FOUND = ("REPOSITORY_NOT_FOUND", "there is no git repository, or none that git would work in")
    BRANCH_NOT_FOUND = ("BRANCH_NOT_FOUND", "the repository has no such branch, tag or commit")
    WORKTREE_NOT_FOUND = ("WORKTREE_NOT_FOUND", "no worktree has this id")
    WORKTREE_EXISTS = ("WORKTREE_EXISTS", "a worktree already has this name, path or branch; it was not changed")
    WORKTREE_UNUSABLE = (
        "WORKTREE_UNUSABLE",
        "its directory is missing, it is locked, or it is being created or removed; the message names the remedy",
    )
    WORKTREE_HAS_CHANGES = (
        "WORKTREE_HAS_CHANGES",
        "removing it would lose something; the message lists it, and nothing was removed",
    )
    WORKTREE_SETUP_FAILED = (
        "WORKTREE_SETUP_FAILED",
        "the setup of a worktree failed; `output` has its last lines, `kept` is true if the worktree still exists",
    )
    GIT_FAILED = ("GIT_FAILED", "git refused, failed or timed out; the message has its output")
    CAMPAIGN_NOT_FOUND = ("CAMPAIGN_NOT_FOUND", "no campaign has this id or name, or several have")
    CAMPAIGN_UNUSABLE = (
        "CAMPAIGN_UNUSABLE",
        "the registry of campaigns, or its entry of one, is unreliable; the message names the problem",
    )
    COMMAND_REFUSED = ("COMMAND_REFUSED", "the rules of the campaign forbid this command; nothing was run")
    CONFLICT = ("CONFLICT", "another program changed the settings file; nothing was written: read it again")
    BUDGET_EXCEEDED = (
        "BUDGET_EXCEEDED",
        "the session has reached its budget and is set to refuse; the message has the figures and how to raise it",
    )
    POOL_EXHAUSTED = ("POOL_EXHAUSTED", "no free slot, the queue is full, or no memory; retry after `retry_after_ms`")
    AGENT_UNAVAILABLE = ("AGENT_UNAVAILABLE", "the agent cannot be started; the message has the reason")
    SUBPROCESS_CRASHED = (
        "SUBPROCESS_CRASHED",
        "the agent exited during a turn; it is restarted after `retry_after_ms`, unless the error is fatal",
    )
    AGENT_ERROR = ("AGENT_ERROR", "the agent ended its turn with an error (an event; the session continues)")
    RATE_LIMITED = (
        "RATE_LIMITED",
        (
            "a TCP client exceeded a rate limit and can retry after `retry_after_ms`; or the agent reached "
            "a limit of its model, which is reset at `reset_at` (an event; the session continues)"
        ),
    )
    UNAUTHENTICATED = ("UNAUTHENTICATED", "a call by TCP without the token")
    STORAGE_DEGRADED = (
        "STORAGE_DEGRADED",
        "nothing can be written (disk full, database locked); nothing is shown or accepted until writing works",
    )
    SQLITE_ERROR = ("SQLITE_ERROR", "a database operation failed")
    FEATURE_NOT_AVAILABLE = (
        "FEATURE_NOT_AVAILABLE",
        "declared, but not part of this release, or not supported by this provider",
    )
    DAEMON_STOPPING = ("DAEMON_STOPPING", "the daemon is stopping or restarting; connect again in a moment")
    INTERNAL = ("INTERNAL", "an internal error of the daemon; the log has the details")
