"""Create, list, switch, set up, remove and restore worktrees."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar

import grpc
from google.protobuf.message import Message

from betcode.client.connection import Connection
from betcode.client.errors import as_client_errors
from betcode.client.stream import messages_of
from betcode.v1 import worktree_pb2 as v1
from betcode.v1.worktree_pb2_grpc import WorktreeServiceStub

if TYPE_CHECKING:
    from betcode.v1.worktree_pb2_grpc import WorktreeServiceAsyncStub  # exists only in the stub files

T = TypeVar("T", bound=Message)

_LONG_S = 86400.0  # git and setups may take long; the daemon limits both


@dataclass(frozen=True, slots=True)
class NewWorktree:
    """The parameters of a worktree; empty means the daemon's default."""

    repo_path: str  # any directory of the repository
    branch: str
    name: str = ""
    path: str = ""
    create_branch: bool = False
    base: str = ""  # of a new branch
    roll_back: bool = False  # remove the worktree if its setup fails
    skip_setup: bool = False

    def request(self) -> v1.CreateWorktreeRequest:
        return v1.CreateWorktreeRequest(
            repo_path=self.repo_path,
            branch=self.branch,
            name=self.name,
            path=self.path,
            create_branch=self.create_branch,
            base=self.base,
            on_setup_failure=v1.ON_SETUP_FAILURE_ROLL_BACK if self.roll_back else v1.ON_SETUP_FAILURE_KEEP,
            skip_setup=self.skip_setup,
        )


@dataclass(frozen=True, slots=True)
class SessionKind:
    """The parameters of a session for a worktree without one."""

    provider: str = ""
    model: str = ""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)


class _Caller(Enum):
    """Who may call: a ticket proves that no agent does."""

    UNCHECKED = "unchecked"
    ANYBODY = "anybody"
    A_PERSON = "a person"


@dataclass(frozen=True, slots=True)
class WorktreeClient:
    """The calls of WorktreeService; a call that fails raises a ClientError.

    An operation continues in the daemon when its caller disconnects.
    """

    connection: Connection

    async def list(self, repo_path: str = "") -> Sequence[v1.WorktreeInfo]:
        """Return the worktrees of a directory's repository, or of all known ones; the main worktree first."""
        request = v1.ListWorktreesRequest(repo_path=repo_path)
        return (await self.connection.call(self._stub.ListWorktrees, request)).worktrees

    async def create(self, new: NewWorktree) -> v1.WorktreeInfo:
        """Create a worktree and run its setup; tried once.

        Raises:
            Refused: it cannot be created, or its setup failed; the sentence says whether it exists.
        """
        metadata = await self.connection.person_metadata(or_agent=True)
        async with as_client_errors():
            return await self._stub.CreateWorktree(new.request(), metadata=metadata, timeout=_LONG_S)

    def watch_create(self, new: NewWorktree) -> AsyncGenerator[v1.WorktreeProgress, None]:
        """Do the same and yield the progress; the last item has `done`. Hold it in `aclosing`."""
        return self._messages(
            self._stub.WatchCreateWorktree, new.request(), v1.WorktreeProgress, caller=_Caller.ANYBODY
        )

    def set_up(self, worktree_id: str) -> AsyncGenerator[v1.WorktreeProgress, None]:
        """Run the setup and yield its progress; the last item has `done`. Hold it in `aclosing`."""
        request = v1.SetUpWorktreeRequest(worktree_id=worktree_id)
        return self._messages(self._stub.SetUpWorktree, request, v1.WorktreeProgress, caller=_Caller.A_PERSON)

    def setup_output(self, worktree_id: str) -> AsyncGenerator[v1.WorktreeOutput, None]:
        """Yield the stored output of the last setup. Hold it in `aclosing`."""
        request = v1.ReadSetupOutputRequest(worktree_id=worktree_id)
        return self._messages(self._stub.ReadSetupOutput, request, v1.WorktreeOutput)

    async def switch(self, worktree_id: str, start_as: SessionKind | None = None) -> v1.SwitchWorktreeResponse:
        """Make the worktree active in its repository, with a session in it; no agent is started."""
        kind = start_as or SessionKind()
        request = v1.SwitchWorktreeRequest(
            worktree_id=worktree_id,
            start_as=v1.StartAs(provider=kind.provider, model=kind.model, environment=kind.environment),
        )
        return await self.connection.call(self._stub.SwitchWorktree, request, with_ticket=True)

    async def inspect(self, worktree_id: str) -> v1.WorktreeContents:
        """Return what would be lost if the worktree was removed now."""
        request = v1.InspectWorktreeRequest(worktree_id=worktree_id)
        return await self.connection.call(self._stub.InspectWorktree, request, timeout_s=_LONG_S)

    async def remove(self, worktree_id: str, *, force: bool = False) -> v1.RemoveWorktreeResponse:
        """Remove the worktree and close its sessions; tried once.

        Raises:
            Refused: something would be lost and `force` is not set, or it cannot be removed; nothing has changed.
        """
        request = v1.RemoveWorktreeRequest(worktree_id=worktree_id, force=force)
        metadata = await self.connection.person_metadata()
        async with as_client_errors():
            return await self._stub.RemoveWorktree(request, metadata=metadata, timeout=_LONG_S)

    async def removed(self, repo_path: str = "") -> Sequence[v1.RemovedWorktree]:
        """Return the worktrees that can be restored, of one repository or of all known ones."""
        request = v1.ListRemovedWorktreesRequest(repo_path=repo_path)
        return (await self.connection.call(self._stub.ListRemovedWorktrees, request)).removed

    async def restore(self, repo_path: str, removed_id: str, *, path: str = "") -> v1.WorktreeInfo:
        """Restore a removed worktree with its commits and changes, at its old path or at `path`; tried once."""
        request = v1.RestoreWorktreeRequest(repo_path=repo_path, removed_id=removed_id, path=path)
        metadata = await self.connection.person_metadata()
        async with as_client_errors():
            return await self._stub.RestoreWorktree(request, metadata=metadata, timeout=_LONG_S)

    def report(self, repo_path: str = "") -> AsyncGenerator[v1.WorktreeReport, None]:
        """Yield the size, age and state of each worktree, as they become known. Hold it in `aclosing`."""
        request = v1.ReportWorktreesRequest(repo_path=repo_path)
        return self._messages(self._stub.ReportWorktrees, request, v1.WorktreeReport)

    async def forget(self, worktree_id: str) -> bool:
        """Forget a worktree that no longer exists, without touching files; return whether it was known."""
        request = v1.ForgetWorktreeRequest(worktree_id=worktree_id)
        return (await self.connection.call(self._stub.ForgetWorktree, request, with_ticket=True)).forgotten

    async def repositories(self) -> Sequence[v1.RepositoryInfo]:
        """Return the known repositories."""
        return (await self.connection.call(self._stub.ListRepositories, v1.ListRepositoriesRequest())).repositories

    async def branches(self, repo_path: str, *, include_remote: bool = False) -> Sequence[v1.BranchInfo]:
        """Return the branches of a directory's repository."""
        request = v1.ListBranchesRequest(repo_path=repo_path, include_remote=include_remote)
        return (await self.connection.call(self._stub.ListBranches, request)).branches

    async def _messages(
        self,
        method: Callable[..., grpc.aio.UnaryStreamCall[Any, T]],
        request: Message,
        kind: type[T],
        *,
        caller: _Caller = _Caller.UNCHECKED,
    ) -> AsyncGenerator[T, None]:
        """Yield the messages of a call to its end."""
        metadata = self.connection.metadata
        if caller is not _Caller.UNCHECKED:
            metadata = await self.connection.person_metadata(or_agent=caller is _Caller.ANYBODY)
        call = method(request, metadata=metadata)
        async with aclosing(messages_of(call, kind)) as messages:
            async for message in messages:
                yield message

    @property
    def _stub(self) -> "WorktreeServiceAsyncStub":
        return WorktreeServiceStub(self.connection.channel)
