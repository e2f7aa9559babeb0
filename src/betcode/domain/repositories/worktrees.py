"""Repositories, their worktrees and the snapshots of turns, and the ports to the store that holds them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import PurePosixPath
from typing import NewType, Protocol

from betcode.domain.sessions.turn_watch import WatchedSession
from betcode.domain.store.rows import NewSession
from betcode.domain.values.identifiers import SessionId, SessionKey, time_ordered_uuid

RepositoryId = NewType("RepositoryId", str)
WorktreeId = NewType("WorktreeId", str)


def new_repository_id() -> RepositoryId:
    return RepositoryId(time_ordered_uuid())


def new_worktree_id() -> WorktreeId:
    return WorktreeId(time_ordered_uuid())


class WorktreeState(StrEnum):
    CREATING = "creating"  # requested: git may have begun with it
    READY = "ready"  # its files exist; `SetupState` tells whether its setup succeeded
    STALE = "stale"  # its directory is missing, or git no longer lists it
    REMOVING = "removing"  # requested: git may have begun with it


class SetupState(StrEnum):
    NONE = "none"  # there is nothing to run
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    TIMED_OUT = "timed-out"
    UNTRUSTED = "untrusted"  # not run: the repository is not trusted yet
    SKIPPED = "skipped"  # not run: not requested, or the worktree was created by another program


class WorktreeOrigin(StrEnum):
    MAIN = "main"  # it belongs to the repository
    MADE = "made"  # here
    ADOPTED = "adopted"  # created by another program


@dataclass(frozen=True, slots=True)
class RepositoryRow:
    id: RepositoryId
    common_dir: str  # git's own directory of it, links followed: what all its worktrees share
    path: str  # the main worktree, or a bare repository itself
    is_bare: bool
    created_ns: int
    last_used_ns: int
    active_worktree: str = ""  # the id; empty: none was chosen yet
    mark: str = ""  # identifies git's directory after a move; empty: unknown

    @property
    def name(self) -> str:
        """Return its name for people: its directory, for a bare one without the suffix."""
        called = PurePosixPath(self.path).name or "root"
        return (called.removesuffix(".git") or called) if self.is_bare else called


@dataclass(frozen=True, slots=True)
class WorktreeRow:
    id: WorktreeId
    repository: RepositoryId
    name: str  # one of its kind in its repository
    path: str  # absolute, links followed
    branch: str  # as of the last check; empty: HEAD is detached
    origin: WorktreeOrigin
    state: WorktreeState
    created_ns: int
    last_used_ns: int
    base: str = ""  # the commit that its branch was created from, if known
    git_dir: str = ""  # git's own directory of this worktree; it does not change when the worktree is moved
    git_mark: str = ""  # distinguishes that directory from a later one of the same name; empty: unknown
    made_branch: bool = False  # the branch was made with it
    setup: SetupState = SetupState.NONE
    setup_note: str = ""  # how the setup ended, or why it was not run; for people
    setup_process: str = ""  # "pid:start" of the setup that runs, so that the next daemon can end it
    brought_along: Mapping[str, str] = field(default_factory=dict)  # files and the SHA-256 each had when it was copied
    trouble: str = ""  # its problem and the remedy, one sentence
    removal: str = ""  # how far a removal or a restore is; see `betcode.worktrees.remove.removal_steps`


@dataclass(frozen=True, slots=True)
class WorktreeSessions:
    """The facts about the sessions of one worktree."""

    active: str = ""  # the one that a switch leads to: one at work, else the newest that is open
    open_count: int = 0
    at_work_count: int = 0  # of those that are open: a turn is open
    last: str = ""  # the one that changed last, open or not
    last_ns: int = 0


NO_SESSIONS = WorktreeSessions()


@dataclass(frozen=True, slots=True)
class TurnSnapshot:
    """The tree of a worktree at the beginning and at the end of one turn, as git names it."""

    session: SessionKey
    turn: int  # from 1
    top: str  # the worktree of the snapshot
    start_tree: str = ""
    end_tree: str = ""
    started_ns: int = 0
    ended_ns: int = 0
    note: str = ""  # deviations: taken late, or files omitted


class WorktreePlaces(Protocol):
    """Which worktree a session belongs to, and where that is."""

    async def placed(self, new: NewSession, *, in_active: bool) -> NewSession:
        """The session in its worktree, if it has one; `in_active`: in the active one rather than in the main one.

        Raises:
            WorktreeNotFound, WorktreeUnusable, InvalidRequest: it names a worktree in which it cannot be.
        """
        ...

    async def directory_of(self, new: NewSession) -> str:
        """Return where the agent of a session with a worktree is to be started now.

        Raises:
            WorktreeUnusable: the worktree is missing.
        """
        ...


class WorktreeStore(Protocol):
    """The port of the store. Every method may be awaited from the event loop.

    Raises:
        StorageDegraded, StorageFailed: nothing was written.
    """

    async def repositories(self) -> Sequence[RepositoryRow]: ...
    async def save_repository(self, row: RepositoryRow) -> None: ...
    async def forget_repository(self, repository: RepositoryId) -> None: ...
    async def set_active(self, repository: RepositoryId, worktree: WorktreeId, now_ns: int) -> str:
        """Return the id of the previously active one; empty: there was none, or it is no longer known."""
        ...

    async def worktrees(self, repository: RepositoryId | None = None) -> Sequence[WorktreeRow]: ...
    async def worktree(self, worktree: WorktreeId) -> WorktreeRow | None: ...
    async def names(self, worktrees: Collection[str]) -> Mapping[str, str]:
        """Return the names by id; unknown ones are omitted."""
        ...

    async def save_worktrees(self, rows: Sequence[WorktreeRow]) -> None:
        """All of them, or none; a row that is there already is replaced.

        Raises:
            WorktreeExists: another one has the name, in its repository, or the path, and is not stale.
        """
        ...

    async def save_seen(self, rows: Sequence[WorktreeRow]) -> Sequence[str]:
        """Save worktrees that git lists: another repository's row at such a path becomes stale.

        Those paths are returned.
        """
        ...

    async def forget_worktree(self, worktree: WorktreeId) -> None: ...
    async def keep_output(self, worktree: WorktreeId, output: bytes) -> None:
        """Store the output of its setup, replacing the previous one."""
        ...

    async def output(self, worktree: WorktreeId) -> bytes: ...
    async def sessions_of(self, worktrees: Sequence[WorktreeId]) -> Mapping[WorktreeId, WorktreeSessions]:
        """Of each that has any; one question for all of them."""
        ...

    async def open_sessions(self, worktree: WorktreeId) -> Sequence[SessionId]: ...
    async def save_snapshot(self, row: TurnSnapshot) -> None:
        """Save a snapshot; nothing is stored for a deleted session."""
        ...

    async def snapshots(self, session: SessionKey) -> Sequence[TurnSnapshot]:
        """In the order of turns."""
        ...

    async def unnoted_ends(self) -> Sequence[tuple[WatchedSession, int, int]]:
        """Return sessions with turns that ended without a snapshot, with the first and the last of these turns."""
        ...

    async def sessions_with_snapshots(self) -> frozenset[SessionId]: ...
