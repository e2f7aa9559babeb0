"""Making worktrees over the API: told as it happens, refused with reasons, and without setups for agents."""

import json
import os
import sys
from collections.abc import AsyncIterable, AsyncIterator, Awaitable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import anyio
import grpc
import pytest
from grpc import aio

from betcode.client import NewConversation, open_client
from betcode.client.errors import ClientError, client_error
from betcode.v1 import worktree_pb2 as v1
from betcode.v1.worktree_pb2_grpc import WorktreeServiceStub
from support.daemon.process import Daemon, obedient_daemon
from support.daemon.session import Talk
from support.git.repositories import git, make_repository
from support.patience import PATIENCE_S

if TYPE_CHECKING:
    from betcode.v1.worktree_pb2_grpc import WorktreeServiceAsyncStub

pytestmark = pytest.mark.anyio
T = TypeVar("T")
Calls: TypeAlias = "WorktreeServiceAsyncStub"
SETTINGS = {"worktree": {"setup_commands": ["sh setup.sh"]}}


@pytest.fixture(scope="module")
async def daemon(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Daemon]:
    async with obedient_daemon(tmp_path_factory.mktemp("daemon"), settings=SETTINGS) as daemon:
        yield daemon


@pytest.fixture
async def calls(daemon: Daemon) -> AsyncIterator[Calls]:
    async with daemon.channel() as channel:
        yield WorktreeServiceStub(channel)


def repository(place: Path, setup: str) -> str:
    return str(make_repository(place / "shop", {"setup.sh": setup}))


def umask() -> int:
    """Of whoever started the daemon."""
    before = os.umask(0o022)
    os.umask(before)
    return before


async def refusal(call: Awaitable[object]) -> ClientError:
    with anyio.fail_after(PATIENCE_S), pytest.raises(aio.AioRpcError) as told:
        await call
    return client_error(told.value)


async def all_of(stream: AsyncIterable[T]) -> list[T]:
    with anyio.fail_after(PATIENCE_S):
        return [each async for each in stream]


@pytest.mark.behaviour("worktree.list.info", "worktree.create.registered")
async def test_a_worktree_is_created_reported_and_known_to_the_next_daemon(
    daemon: Daemon, calls: Calls, tmp_path: Path
) -> None:
    place = repository(tmp_path, "echo one; echo two >&2; touch by-setup")
    wanted = v1.CreateWorktreeRequest(repo_path=place, branch="fix/it", create_branch=True)
    told = await all_of(calls.WatchCreateWorktree(wanted))
    steps = [(each.step.what, each.step.number, each.step.of) for each in told if each.HasField("step")]
    assert steps == [("git worktree add", 1, 0), ("sh setup.sh", 2, 2)]
    assert b"".join(each.output.data for each in told) == b"one\ntwo\n"
    done = told[-1].done
    assert (done.name, done.branch, done.path) == ("fix-it", "fix/it", str(tmp_path / "shop-fix-it"))
    assert (done.state, done.setup) == (v1.WORKTREE_STATE_READY, v1.WORKTREE_SETUP_DONE)
    assert done.base == git(Path(place), "rev-parse", "HEAD")
    assert done.created_at.ToNanoseconds() > 0
    # The daemon keeps its own files private, and the user's as the user would.
    modes = {(Path(done.path) / name).stat().st_mode & 0o777 for name in ("setup.sh", "by-setup")}
    assert modes == {0o666 & ~umask()}
    read = await all_of(calls.ReadSetupOutput(v1.ReadSetupOutputRequest(worktree_id=done.id)))
    assert b"".join(each.data for each in read) == b"one\ntwo\n"

    await daemon.restart()
    async with daemon.channel() as channel:
        listed = await WorktreeServiceStub(channel).ListWorktrees(v1.ListWorktreesRequest(repo_path=place))
        assert [each for each in listed.worktrees if not each.is_main] == [done]


async def test_a_setup_that_fails_is_an_error_with_its_last_words(calls: Calls, tmp_path: Path) -> None:
    place = repository(tmp_path, "seq 1 10000; echo no such package; exit 7")
    wanted = v1.CreateWorktreeRequest(repo_path=place, branch="fix", create_branch=True)
    error = await refusal(calls.CreateWorktree(wanted))
    assert (error.code, error.status) == ("WORKTREE_SETUP_FAILED", grpc.StatusCode.FAILED_PRECONDITION)
    assert error.details["output"].endswith("9999\n10000\nno such package")
    assert error.details["kept"] == "true"
    again = v1.SetUpWorktreeRequest(worktree_id=error.details["worktree_id"])
    assert (await refusal(all_of(calls.SetUpWorktree(again)))).code == "WORKTREE_SETUP_FAILED"
    (Path(place).parent / "shop-fix" / "setup.sh").write_text("true")
    told = await all_of(calls.SetUpWorktree(again))
    assert (told[0].step.what, told[-1].done.setup) == ("sh setup.sh", v1.WORKTREE_SETUP_DONE)

    wanted.branch, wanted.on_setup_failure = "other", v1.ON_SETUP_FAILURE_ROLL_BACK
    error = await refusal(all_of(calls.WatchCreateWorktree(wanted)))
    assert (error.code, error.details["kept"]) == ("WORKTREE_SETUP_FAILED", "false")
    assert not (tmp_path / "shop-other").exists()


@pytest.mark.behaviour("worktree.create.duplicate", "error.status.already-exists")
async def test_what_is_refused_has_its_status_and_its_code(calls: Calls, tmp_path: Path) -> None:
    place = repository(tmp_path, "true")
    for request, code, status in (
        (v1.CreateWorktreeRequest(repo_path=place, branch="main"), "WORKTREE_EXISTS", "ALREADY_EXISTS"),
        (v1.CreateWorktreeRequest(repo_path=place, branch="nowhere"), "BRANCH_NOT_FOUND", "NOT_FOUND"),
        (v1.CreateWorktreeRequest(repo_path=place, branch="a b"), "INVALID_REQUEST", "INVALID_ARGUMENT"),
        (v1.CreateWorktreeRequest(repo_path=str(tmp_path), branch="a"), "REPOSITORY_NOT_FOUND", "NOT_FOUND"),
    ):
        error = await refusal(calls.CreateWorktree(request))
        assert (error.code, error.status.name) == (code, status)
    nobody = "00000000"
    set_up = all_of(calls.SetUpWorktree(v1.SetUpWorktreeRequest(worktree_id=nobody)))
    assert (await refusal(set_up)).code == "WORKTREE_NOT_FOUND"
    read = all_of(calls.ReadSetupOutput(v1.ReadSetupOutputRequest(worktree_id=nobody)))
    assert (await refusal(read)).code == "WORKTREE_NOT_FOUND"


async def test_who_leaves_leaves_the_work_to_itself(calls: Calls, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    place = repository(tmp_path, f"echo here; while [ ! -e {gate} ]; do sleep 0.01; done; touch went-on")
    call = calls.WatchCreateWorktree(v1.CreateWorktreeRequest(repo_path=place, branch="fix", create_branch=True))
    with anyio.fail_after(PATIENCE_S):
        async for each in call:
            if each.output.data == b"here\n":
                break
        call.cancel()
        gate.touch()
        while True:
            listed = await calls.ListWorktrees(v1.ListWorktreesRequest(repo_path=place))
            if listed.worktrees[1].setup != v1.WORKTREE_SETUP_RUNNING:
                break
            await anyio.sleep(0.01)
    assert listed.worktrees[1].setup == v1.WORKTREE_SETUP_DONE
    assert (tmp_path / "shop-fix" / "went-on").exists()


async def test_an_agent_may_have_a_worktree_made_and_no_setup_run(daemon: Daemon, tmp_path: Path) -> None:
    place = repository(tmp_path, "touch ran")
    program = tmp_path / "create.py"
    program.write_text(CREATE)
    async with open_client(daemon.paths) as client:
        talk = Talk(client, await client.start_session(NewConversation(str(daemon.work), provider="claude")))
        await talk.say(f"spawn {sys.executable} {program} {daemon.paths.socket} {place} {tmp_path / 'elsewhere'}")
        events = await talk.until(lambda event: "{" in event.text_delta.text)
    said = json.loads(events[-1].text_delta.text)
    assert said["made"] == v1.WORKTREE_SETUP_SKIPPED
    assert "because an agent created the worktree" in said["trouble"]
    assert (said["path"], said["setup"]) == ("PERMISSION_DENIED", "PERMISSION_DENIED")
    assert not (tmp_path / "shop-fix" / "ran").exists()
    assert not (tmp_path / "elsewhere").exists()


CREATE = """\
import json
import os
import sys
import grpc
from betcode.v1 import worktree_pb2 as v1
from betcode.v1.worktree_pb2_grpc import WorktreeServiceStub

socket, repository, elsewhere = sys.argv[1:]


def refused(call, request):
    try:
        list(call(request, timeout=60))
    except grpc.RpcError as error:
        return error.code().name
    return "OK"


with grpc.insecure_channel("unix:" + socket) as channel:
    calls = WorktreeServiceStub(channel)
    request = v1.CreateWorktreeRequest(repo_path=repository, branch="fix", create_branch=True)
    made = calls.CreateWorktree(request, timeout=60)
    path = v1.CreateWorktreeRequest(repo_path=repository, branch="x", create_branch=True, path=elsewhere)
    said = {
        "made": made.setup,
        "trouble": made.trouble,
        "path": refused(calls.WatchCreateWorktree, path),
        "setup": refused(calls.SetUpWorktree, v1.SetUpWorktreeRequest(worktree_id=made.id)),
    }
    print(json.dumps(said))
"""
