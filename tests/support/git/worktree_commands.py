"""Commands in a real repository, beside which worktrees are made."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc

from betcode.cli.worktree.rendering import info_json
from betcode.v1 import worktree_pb2 as v1
from betcode.v1.agent_pb2 import ListSessionsRequest
from betcode.v1.agent_pb2_grpc import AgentServiceStub
from betcode.v1.worktree_pb2_grpc import WorktreeServiceStub
from support.git.repositories import make_repository
from support.patience import PATIENCE_S
from support.processes.command import Shell, shell

SCRIPT = ".betcode/worktree-setup.sh"


@contextmanager
def repository_shell(
    root: Path, files: dict[str, str] | None = None, settings: Mapping[str, object] | None = None
) -> Iterator[Shell]:
    """Whose commands run in the main worktree of a repository called shop, on the branch main; the daemon runs."""
    with shell(root, settings=settings) as commands:
        commands.work = make_repository(root / "shop", files)
        assert commands.run("daemon", "start").returncode == 0
        yield commands


@contextmanager
def _channel(here: Shell) -> Iterator[grpc.Channel]:
    """Quicker than a command, for what is not looked at itself."""
    with grpc.insecure_channel(f"unix:{here.paths.socket}") as channel:
        yield channel


def created(here: Shell, branch: str, name: str = "", *, of: Path | None = None) -> Path:
    """Where a new worktree is, on a new branch, of the repository or another one; it is not set up."""
    request = v1.CreateWorktreeRequest(
        repo_path=str(of or here.work), branch=branch, name=name, create_branch=True, skip_setup=True
    )
    with _channel(here) as channel:
        return Path(WorktreeServiceStub(channel).CreateWorktree(request, timeout=PATIENCE_S).path)


def listed(here: Shell, of: Path | None = None) -> dict[str, Any]:
    """The worktrees of the repository, or of another one, by their names, as `--json` has them."""
    with _channel(here) as channel:
        request = v1.ListWorktreesRequest(repo_path=str(of or here.work))
        found = WorktreeServiceStub(channel).ListWorktrees(request, timeout=PATIENCE_S).worktrees
    return {one.name: info_json(one) for one in found}


def directory_of(here: Shell, session: str) -> Path:
    """Where a session works."""
    with _channel(here) as channel:
        sessions = AgentServiceStub(channel).ListSessions(ListSessionsRequest(limit=200), timeout=PATIENCE_S).sessions
    return Path(next(one.working_directory for one in sessions if one.id == session))


def eventually(look: Callable[[], Any]) -> Any:
    """What is seen as soon as it is something."""
    deadline = time.monotonic() + PATIENCE_S
    while not (seen := look()):
        assert time.monotonic() < deadline
    return seen
