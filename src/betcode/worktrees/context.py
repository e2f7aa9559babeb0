"""The dependencies that all work on worktrees shares."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from anyio.abc import TaskGroup

from betcode.config.settings import Settings
from betcode.domain.bounded_io import BoundedIOPort
from betcode.domain.repositories.worktrees import WorktreeId, WorktreePlaces, WorktreeStore
from betcode.domain.store.rows import NewSession
from betcode.domain.values.identifiers import SessionId
from betcode.git.command import Git
from betcode.worktrees.repository_queue import RepositoryQueues

Faults = Callable[[str], None]


def no_faults(step: str) -> None:
    """The named steps at which a test may end the process."""


class SessionService(Protocol):
    """The operations of the engine that worktrees need."""

    @property
    def file_io(self) -> BoundedIOPort: ...

    def place_with(self, places: WorktreePlaces) -> None:
        """Ask these from now on where sessions belong and where their agents start."""
        ...

    async def create(self, new: NewSession) -> SessionId: ...
    async def close(self, session: SessionId) -> bool: ...


class Trust(Protocol):
    async def __call__(self, directory: str) -> bool:
        """Return whether a person has trusted this project's files."""
        ...


@dataclass(slots=True)
class WorktreeContext:
    store: WorktreeStore
    git: Git
    sessions: SessionService
    settings: Settings  # the only part that changes: settings may be read again
    state_dir: Path
    is_trusted: Trust
    environment: Callable[[], Awaitable[Mapping[str, str]]]  # of the user's login shell
    tasks: TaskGroup  # for work that continues if the caller disconnects
    faults: Faults = no_faults
    fixed: frozenset[str] = frozenset()  # settings that no project can change
    user_file: Path | None = None  # with the user's own settings
    umask: int = -1  # the user's; -1: our own
    queues: RepositoryQueues = field(default_factory=RepositoryQueues)
    at_work: set[WorktreeId] = field(default_factory=set)  # worktrees that are being removed or restored

    @contextmanager
    def at_work_on(self, worktree: WorktreeId) -> Iterator[None]:
        """Nobody else begins to remove it meanwhile."""
        self.at_work.add(worktree)
        try:
            yield
        finally:
            self.at_work.discard(worktree)
