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

    INVALID_REQUEST = ("INVALID_REQUEST", "the request cannot work; the sentence says what to change")
    SESSION_NOT_FOUND = ("SESSION_NOT_FOUND", "no session has this id")
    SESSION_CLOSED = ("SESSION_CLOSED", "it was closed; start a new one")
    SESSION_ACTIVE = ("SESSION_ACTIVE", "a turn is open, or a message waits: wait for it, or cancel it")
    SESSION_NOT_READY = ("SESSION_NOT_READY", "it is being started or stopped, or at work; `phase` says which")
    SESSION_TIMEOUT = ("SESSION_TIMEOUT", "the time that it was given when it was made is over; start a new one")
    SESSION_FAILED = (
        "SESSION_FAILED",
        "an internal error stopped the session; send a message to try again, or delete it",
    )
    COMPACTION_FAILED = (
        "COMPACTION_FAILED",
        "the agent did not compact; `reason` says why, and the session is as it was",
    )
    SEQUENCE_OUT_OF_RANGE = ("SEQUENCE_OUT_OF_RANGE", "`from_sequence` is beyond the newest event")
    PERMISSION_NOT_FOUND = ("PERMISSION_NOT_FOUND", "there never was such a prompt")
    PERMISSION_STALE = ("PERMISSION_STALE", "answered differently, withdrawn, superseded or expired")
    PERMISSION_TIMEOUT = ("PERMISSION_TIMEOUT", "nobody answered in time (an event; the session goes on)")
    ANSWER_REFUSED = (
        "ANSWER_REFUSED",
        "the call comes, or may come, from inside an agent, which may only read",
    )
    NO_INPUT_LOCK = (
        "NO_INPUT_LOCK",
        "another client types in this session; nothing was sent. `holder_client_id` says who",
    )
    MESSAGE_NOT_FOUND = ("MESSAGE_NOT_FOUND", "no such message was sent to this session")
    BLOB_NOT_FOUND = ("BLOB_NOT_FOUND", "no such blob in this session")
    FORK_REFUSED = (
        "FORK_REFUSED",
        (
            "the agent cannot be forked there: no turn has ended, it was compacted since, or its kind "
            "cannot; nothing was made"
        ),
    )
    REPOSITORY_NOT_FOUND = ("REPOSITORY_NOT_FOUND", "there is no git repository, or none that git would work in")
    BRANCH_NOT_FOUND = ("BRANCH_NOT_FOUND", "the repository has no such branch, tag or commit")
    WORKTREE_NOT_FOUND = ("WORKTREE_NOT_FOUND", "no worktree has this id")
    WORKTREE_EXISTS = ("WORKTREE_EXISTS", "a worktree has this name, path or branch already; it is as it was")
    WORKTREE_UNUSABLE = (
        "WORKTREE_UNUSABLE",
        "its directory is gone, it is locked, or it is being made or removed; the sentence says what to do",
    )
    WORKTREE_HAS_CHANGES = (
        "WORKTREE_HAS_CHANGES",
        "removing it would lose something; the sentence says what, and nothing was removed",
    )
    WORKTREE_SETUP_FAILED = (
        "WORKTREE_SETUP_FAILED",
        "the setup of a worktree failed; `output` has its last words, `kept` says whether the worktree is there",
    )
    GIT_FAILED = ("GIT_FAILED", "git refused, could not do it, or took too long; the sentence has its words")
    CAMPAIGN_NOT_FOUND = ("CAMPAIGN_NOT_FOUND", "no campaign has this id or name, or several have")
    CAMPAIGN_UNUSABLE = (
        "CAMPAIGN_UNUSABLE",
        "the registry of campaigns, or what it says of one, cannot be relied on; the sentence says what is wrong",
    )
    COMMAND_REFUSED = ("COMMAND_REFUSED", "the rules of the campaign do not let this command run; nothing was run")
    CONFLICT = ("CONFLICT", "a settings file was changed meanwhile; nothing was written: read it again")
    BUDGET_EXCEEDED = (
        "BUDGET_EXCEEDED",
        "the session has spent what it may and is set to refuse; the sentence has the figures and how to raise it",
    )
    POOL_EXHAUSTED = ("POOL_EXHAUSTED", "no slot, no place in line, or no memory; `retry_after_ms` says when")
    AGENT_UNAVAILABLE = ("AGENT_UNAVAILABLE", "the agent cannot be started; the sentence says why")
    SUBPROCESS_CRASHED = (
        "SUBPROCESS_CRASHED",
        "the agent ended in the middle of a turn; another goes on after `retry_after_ms`, unless it is fatal",
    )
    AGENT_ERROR = ("AGENT_ERROR", "the agent ended its turn with an error of its own (an event; the session goes on)")
    RATE_LIMITED = (
        "RATE_LIMITED",
        (
            "a TCP client asks for too much, and `retry_after_ms` says when to come again; or the agent met "
            "a limit of its model, which is reset at `reset_at` (an event; the session goes on)"
        ),
    )
    UNAUTHENTICATED = ("UNAUTHENTICATED", "a call by TCP without the token")
    STORAGE_DEGRADED = (
        "STORAGE_DEGRADED",
        "nothing can be written now (disk full, database locked); nothing is shown or accepted until it can",
    )
    SQLITE_ERROR = ("SQLITE_ERROR", "a database operation failed")
    FEATURE_NOT_AVAILABLE = (
        "FEATURE_NOT_AVAILABLE",
        "declared, but not part of this release, or nothing that this kind of agent can do",
    )
    DAEMON_STOPPING = ("DAEMON_STOPPING", "it stops or restarts; connect again in a moment")
    INTERNAL = ("INTERNAL", "a fault of the daemon; the log has the details")
