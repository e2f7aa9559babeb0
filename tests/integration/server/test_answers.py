"""Answers in full over the API: every decision, once, with who gave it; and all equal prompts at a stroke."""

import json
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import apsw
import grpc
import pytest
from grpc import aio

from betcode.v1 import agent_pb2 as v1
from support.daemon.process import Agent, Daemon, agent_program, becomes_true, running_daemon
from support.daemon.stream import Stream, conversation, info_of, is_idle, kind_of, kinds
from support.patience import PATIENCE_S
from support.rules.files import write_rules

pytestmark = pytest.mark.anyio
COMMIT = 'use Bash {"command": "git commit -m wip"}'


@pytest.fixture(scope="module")
async def daemon(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Daemon]:
    """A daemon whose agents ask for what the prompt says."""
    root = tmp_path_factory.mktemp("asking")
    async with running_daemon(root, claude_bin=agent_program(root, "asker.py")) as daemon:
        yield daemon


async def asked(stream: Stream, text: str = COMMIT) -> v1.PermissionRequest:
    await stream.say(text)
    return (await stream.until("permission_request"))[-1].permission_request


async def answer(
    agent: Agent,
    request_id: str,
    decision: v1.PermissionDecision.ValueType,
    *,
    client: str = "somebody",
    equal: bool = False,
    **more: Any,
) -> v1.AnswerPermissionResponse:
    response = v1.PermissionResponse(request_id=request_id, decision=decision, **more)
    request = v1.AnswerPermissionRequest(response=response, equal_prompts=equal)
    with anyio.fail_after(PATIENCE_S):
        return await agent.AnswerPermission(request, metadata=(("x-client-id", client), ("x-client-type", "phone")))


async def refused(
    agent: Agent, request_id: str, decision: v1.PermissionDecision.ValueType, **more: Any
) -> aio.AioRpcError:
    with pytest.raises(aio.AioRpcError) as error:
        await answer(agent, request_id, decision, **more)
    return error.value


def heard(work: Path) -> list[dict[str, Any]]:
    """What the agent was told, answer by answer."""
    return [json.loads(line) for line in (work / "answers.jsonl").read_text().splitlines()]


def audited(daemon: Daemon, session_id: str) -> list[tuple[Any, ...]]:
    """Rows of the audit, as they are on disk."""
    db = apsw.Connection(str(daemon.paths.database), flags=apsw.SQLITE_OPEN_READONLY)
    columns = "what, outcome, decided_by, tool_name, client, rule, note"
    try:
        return list(db.execute(f"SELECT {columns} FROM audit WHERE session_id = ? ORDER BY number", (session_id,)))
    finally:
        db.close()


def resolved_in(events: list[v1.AgentEvent]) -> v1.PermissionResolved:
    return next(event.permission_resolved for event in events if kind_of(event) == "permission_resolved")


@pytest.mark.behaviour("permission.answer.allow-once", "permission.answer.found")
async def test_allowed_once_it_runs_and_the_next_use_asks_again(agent: Agent, daemon: Daemon, tmp_path: Path) -> None:
    async with conversation(agent, working_directory=str(tmp_path)) as stream:
        first = await asked(stream, f"{COMMIT}\n{COMMIT}")
        await answer(agent, first.request_id, v1.ALLOW_ONCE)
        second = (await stream.until("permission_request"))[-1].permission_request
        assert second.request_id != first.request_id
        await answer(agent, second.request_id, v1.DENY, message="enough")
        await stream.until(is_idle)
        own = {"command": "git commit -m wip"}
        assert heard(tmp_path) == [
            {"tool": "Bash", "input": own, "behavior": "allow", "updatedInput": own},
            {"tool": "Bash", "input": own, "behavior": "deny", "message": "enough"},
        ]
        rows = [row for row in audited(daemon, stream.session_id) if row[2] == "person"]
        who = "somebody (no ticket)"
        assert rows == [
            ("decision", "allow", "person", "Bash", who, "", "ALLOW_ONCE"),
            ("decision", "deny", "person", "Bash", who, "", "DENY"),
        ]


@pytest.mark.behaviour("permission.answer.deny", "wire.stdin.deny")
@pytest.mark.parametrize("decision", [v1.DENY, v1.DENY_NO_INTERRUPT])
async def test_a_denial_is_sent_to_the_agent_and_the_turn_continues(
    agent: Agent, tmp_path: Path, decision: v1.PermissionDecision.ValueType
) -> None:
    async with conversation(agent, working_directory=str(tmp_path)) as stream:
        request = await asked(stream)
        await answer(agent, request.request_id, decision)
        events = await stream.until(is_idle)
        assert (
            next(event.turn_complete.stop_reason for event in events if event.HasField("turn_complete")) == "end_turn"
        )
        assert heard(tmp_path)[0]["message"] == "User denied permission."


async def test_a_denial_can_stop_the_turn_and_takes_back_what_is_open_beside_it(agent: Agent, tmp_path: Path) -> None:
    async with conversation(agent, working_directory=str(tmp_path)) as stream:
        first = await asked(stream, 'use Read {"file_path": "/srv/a"}\nand Read {"file_path": "/srv/b"}\nsay never')
        second = (await stream.until("permission_request"))[-1].permission_request
        await answer(agent, first.request_id, v1.DENY_WITH_INTERRUPT, message="stop it")
        events = await stream.until(is_idle)
        assert heard(tmp_path) == [
            {
                "tool": "Read",
                "input": {"file_path": "/srv/a"},
                "behavior": "deny",
                "message": "stop it",
                "interrupt": True,
            }
        ]
        ends = [
            (one.permission_resolved.request_id, one.permission_resolved.resolution)
            for one in events
            if kind_of(one) == "permission_resolved"
        ]
        assert ends == [(first.request_id, "answered"), (second.request_id, "withdrawn")]
        tail = [kind for kind in kinds(events) if kind in ("turn_complete", "status_change", "message_state")][-3:]
        assert tail == ["message_state", "turn_complete", "status_change"]
        turn = next(event.turn_complete for event in events if kind_of(event) == "turn_complete")
        assert turn.stop_reason == "cancelled"
        late = await refused(agent, second.request_id, v1.ALLOW_ONCE)
        assert info_of(late).reason == "PERMISSION_STALE"
        assert "done" in "".join(event.text_delta.text for event in await stream.turn("say next"))


async def test_an_edited_input_runs_and_is_in_the_history(agent: Agent, daemon: Daemon, tmp_path: Path) -> None:
    async with conversation(agent, working_directory=str(tmp_path)) as stream:
        request = await asked(stream, f"{COMMIT}\n{COMMIT}")
        for wrong in ({}, {"updated_input_json": "[1]"}, {"updated_input_json": '{"a": NaN}'}):
            error = await refused(agent, request.request_id, v1.ALLOW_WITH_EDIT, **wrong)
            assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
        error = await refused(agent, request.request_id, v1.ALLOW_ONCE, updated_input_json="{}")
        assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
        edited = '{"command": "git commit -m better", "timeout": 12345678901234567890}'
        await answer(agent, request.request_id, v1.ALLOW_WITH_EDIT, updated_input_json=edited)
        assert (await answer(agent, request.request_id, v1.ALLOW_WITH_EDIT, updated_input_json=edited)).already_answered
        events = await stream.until("permission_request")
        assert resolved_in(events).updated_input_json == edited
        values = v1.PermissionResponse().updated_input
        values.update({"command": "git status", "timeout": 10})
        await answer(agent, events[-1].permission_request.request_id, v1.ALLOW_WITH_EDIT, updated_input=values)
        events = await stream.until(is_idle)
        assert json.loads(resolved_in(events).updated_input_json) == {"command": "git status", "timeout": 10}
        assert [one["updatedInput"] for one in heard(tmp_path)] == [
            json.loads(edited),
            {"command": "git status", "timeout": 10},
        ]
        assert "sha256" in next(row for row in audited(daemon, stream.session_id) if row[2] == "person")[-1]


async def test_an_edit_does_not_get_around_a_deny_rule(agent: Agent, tmp_path: Path) -> None:
    async with conversation(agent, working_directory=str(tmp_path)) as stream:
        request = await asked(stream)
        write_rules(tmp_path / ".claude" / "settings.json", deny=["Bash(git push *)"])  # while it waits
        denied = '{"command": "git commit -m wip && git push origin"}'
        error = await refused(agent, request.request_id, v1.ALLOW_WITH_EDIT, updated_input_json=denied)
        assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert "deny Bash(git push *)" in (error.details() or "")
        edited = '{"command": "git commit -m better"}'
        await answer(agent, request.request_id, v1.ALLOW_WITH_EDIT, updated_input_json=edited)
        await stream.until(is_idle)
        assert [one["updatedInput"] for one in heard(tmp_path)] == [json.loads(edited)]


async def test_what_a_rule_denies_by_now_cannot_be_allowed_any_more(agent: Agent, tmp_path: Path) -> None:
    async with conversation(agent, working_directory=str(tmp_path)) as stream:
        request = await asked(stream)
        write_rules(tmp_path / ".claude" / "settings.json", deny=["Bash(git commit *)"])  # while it waits
        for decision in (v1.ALLOW_ONCE, v1.ALLOW_SESSION):
            error = await refused(agent, request.request_id, decision)
            assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
            assert "deny Bash(git commit *)" in (error.details() or "")
        await answer(agent, request.request_id, v1.DENY)
        await stream.until(is_idle)
        assert [one["behavior"] for one in heard(tmp_path)] == ["deny"]


@pytest.mark.behaviour("permission.answer.duplicate", "permission.answer.idempotency-key")
async def test_the_first_answer_wins_and_later_ones_get_its_author_and_time(agent: Agent, tmp_path: Path) -> None:
    async with conversation(agent, working_directory=str(tmp_path)) as stream:
        request = await asked(stream)
        key = str(uuid.uuid4())
        assert not (
            await answer(agent, request.request_id, v1.DENY, client="ann", idempotency_key=key)
        ).already_answered
        assert (await answer(agent, request.request_id, v1.DENY, client="bob", idempotency_key=key)).already_answered
        error = await refused(agent, request.request_id, v1.ALLOW_ONCE, client="bob")
        details = info_of(error).metadata
        assert error.code() is grpc.StatusCode.FAILED_PRECONDITION
        assert info_of(error).reason == "PERMISSION_STALE"
        assert details["answered_by"].startswith("ann")
        assert details["answered_by_type"] == "phone"
        assert details["answered_at"].endswith("Z")
        assert "by ann" in (error.details() or "")
        told = resolved_in(await stream.until("permission_resolved"))
        assert (told.client_id.split()[0], told.client_type) == ("ann", "phone")
        await stream.until(is_idle)
        assert len(heard(tmp_path)) == 1
        other = await asked(stream)
        error = await refused(agent, other.request_id, v1.DENY, idempotency_key=key)
        assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert "idempotency key" in (error.details() or "")
        await answer(agent, other.request_id, v1.DENY)


async def test_many_answers_at_once_have_one_winner(agent: Agent, tmp_path: Path) -> None:
    async with conversation(agent, working_directory=str(tmp_path)) as stream:
        request = await asked(stream)
        won: list[int] = []
        refusals: list[str] = []

        async def try_it(number: int) -> None:
            decision = v1.ALLOW_ONCE if number % 2 else v1.DENY
            try:
                done = await answer(agent, request.request_id, decision, client=f"client-{number}")
            except aio.AioRpcError as error:
                refusals.append(info_of(error).reason)
            else:
                won.extend([] if done.already_answered else [number])

        async with anyio.create_task_group() as tasks:
            for number in range(10):
                tasks.start_soon(try_it, number)
        assert len(won) == 1
        assert refusals == ["PERMISSION_STALE"] * 5
        await stream.until(is_idle)
        assert len(heard(tmp_path)) == 1


@pytest.mark.behaviour("permission.answer.unknown-id", "permission.answer.unspecified")
async def test_an_answer_to_nothing_and_a_decision_of_nothing_are_errors(
    agent: Agent, daemon: Daemon, tmp_path: Path
) -> None:
    unknown = str(uuid.uuid4())
    assert (await refused(agent, unknown, v1.ALLOW_ONCE)).code() is grpc.StatusCode.NOT_FOUND
    await becomes_true(lambda: unknown in daemon.log)  # a thread writes the log
    warned = [json.loads(line) for line in daemon.log.splitlines() if unknown in line]
    assert [line["level"] for line in warned] == ["warn"]
    async with conversation(agent, working_directory=str(tmp_path)) as stream:
        request = await asked(stream)
        error = await refused(agent, request.request_id, v1.PERMISSION_DECISION_UNSPECIFIED)
        assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert not (tmp_path / "answers.jsonl").exists()
        await answer(agent, request.request_id, v1.DENY)
        await stream.until(is_idle)


async def test_equal_prompts_of_all_sessions_get_one_answer_each(agent: Agent, daemon: Daemon, tmp_path: Path) -> None:
    other_words = 'use Bash {"command" : "git\\u0020commit -m wip"}'
    async with (
        conversation(agent, working_directory=str(tmp_path)) as one,
        conversation(agent, working_directory=str(tmp_path)) as two,
        conversation(agent, working_directory=str(tmp_path)) as three,
    ):
        first, second = await asked(one), await asked(two, other_words)
        third = await asked(three, 'use Bash {"command": "git commit -m other"}')
        done = await answer(agent, first.request_id, v1.ALLOW_ONCE, equal=True, idempotency_key=str(uuid.uuid4()))
        assert (done.already_answered, list(done.also_answered)) == (False, [second.request_id])
        await one.until(is_idle)
        await two.until(is_idle)
        again = await answer(agent, first.request_id, v1.ALLOW_ONCE, equal=True)
        assert (again.already_answered, list(again.also_answered)) == (True, [])
        assert [entry.request_id for entry in (await agent.ListPending(v1.ListPendingRequest())).prompts] == [
            third.request_id
        ]
        assert len(heard(tmp_path)) == 2
        assert [row[1] for row in audited(daemon, two.session_id) if row[2] == "person"] == ["allow"]
        await answer(agent, third.request_id, v1.DENY)


@pytest.mark.behaviour("permission.blocks-agent")
async def test_prompts_open_at_once_are_answered_in_any_order(agent: Agent, tmp_path: Path) -> None:
    async with conversation(agent, working_directory=str(tmp_path)) as stream:
        first = await asked(stream, 'use Read {"file_path": "/srv/a"}\nand Read {"file_path": "/srv/b"}')
        second = (await stream.until("permission_request"))[-1].permission_request
        assert len((await agent.ListPending(v1.ListPendingRequest(session_id=stream.session_id))).prompts) == 2
        await answer(agent, second.request_id, v1.ALLOW_ONCE)
        await answer(agent, first.request_id, v1.DENY, message="not a")
        await stream.until(is_idle)
        assert [(one["input"]["file_path"], one["behavior"]) for one in heard(tmp_path)] == [
            ("/srv/b", "allow"),
            ("/srv/a", "deny"),
        ]


@pytest.mark.behaviour("permission.replay.in-flight-answer", "permission.grant.stored", "permission.store.decisions")
async def test_what_was_answered_and_granted_is_known_after_the_daemon_was_killed(tmp_path: Path) -> None:
    granted: dict[str, Any] = {"grant_pattern": "Bash(git commit *)", "idempotency_key": str(uuid.uuid4())}
    async with running_daemon(tmp_path, claude_bin=agent_program(tmp_path, "asker.py")) as daemon:
        async with daemon.agent_service() as agent, conversation(agent, working_directory=str(daemon.work)) as stream:
            request = await asked(stream)
            await answer(agent, request.request_id, v1.ALLOW_SESSION, client="ann", **granted)
            await stream.until(is_idle)
        daemon.kill()
        db = apsw.Connection(str(daemon.paths.database), flags=apsw.SQLITE_OPEN_READWRITE)
        stored = list(db.execute("SELECT request_id, response_received, response_decision FROM pending_permissions"))
        db.close()
        assert stored == [(request.request_id, 1, "allow_session")]
        await daemon.start()
        known = v1.StartConversation(session_id=stream.session_id, from_sequence=stream.events[-1].sequence)
        async with daemon.agent_service() as agent, conversation(agent, known) as stream:
            assert (await answer(agent, request.request_id, v1.ALLOW_SESSION, **granted)).already_answered
            error = await refused(agent, request.request_id, v1.ALLOW_ONCE)
            assert info_of(error).metadata["answered_by"].startswith("ann")
            listing = await agent.ListSessionGrants(v1.ListSessionGrantsRequest(session_id=known.session_id))
            assert [grant.pattern for grant in listing.grants] == ["Bash(git commit *)"]
            assert "permission_request" not in kinds(await stream.turn('use Bash {"command": "git commit -m more"}'))
            other = await asked(stream, 'use Bash {"command": "git push"}')
            error = await refused(agent, other.request_id, v1.DENY, idempotency_key=granted["idempotency_key"])
            assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert [one["behavior"] for one in heard(daemon.work)] == ["allow", "allow"]
