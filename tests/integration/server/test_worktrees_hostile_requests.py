"""Every text of every call about worktrees may be anything: a clear refusal, in time, and nothing is made by it."""

import os
from pathlib import Path

import anyio
import grpc
import pytest
from google.protobuf.descriptor import FieldDescriptor, MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from grpc import aio

from betcode.server import Release
from betcode.v1 import worktree_pb2 as v1
from support.daemon.in_process import served
from support.daemon.raw_calls import RawCalls, path_of
from support.git.repositories import git, make_repository
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio
METHODS = [
    method
    for method in v1.DESCRIPTOR.services_by_name["WorktreeService"].methods
    if method.name != "WatchCreateWorktree"  # is CreateWorktree, told
]
TEXTS = [
    *("", "..", "/", "-", "--upload-pack=x", "@{-1}", ":/x", "HEAD^{/y}", "x\0y", "\x1b[31mx\n\u202e", "x" * 1_000_000),
    *("/proc/self/fd", "/dev/zero", "TOP/pipe", "TOP/shut", "TOP/loop", "TOP/shop/.git", "TOP/out", "TOP/shop/\n"),
]
BAD = (grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN, grpc.StatusCode.DEADLINE_EXCEEDED)


@pytest.fixture
def top(tmp_path: Path) -> Path:
    repository = make_repository(tmp_path / "shop")
    git(repository, "worktree", "add", "-q", "-b", "fix", str(tmp_path / "fix"))
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").touch()
    (tmp_path / "shut").mkdir(mode=0)
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "out").symlink_to("/")
    return tmp_path


def usual(kind: type[Message], top: Path, worktree: str) -> Message:
    """A request that would be carried out."""
    values = {"repo_path": str(top / "shop"), "worktree_id": worktree, "branch": "new", "removed_id": "x"}
    return kind(**{name: value for name, value in values.items() if name in kind.DESCRIPTOR.fields_by_name})


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
async def test_whatever_a_text_is_the_answer_is_clear(top: Path, method: MethodDescriptor) -> None:
    kind = GetMessageClass(method.input_type)
    texts = [each.name for each in kind.DESCRIPTOR.fields if each.type == FieldDescriptor.TYPE_STRING]
    wrong: list[tuple[str, str, grpc.StatusCode]] = []
    async with served(top / "state", Release()) as (_, channel):
        listing = v1.ListWorktreesRequest(repo_path=str(top / "shop")).SerializeToString()
        listed = v1.ListWorktreesResponse.FromString(
            await RawCalls(channel).unary("/betcode.v1.WorktreeService/ListWorktrees", listing)
        )
        ids = [listed.worktrees[1].id[:4], listed.worktrees[1].id.upper()[:-1] + "g", "0190"]
        for name in texts:
            for value in (*TEXTS, *ids):
                request = usual(kind, top, listed.worktrees[1].id)
                setattr(request, name, value.replace("TOP", str(top)))
                if isinstance(request, v1.CreateWorktreeRequest):
                    request.create_branch = name in ("branch", "base")
                code = await _code(channel, method, request.SerializeToString())
                if code in BAD:
                    wrong.append((name, value[:50], code))
        if "on_setup_failure" in kind.DESCRIPTOR.fields_by_name:
            odd = v1.CreateWorktreeRequest(repo_path=str(top / "shop"), branch="fix", on_setup_failure=77)  # type: ignore[arg-type]
            assert await _code(channel, method, odd.SerializeToString()) is grpc.StatusCode.INVALID_ARGUMENT
        assert not wrong


async def _code(channel: aio.Channel, method: MethodDescriptor, data: bytes) -> grpc.StatusCode:
    with anyio.fail_after(PATIENCE_S):
        try:
            if method.server_streaming:
                stream: aio.UnaryStreamMultiCallable[bytes, bytes] = channel.unary_stream(path_of(method))
                _ = [message async for message in stream(data)]
            else:
                await RawCalls(channel).unary(path_of(method), data)
        except aio.AioRpcError as error:
            return error.code()
    return grpc.StatusCode.OK
