"""Grants of a session: given with an answer or without, listed, cleared, and there again after a restart."""

from pathlib import Path
from typing import Any

import anyio
import apsw
import grpc
import pytest
from grpc import aio

from betcode.v1 import agent_pb2 as v1
from support.daemon.process import Agent, Daemon, agent_program, running_daemon
from support.daemon.stream import Stream, conversation, is_idle, kind_of
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio
ME = (("x-client-id", "somebody"), ("x-client-type", "phone"))
COMMIT = 'use Bash {"command": "git commit -m wip"}'


@pytest.fixture(scope="module")
async def daemon(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A daemon whose agents ask for what the prompt says."""
    root = tmp_path_factory.mktemp("granting")
    async with running_daemon(root, claude_bin=agent_program(root, "asker.py")) as daemon:
        yield daemon


async def asked(stream: Stream, text: str = COMMIT) -> v1.PermissionRequest:
    await stream.say(text)
    return (await stream.until("permission_request"))[-1].permission_request


async def allow_session(agent: Agent, request_id: str, pattern: str = "") -> v1.AnswerPermissionResponse:
    response = v1.PermissionResponse(request_id=request_id, decision=v1.ALLOW_SESSION, grant_pattern=pattern)
    with anyio.fail_after(PATIENCE_S):
        return await agent.AnswerPermission(v1.AnswerPermissionRequest(response=response), metadata=ME)


async def listed(agent: Agent, session_id: str) -> list[tuple[str, str, bool]]:
    answer = await agent.ListSessionGrants(v1.ListSessionGrantsRequest(session_id=session_id))
    return [(one.tool_name, one.pattern, one.granted) for one in answer.grants]


async def set_grant(agent: Agent, session_id: str, tool: str, pattern: str = "", *, granted: bool = True) -> None:
    request = v1.SetSessionGrantRequest(session_id=session_id, tool_name=tool, pattern=pattern, granted=granted)
    await agent.SetSessionGrant(request, metadata=ME)


async def test_a_request_lists_possible_grants(agent: Agent, tmp_path: Path) -> None:
    async with conversation(agent, working_directory=str(tmp_path)) as stream:
        request = await asked(stream)
        assert (request.tool_name, request.input_json) == ("Bash", '{"command":"git commit -m wip"}')
        assert [(offer.pattern, offer.label) for offer in request.grant_offers] == [
            ("Bash(git commit -m wip)", "this command"),
            ("Bash(git commit *)", "git commit with anything"),
            ("Bash(git:*)", "as the agent proposes"),
            ("Bash", "every use of Bash"),
        ]
        (entry,) = (await agent.ListPending(v1.ListPendingRequest(session_id=stream.session_id))).prompts
        assert entry.permission.grant_offers == request.grant_offers


@pytest.mark.behaviour("permission.answer.allow-session")
async def test_a_session_grant_is_stored_with_its_author(agent: Agent, daemon: Daemon, tmp_path: Path) -> None:
    async with conversation(agent, working_directory=str(tmp_path)) as stream:
        request = await asked(stream)
        for wrong in ("Bash(npm *)", "Edit", "Bash("):
            with pytest.raises(aio.AioRpcError) as error:
                await allow_session(agent, request.request_id, wrong)
            assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert await listed(agent, stream.session_id) == []
        assert not (await allow_session(agent, request.request_id, "Bash(git commit *)")).already_answered
        assert (await allow_session(agent, request.request_id, "Bash(git commit *)")).already_answered
        told = (await stream.until("permission_resolved"))[-1].permission_resolved
        assert (told.decision, told.grant_pattern) == (v1.ALLOW_SESSION, "Bash(git commit *)")
        await stream.until(is_idle)
        (grant,) = (await agent.ListSessionGrants(v1.ListSessionGrantsRequest(session_id=stream.session_id))).grants
        assert (grant.tool_name, grant.pattern, grant.granted) == ("Bash", "Bash(git commit *)", True)
        assert (grant.granted_by.split()[0], grant.request_id) == ("somebody", request.request_id)
        assert grant.granted_at.ToNanoseconds() > 0
        rows = on_disk(daemon, stream.session_id)
        assert rows == [("Bash", "Bash(git commit *)", "allow")]
        assert audited(daemon, stream.session_id)[-1] == ("grant", "granted", "Bash(git commit *)")


def on_disk(daemon: Daemon, session_id: str) -> list[Any]:
    return rows(
        daemon,
        "SELECT tool_name, pattern, action FROM permission_grants g JOIN sessions s ON s.key = g.session "
        "WHERE s.session_id = ?",
        session_id,
    )


def audited(daemon: Daemon, session_id: str) -> list[Any]:
    return rows(daemon, "SELECT what, outcome, rule FROM audit WHERE session_id = ? ORDER BY number", session_id)


def rows(daemon: Daemon, question: str, session_id: str) -> list[Any]:
    db = apsw.Connection(str(daemon.paths.database), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return list(db.execute(question, (session_id,)))
    finally:
        db.close()


async def test_grants_are_set_listed_and_cleared(agent: Agent, daemon: Daemon, tmp_path: Path) -> None:
    async with conversation(agent, working_directory=str(tmp_path)) as stream:
        await stream.until("session_info")
        session = stream.session_id
        await set_grant(agent, session, "Bash", "Bash(git *)")
        told = (await stream.until("notice"))[-1].notice
        assert (told.kind, told.details["pattern"]) == (v1.NOTICE_KIND_GRANT, "Bash(git *)")
        await set_grant(agent, session, "Bash", "Bash(git push *)", granted=False)
        await set_grant(agent, session, "WebSearch")
        await set_grant(agent, session, "Bash", "Bash(git *)")
        assert await listed(agent, session) == [
            ("Bash", "Bash(git push *)", False),
            ("WebSearch", "WebSearch", True),
            ("Bash", "Bash(git *)", True),
        ]
        clear = v1.ClearSessionGrantsRequest(session_id=session, tool_name="Bash", pattern="Bash(git *)")
        assert (await agent.ClearSessionGrants(clear, metadata=ME)).cleared == 1
        clear = v1.ClearSessionGrantsRequest(session_id=session, tool_name="Bash")
        assert (await agent.ClearSessionGrants(clear, metadata=ME)).cleared == 1
        assert await listed(agent, session) == [("WebSearch", "WebSearch", True)]
        clear = v1.ClearSessionGrantsRequest(session_id=session)
        assert (await agent.ClearSessionGrants(clear, metadata=ME)).cleared == 1
        assert (await agent.ClearSessionGrants(clear, metadata=ME)).cleared == 0
        assert on_disk(daemon, session) == []
        outcomes = [row[1] for row in audited(daemon, session)]
        assert outcomes == ["granted", "refused", "granted", "granted", "cleared", "cleared", "cleared"]


@pytest.mark.parametrize(
    ("tool", "pattern"),
    [("", ""), ("Bash", "Edit(x)"), ("Bash(", ""), ("*", ""), ("AskUserQuestion", ""), ("ExitPlanMode", "")],
)
async def test_what_is_no_rule_is_no_grant(agent: Agent, tmp_path: Path, tool: str, pattern: str) -> None:
    async with conversation(agent, working_directory=str(tmp_path)) as stream:
        await stream.until("session_info")
        with pytest.raises(aio.AioRpcError) as error:
            await set_grant(agent, stream.session_id, tool, pattern)
        assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert await listed(agent, stream.session_id) == []


@pytest.mark.behaviour("permission.grant.session-scope")
async def test_neither_another_session_nor_a_fork_has_it(agent: Agent, tmp_path: Path) -> None:
    async with (
        conversation(agent, working_directory=str(tmp_path)) as stream,
        conversation(agent, working_directory=str(tmp_path)) as other,
    ):
        await other.until("session_info")
        request = await asked(stream)
        await allow_session(agent, request.request_id)
        await stream.until(is_idle)
        assert await listed(agent, stream.session_id) == [("Bash", "Bash(git commit -m wip)", True)]
        assert await listed(agent, other.session_id) == []
        fork = await agent.ForkSession(v1.ForkSessionRequest(session_id=stream.session_id))
        assert await listed(agent, fork.session_id) == []


@pytest.mark.behaviour("permission.screen.grant", "events.order.auto-allowed-tool")
async def test_a_use_that_a_grant_covers_is_not_asked_again(agent: Agent, tmp_path: Path) -> None:
    async with conversation(agent, working_directory=str(tmp_path)) as stream:
        request = await asked(stream)
        await allow_session(agent, request.request_id, "Bash(git commit *)")
        await stream.until(is_idle)
        events = await stream.turn('use Bash {"command": "git commit -m again"}')
        assert not any(kind_of(event) == "permission_request" for event in events)
        assert [event.tool_call_result.output for event in events if kind_of(event) == "tool_call_result"] == ["it ran"]
        (await asked(stream, 'use Bash {"command": "git push"}'))


async def test_grants_are_changed_by_people_only(agent: Agent, tmp_path: Path) -> None:
    invented = (*ME, ("x-betcode-ticket", "invented"))
    async with conversation(agent, working_directory=str(tmp_path)) as stream:
        await stream.until("session_info")
        session = stream.session_id
        await set_grant(agent, session, "Bash")
        with pytest.raises(aio.AioRpcError) as error:
            await agent.SetSessionGrant(
                v1.SetSessionGrantRequest(session_id=session, tool_name="Edit", granted=True), metadata=invented
            )
        assert error.value.code() is grpc.StatusCode.PERMISSION_DENIED
        with pytest.raises(aio.AioRpcError) as error:
            await agent.ClearSessionGrants(v1.ClearSessionGrantsRequest(session_id=session), metadata=invented)
        assert error.value.code() is grpc.StatusCode.PERMISSION_DENIED
        assert await listed(agent, session) == [("Bash", "Bash", True)]
