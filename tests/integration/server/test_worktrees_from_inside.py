"""What a process of an agent may ask about worktrees: to look and to make one, whichever way it calls."""

import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from betcode.client import NewConversation, NewWorktree, open_client
from support.daemon.audit_rows import gate_rows, has_lineage
from support.daemon.process import Daemon, obedient_daemon
from support.daemon.session import Talk
from support.daemon.tcp import LOOPBACK, address_of, token_file
from support.git.repositories import make_repository

pytestmark = pytest.mark.anyio
FOR_PEOPLE = {"switch", "remove", "force", "set-up", "restore", "forget", "create-at", "trust"}
FOR_AGENTS = {"list", "inspect", "report", "diff", "branches", "repositories", "removed", "output", "create"}
AUDITED = [
    ("allowed", "CreateWorktree"),
    *(("refused", method) for method in ("CreateWorktree", "ForgetWorktree", "RemoveWorktree", "RemoveWorktree")),
    *(("refused", method) for method in ("RestoreWorktree", "SetUpWorktree", "SwitchWorktree", "TrustProject")),
]


@pytest.fixture(scope="module")
async def daemon(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Daemon]:
    async with obedient_daemon(tmp_path_factory.mktemp("inside"), settings={"daemon": {**LOOPBACK}}) as daemon:
        yield daemon


@pytest.mark.parametrize("way", ["socket", "tcp"])
async def test_an_agent_may_list_and_create_worktrees_only(daemon: Daemon, tmp_path: Path, way: str) -> None:
    repository = make_repository(tmp_path / "shop")
    program = tmp_path / "ask.py"
    program.write_text(ASK)
    address = f"unix:{daemon.paths.socket}" if way == "socket" else str(await address_of(daemon))
    token = "-" if way == "socket" else str(token_file(daemon))
    async with open_client(daemon.paths) as client:
        fix = await client.worktrees.create(NewWorktree(str(repository), "fix", create_branch=True))
        talk = Talk(client, await client.start_session(NewConversation(str(daemon.work), provider="claude")))
        await talk.say(f"spawn {sys.executable} {program} {address} {token} {repository} {fix.id}")
        events = await talk.until(lambda event: "{" in event.text_delta.text)
        said = json.loads(events[-1].text_delta.text)
        assert {name for name, code in said.items() if code == "PERMISSION_DENIED"} == FOR_PEOPLE, said
        assert {name for name, code in said.items() if code == "OK"} == FOR_AGENTS, said
        rows = [row for row in gate_rows(daemon) if row["session_id"] == talk.session_id]
        assert sorted((row["outcome"], row["note"].rpartition(": ")[2]) for row in rows) == AUDITED
        assert all(map(has_lineage, rows)), rows
        now = await client.worktrees.list(str(repository))
        assert [(each.name, each.is_active) for each in now] == [("shop", False), ("fix", False), ("new", False)]
        assert (await client.worktrees.switch(fix.id)).worktree.is_active, "the same from outside is a person's"
        assert (await client.worktrees.remove(fix.id)).removed


ASK = """\
import json
import sys
import grpc
from betcode.v1 import policy_pb2 as p1
from betcode.v1 import worktree_pb2 as v1
from betcode.v1.policy_pb2_grpc import PolicyServiceStub
from betcode.v1.worktree_pb2_grpc import WorktreeServiceStub

address, token, repository, fix = sys.argv[1:]
metadata = () if token == "-" else (("authorization", "Bearer " + open(token).read().strip()),)
new = {"repo_path": repository, "create_branch": True}


def outcome(call, request):
    try:
        answer = call(request, timeout=60, metadata=metadata)
        if not hasattr(answer, "SerializeToString"):
            list(answer)
    except grpc.RpcError as error:
        return error.code().name
    return "OK"


with grpc.insecure_channel(address, options=[("grpc.enable_http_proxy", 0)]) as channel:
    calls = WorktreeServiceStub(channel)
    asked = {
        "list": (calls.ListWorktrees, v1.ListWorktreesRequest()),
        "inspect": (calls.InspectWorktree, v1.InspectWorktreeRequest(worktree_id=fix)),
        "report": (calls.ReportWorktrees, v1.ReportWorktreesRequest(repo_path=repository)),
        "diff": (calls.DiffWorktree, v1.DiffWorktreeRequest(worktree_id=fix)),
        "branches": (calls.ListBranches, v1.ListBranchesRequest(repo_path=repository)),
        "repositories": (calls.ListRepositories, v1.ListRepositoriesRequest()),
        "removed": (calls.ListRemovedWorktrees, v1.ListRemovedWorktreesRequest()),
        "output": (calls.ReadSetupOutput, v1.ReadSetupOutputRequest(worktree_id=fix)),
        "create": (calls.CreateWorktree, v1.CreateWorktreeRequest(branch="new", **new)),
        "create-at": (calls.CreateWorktree, v1.CreateWorktreeRequest(branch="at", path="/tmp/at", **new)),
        "switch": (calls.SwitchWorktree, v1.SwitchWorktreeRequest(worktree_id=fix)),
        "remove": (calls.RemoveWorktree, v1.RemoveWorktreeRequest(worktree_id=fix)),
        "force": (calls.RemoveWorktree, v1.RemoveWorktreeRequest(worktree_id=fix, force=True)),
        "set-up": (calls.SetUpWorktree, v1.SetUpWorktreeRequest(worktree_id=fix)),
        "restore": (calls.RestoreWorktree, v1.RestoreWorktreeRequest(repo_path=repository, removed_id="x")),
        "forget": (calls.ForgetWorktree, v1.ForgetWorktreeRequest(worktree_id=fix)),
        "trust": (PolicyServiceStub(channel).TrustProject, p1.TrustProjectRequest(directory=repository, trusted=True)),
    }
    said = {name: outcome(call, request) for name, (call, request) in asked.items()}
print(json.dumps(said))
"""
