"""Sessions of worktrees over the API: statuses, lists, and what there is to choose from."""

import shutil
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path

import grpc
import pytest
from grpc import aio

from betcode.server import Release
from betcode.v1 import agent_pb2 as a1
from betcode.v1 import worktree_pb2 as v1
from betcode.v1.agent_pb2_grpc import AgentServiceStub
from betcode.v1.worktree_pb2_grpc import WorktreeServiceStub
from support.daemon.in_process import served
from support.daemon.stream import info_of
from support.git.repositories import commit, git, make_repository

pytestmark = pytest.mark.anyio


@pytest.fixture
async def channel(tmp_path: Path) -> AsyncIterator[aio.Channel]:
    async with served(tmp_path, Release()) as (_, channel):
        yield channel


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    made = make_repository(tmp_path / "shop")
    git(made, "worktree", "add", "-q", "-b", "fix", str(tmp_path / "fix"))
    return made


async def _refusal(call: Awaitable[object]) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(aio.AioRpcError) as refused:
        await call
    return refused.value.code(), info_of(refused.value).reason


def _start(**fields: object) -> a1.SubmitRequest:
    return a1.SubmitRequest(request=a1.AgentRequest(start=a1.StartConversation(**fields)))  # type: ignore[arg-type]


@pytest.mark.behaviour(
    "converse.start.worktree", "worktree.unknown", "error.code.worktree-not-found", "session.list.by-worktree"
)
async def test_sessions_of_worktrees_over_the_api(channel: aio.Channel, repository: Path, tmp_path: Path) -> None:
    agent, worktrees = AgentServiceStub(channel), WorktreeServiceStub(channel)
    _, fix = (await worktrees.ListWorktrees(v1.ListWorktreesRequest(repo_path=str(repository)))).worktrees
    made = (await agent.Submit(_start(worktree_id=fix.id))).session_id
    found = (await agent.Submit(_start(working_directory=str(repository)))).session_id
    page = await agent.ListSessions(a1.ListSessionsRequest(worktree_id=fix.id))
    assert [(each.id, each.worktree_name, each.working_directory) for each in page.sessions] == [
        (made, "fix", str(tmp_path / "fix"))
    ]
    switched = await worktrees.SwitchWorktree(v1.SwitchWorktreeRequest(worktree_id=fix.id))
    assert (switched.session_id, switched.session_created, switched.previous_worktree_id) == (made, False, "")
    assert switched.worktree.is_active
    active = (await agent.Submit(_start(working_directory=str(repository), in_active_worktree=True))).session_id
    now = (await worktrees.ListWorktrees(v1.ListWorktreesRequest())).worktrees
    assert [(each.name, each.active_session_id, each.session_count, each.is_active) for each in now] == [
        ("shop", found, 1, False),
        ("fix", active, 2, True),
    ]

    not_found = (grpc.StatusCode.NOT_FOUND, "WORKTREE_NOT_FOUND")
    unusable = (grpc.StatusCode.FAILED_PRECONDITION, "WORKTREE_UNUSABLE")
    assert await _refusal(agent.Submit(_start(worktree_id="0190-none"))) == not_found
    assert await _refusal(worktrees.SwitchWorktree(v1.SwitchWorktreeRequest(worktree_id="0190-none"))) == not_found
    outside = agent.Submit(_start(worktree_id=fix.id, working_directory=str(repository)))
    assert (await _refusal(outside))[0] is grpc.StatusCode.INVALID_ARGUMENT
    shutil.rmtree(tmp_path / "fix")
    say = a1.SubmitRequest(session_id=made, request=a1.AgentRequest(message=a1.UserMessage(content="hello")))
    assert await _refusal(agent.Submit(say)) == unusable
    assert await _refusal(agent.Submit(_start(worktree_id=fix.id))) == unusable
    assert await _refusal(worktrees.SwitchWorktree(v1.SwitchWorktreeRequest(worktree_id=fix.id))) == unusable
    stale = (await worktrees.ListWorktrees(v1.ListWorktreesRequest())).worktrees[1]
    assert stale.state == v1.WORKTREE_STATE_STALE
    assert "is missing at" in stale.trouble


async def test_repositories_that_vanished_are_listed_and_hold_up_no_list(
    channel: aio.Channel, repository: Path, tmp_path: Path
) -> None:
    worktrees = WorktreeServiceStub(channel)
    git(tmp_path, "clone", "-q", "--bare", str(repository), str(tmp_path / "bare.git"))
    for each in (repository, tmp_path / "bare.git"):
        await worktrees.ListWorktrees(v1.ListWorktreesRequest(repo_path=str(each)))
    shutil.rmtree(repository)
    states = {each.name: each.state for each in (await worktrees.ListWorktrees(v1.ListWorktreesRequest())).worktrees}
    assert states == {"shop": v1.WORKTREE_STATE_STALE, "fix": v1.WORKTREE_STATE_STALE}
    found = (await worktrees.ListRepositories(v1.ListRepositoriesRequest())).repositories
    assert [(each.name, each.path, each.is_bare, each.worktree_count) for each in found] == [
        ("shop", str(repository), False, 2),
        ("bare", str(tmp_path / "bare.git"), True, 0),
    ]
    shutil.rmtree(tmp_path / "bare.git")
    await worktrees.ListWorktrees(v1.ListWorktreesRequest())
    left = (await worktrees.ListRepositories(v1.ListRepositoriesRequest())).repositories
    assert [each.name for each in left] == ["shop"], "of the other one nothing is kept"


async def test_branches_say_where_they_are_checked_out(channel: aio.Channel, repository: Path, tmp_path: Path) -> None:
    worktrees = WorktreeServiceStub(channel)
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(repository), str(clone))
    git(clone, "worktree", "add", "-q", "-b", "näme", str(tmp_path / "a place"))
    commit(tmp_path / "a place", {"a": "b"}, "the newest")
    git(tmp_path / "a place", "commit", "-q", "--amend", "--no-edit", GIT_COMMITTER_DATE="2038-01-01T00:00:00Z")
    answer = await worktrees.ListBranches(v1.ListBranchesRequest(repo_path=str(clone)))
    ids = {
        each.path: each.id
        for each in (await worktrees.ListWorktrees(v1.ListWorktreesRequest(repo_path=str(clone)))).worktrees
    }
    assert [(each.name, each.is_head, each.worktree_id, each.subject) for each in answer.branches] == [
        ("näme", False, ids[str(tmp_path / "a place")], "the newest"),
        ("main", True, ids[str(clone)], "a change"),
    ]
    more = await worktrees.ListBranches(v1.ListBranchesRequest(repo_path=str(clone), include_remote=True))
    assert {each.name for each in more.branches if each.is_remote} == {"origin/main", "origin/fix"}
