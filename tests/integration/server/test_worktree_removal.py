"""The calls by which worktrees go and come back, as a client of the API meets them."""

from pathlib import Path

import grpc
import pytest

from betcode.server import Release
from betcode.v1 import worktree_pb2 as v1
from betcode.v1.worktree_pb2_grpc import WorktreeServiceStub
from support.daemon.in_process import served
from support.git.repositories import git, make_repository

pytestmark = pytest.mark.anyio


@pytest.mark.behaviour("worktree.remove.git", "worktree.remove.force")
async def test_a_worktree_goes_and_comes_back(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "shop")
    place = tmp_path / "fix"
    git(repository, "worktree", "add", "-q", "-b", "fix", str(place))
    (place / "no\udcfftes").write_text("x")
    async with served(tmp_path, Release()) as (_, channel):
        calls = WorktreeServiceStub(channel)
        listed = await calls.ListWorktrees(v1.ListWorktreesRequest(repo_path=str(repository)))
        fix = listed.worktrees[1]
        inside = await calls.InspectWorktree(v1.InspectWorktreeRequest(worktree_id=fix.id))
        assert (list(inside.untracked), inside.untracked_count, inside.is_clean) == (["no\ufffdtes"], 1, False)
        with pytest.raises(grpc.RpcError) as refused:
            await calls.RemoveWorktree(v1.RemoveWorktreeRequest(worktree_id=fix.id))
        assert refused.value.code() is grpc.StatusCode.FAILED_PRECONDITION
        assert "1 untracked file (no\\xfftes)" in str(refused.value.details())

        reports = [each async for each in calls.ReportWorktrees(v1.ReportWorktreesRequest(repo_path=str(repository)))]
        assert sorted((each.worktree.name, each.may_be_removed) for each in reports) == [
            ("fix", False),
            ("shop", False),
        ]

        gone = await calls.RemoveWorktree(v1.RemoveWorktreeRequest(worktree_id=fix.id, force=True))
        assert (gone.removed, bool(gone.removed_id), gone.kept_until.seconds > 0) == (True, True, True)
        (kept,) = (await calls.ListRemovedWorktrees(v1.ListRemovedWorktreesRequest())).removed
        assert (kept.id, kept.name, kept.branch, kept.path) == (gone.removed_id, "fix", "fix", str(place))
        assert kept.kept_until.seconds - kept.removed_at.seconds == 30 * 86400
        asked = v1.RestoreWorktreeRequest(repo_path=str(repository), removed_id=kept.id)
        back = await calls.RestoreWorktree(asked)
        assert (back.id, back.state, back.trouble) == (fix.id, v1.WORKTREE_STATE_READY, "")
        assert [each.name for each in place.iterdir() if each.name.startswith("no")] == ["no\udcfftes"]


@pytest.mark.behaviour("worktree.unknown", "error.code.worktree-not-found")
@pytest.mark.parametrize("call", ["RemoveWorktree", "InspectWorktree", "ForgetWorktree"])
async def test_an_unknown_worktree_is_not_found(tmp_path: Path, call: str) -> None:
    async with served(tmp_path, Release()) as (_, channel):
        request = getattr(v1, f"{call}Request")(worktree_id="0198b2aa-0000-7000-8000-000000000000")
        with pytest.raises(grpc.RpcError) as refused:
            await getattr(WorktreeServiceStub(channel), call)(request)
    assert refused.value.code() is grpc.StatusCode.NOT_FOUND
    assert refused.value.details() == "Worktree does not exist"


@pytest.mark.parametrize(
    ("call", "request_of"),
    [
        ("RemoveWorktree", v1.RemoveWorktreeRequest(worktree_id="x", force=True)),
        ("RemoveWorktree", v1.RemoveWorktreeRequest(worktree_id="x")),
        ("SwitchWorktree", v1.SwitchWorktreeRequest(worktree_id="x")),
        ("RestoreWorktree", v1.RestoreWorktreeRequest(repo_path="/", removed_id="x")),
        ("ForgetWorktree", v1.ForgetWorktreeRequest(worktree_id="x")),
    ],
)
async def test_what_is_for_people_needs_a_ticket_that_counts(tmp_path: Path, call: str, request_of: object) -> None:
    async with served(tmp_path, Release()) as (_, channel):
        asked = getattr(WorktreeServiceStub(channel), call)
        with pytest.raises(grpc.RpcError) as refused:
            await asked(request_of, metadata=(("x-betcode-ticket", "an agent has none"),))
    assert refused.value.code() is grpc.StatusCode.PERMISSION_DENIED
