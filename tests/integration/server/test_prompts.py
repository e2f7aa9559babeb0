"""Prompts over the API: listed, answered by anyone but the agent itself, and once."""

import os
import sys
import uuid
from pathlib import Path

import anyio
import grpc
import pytest
from grpc import aio

from betcode.v1 import agent_pb2 as v1
from support.attacks import answer_own_prompt as answering
from support.daemon.process import Agent, Daemon, obedient_daemon
from support.daemon.stream import Stream, conversation, history, info_of, is_idle, kind_of, kinds, text_of
from support.patience import PATIENCE_S
from support.rules.files import decisions
from support.storage.rows import ask

pytestmark = pytest.mark.anyio


async def asked(stream: Stream, text: str = "tool") -> v1.PermissionRequest:
    await stream.say(text)
    return (await stream.until("permission_request"))[-1].permission_request


async def answered(
    agent: Agent, request_id: str, decision: v1.PermissionDecision.ValueType = v1.ALLOW_ONCE, ticket: str = ""
) -> v1.AnswerPermissionResponse:
    metadata = [("x-client-id", "somebody")] + ([("x-betcode-ticket", ticket)] if ticket else [])
    response = v1.PermissionResponse(request_id=request_id, decision=decision, message="because")
    with anyio.fail_after(PATIENCE_S):
        return await agent.AnswerPermission(v1.AnswerPermissionRequest(response=response), metadata=metadata)


async def refused(agent: Agent, request_id: str, **how: str) -> aio.AioRpcError:
    with pytest.raises(aio.AioRpcError) as error:
        await answered(agent, request_id, **how)  # type: ignore[arg-type]
    return error.value


async def ticket_for_me(daemon: Daemon) -> str:
    line = await anyio.to_thread.run_sync(answering.ticket, str(daemon.paths.ticket_socket))
    word, _, token = line.partition(" ")
    assert word == "ticket"
    return token


@pytest.mark.behaviour("permission.answer.leaves-pending", "permission.pending.tracked")
async def test_an_open_prompt_is_listed_until_it_is_answered(agent: Agent, daemon: Daemon, tmp_path: Path) -> None:
    async with conversation(agent, working_directory=str(tmp_path)) as stream:
        request = await asked(stream)
        (entry,) = (await agent.ListPending(v1.ListPendingRequest(session_id=stream.session_id))).prompts
        assert entry.session_id == stream.session_id
        assert entry.permission == request
        assert entry.request_id == request.request_id
        assert entry.sequence == stream.events[-1].sequence
        assert entry.asked_at.ToNanoseconds() > 0
        assert entry in (await agent.ListPending(v1.ListPendingRequest())).prompts
        row = "SELECT tool_name, received_at, forwarded_at > 0, response_received FROM pending_permissions"
        row += f" WHERE request_id = '{request.request_id}'"
        assert ask(daemon.paths.database, row) == [("Bash", entry.asked_at.ToNanoseconds(), 1, 0)]
        assert not (await answered(agent, request.request_id)).already_answered
        await stream.until(is_idle)
        assert ask(daemon.paths.database, row) == [("Bash", entry.asked_at.ToNanoseconds(), 1, 1)]
        assert not (await agent.ListPending(v1.ListPendingRequest(session_id=stream.session_id))).prompts


@pytest.mark.behaviour("reconnect.awaiting-permission")
async def test_who_resumes_while_a_person_is_awaited_reads_the_prompt_and_can_answer_it(
    agent: Agent, tmp_path: Path
) -> None:
    async with conversation(agent, working_directory=str(tmp_path)) as stream:
        request = await asked(stream)
        session_id = stream.session_id
    read = (await history(agent, session_id, "permission_request"))[-1].permission_request
    assert read == request
    assert not (await answered(agent, read.request_id)).already_answered
    resolved = (await history(agent, session_id, "permission_resolved"))[-1].permission_resolved
    assert (resolved.request_id, resolved.decision) == (request.request_id, v1.ALLOW_ONCE)


async def test_the_same_answer_again_is_success_and_another_is_stale(agent: Agent, tmp_path: Path) -> None:
    async with conversation(agent, working_directory=str(tmp_path)) as stream:
        request = await asked(stream)
        assert not (await answered(agent, request.request_id)).already_answered
        assert (await answered(agent, request.request_id)).already_answered
        with pytest.raises(aio.AioRpcError) as error:
            await answered(agent, request.request_id, v1.DENY)
        assert error.value.code() is grpc.StatusCode.FAILED_PRECONDITION
        assert info_of(error.value).reason == "PERMISSION_STALE"
        assert "somebody" in (error.value.details() or "")
        await stream.until(is_idle)
    assert len((tmp_path / "ran.txt").read_text().splitlines()) == 1


async def test_a_denial_reaches_the_agent_with_its_reason(agent: Agent, tmp_path: Path) -> None:
    async with conversation(agent, working_directory=str(tmp_path)) as stream:
        request = await asked(stream)
        await answered(agent, request.request_id, v1.DENY)
        events = await stream.until(is_idle)
        result = next(event.tool_call_result for event in events if kind_of(event) == "tool_call_result")
        assert result.is_error
        assert "because" in result.output
        assert text_of(events) == "denied"
    assert not (tmp_path / "ran.txt").exists()


async def test_an_answer_that_names_another_session_decides_nothing(agent: Agent, tmp_path: Path) -> None:
    async with (
        conversation(agent, working_directory=str(tmp_path)) as stream,
        conversation(agent, working_directory=str(tmp_path)) as other,
    ):
        await other.until("session_info")
        request = await asked(stream)
        response = v1.PermissionResponse(request_id=request.request_id, decision=v1.ALLOW_ONCE)
        with pytest.raises(aio.AioRpcError) as error:
            await agent.AnswerPermission(v1.AnswerPermissionRequest(session_id=other.session_id, response=response))
        assert error.value.code() is grpc.StatusCode.NOT_FOUND
        submitted = v1.SubmitRequest(session_id=other.session_id, request=v1.AgentRequest(permission=response))
        with pytest.raises(aio.AioRpcError) as error:
            await agent.Submit(submitted)
        assert error.value.code() is grpc.StatusCode.NOT_FOUND
        assert not (await answered(agent, request.request_id, v1.DENY)).already_answered


async def test_an_unknown_prompt_is_not_found(agent: Agent) -> None:
    error = await refused(agent, str(uuid.uuid4()))
    assert error.code() is grpc.StatusCode.NOT_FOUND
    assert info_of(error).reason == "PERMISSION_NOT_FOUND"


@pytest.mark.parametrize("decision", [v1.ALLOW_WITH_EDIT, v1.PERMISSION_DECISION_UNSPECIFIED])
async def test_what_decides_nothing_leaves_the_prompt_open(
    agent: Agent, tmp_path: Path, decision: v1.PermissionDecision.ValueType
) -> None:
    async with conversation(agent, working_directory=str(tmp_path)) as stream:
        request = await asked(stream)
        with pytest.raises(aio.AioRpcError) as error:
            await answered(agent, request.request_id, decision)
        assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert (await agent.ListPending(v1.ListPendingRequest(session_id=stream.session_id))).prompts


async def test_words_without_end_are_no_answer(agent: Agent, tmp_path: Path) -> None:
    async with conversation(agent, working_directory=str(tmp_path)) as stream:
        request = await asked(stream)
        for message, key in (("x" * 65_537, ""), ("", "k" * 257)):
            response = v1.PermissionResponse(
                request_id=request.request_id, decision=v1.DENY, message=message, idempotency_key=key
            )
            with pytest.raises(aio.AioRpcError) as error:
                await agent.AnswerPermission(v1.AnswerPermissionRequest(response=response))
            assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT
            assert "longer than" in str(error.value.details())
        longest = v1.PermissionResponse(request_id=request.request_id, decision=v1.DENY, message="x" * 65_536)
        assert not (await agent.AnswerPermission(v1.AnswerPermissionRequest(response=longest))).already_answered


async def test_a_question_is_answered_by_its_text(agent: Agent, tmp_path: Path) -> None:
    async with conversation(agent, working_directory=str(tmp_path)) as stream:
        await stream.say("ask")
        question = (await stream.until("user_question"))[-1].user_question
        assert [option.label for option in question.options] == ["red", "blue"]
        (entry,) = (await agent.ListPending(v1.ListPendingRequest(session_id=stream.session_id))).prompts
        assert [each.question for each in entry.questions.questions] == ["Which colour?"]
        wrong = v1.UserQuestionResponse(question_id=question.question_id, answers={"Which shape?": "round"})
        with pytest.raises(aio.AioRpcError) as error:
            await agent.AnswerQuestion(v1.AnswerQuestionRequest(response=wrong))
        assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        async with conversation(agent, session_id=stream.session_id) as second:
            again = (await second.until(lambda event: event.sequence == 0 and kind_of(event) == "user_question"))[-1]
            assert again.user_question.is_replay
            again.user_question.is_replay = False
            assert again.user_question == question
        right = v1.UserQuestionResponse(question_id=question.question_id, answers={question.question: "blue"})
        done = await agent.AnswerQuestion(v1.AnswerQuestionRequest(response=right))
        assert done.group_complete
        events = await stream.until(is_idle)
        assert '"answers": {"Which colour?": "blue"}' in text_of(events)


async def test_a_ticket_names_the_process_that_answered(agent: Agent, daemon: Daemon, tmp_path: Path) -> None:
    async with conversation(agent, working_directory=str(tmp_path)) as stream:
        request = await asked(stream)
        await answered(agent, request.request_id, ticket=await ticket_for_me(daemon))
        resolved = (await stream.until("permission_resolved"))[-1].permission_resolved
        assert resolved.client_id == f"somebody (pid {os.getpid()})"


async def test_an_invented_ticket_is_refused(agent: Agent, tmp_path: Path) -> None:
    async with conversation(agent, working_directory=str(tmp_path)) as stream:
        request = await asked(stream)
        error = await refused(agent, request.request_id, ticket="invented")
        assert error.code() is grpc.StatusCode.PERMISSION_DENIED
        assert info_of(error).reason == "ANSWER_REFUSED"
        await answered(agent, request.request_id)


async def test_an_agents_own_process_gets_no_ticket(agent: Agent, daemon: Daemon, tmp_path: Path) -> None:
    async with conversation(agent, working_directory=str(tmp_path)) as stream:
        before = [kept for kept in decisions(daemon) if kept.by == "gate"]
        said = text_of(await stream.turn(f"spawn {tool('ticket', daemon.paths.ticket_socket)}"))
        assert said.startswith("refused")
        after = [kept for kept in decisions(daemon) if kept.by == "gate"]
        assert [(kept.what, kept.outcome) for kept in after[len(before) :]] == [("refused_answer", "refused")]


async def test_an_agents_own_process_may_watch_but_not_answer(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, daemon.agent_service() as agent:
        (tmp_path / "other").mkdir()
        async with conversation(agent, working_directory=str(tmp_path / "other")) as other:
            request = await asked(other)
            async with conversation(agent, working_directory=str(daemon.work)) as stream:
                # It is connected, so it may be its answer: none without a ticket is taken, ours neither.
                command = tool("answer", daemon.paths.socket, request.request_id)
                assert text_of(await stream.turn(f"spawn {command}")) == "PERMISSION_DENIED"
                there = daemon.work / "there"
                os.mkfifo(there)
                await stream.say(f"spawn {tool('stay', daemon.paths.socket, there)}")
                with anyio.fail_after(PATIENCE_S):
                    await anyio.to_thread.run_sync(there.read_bytes)
                error = await refused(agent, request.request_id)
                assert error.code() is grpc.StatusCode.PERMISSION_DENIED
                assert "ticket" in (error.details() or "")
                await other.answer(request.request_id)
                inline = (await other.until("error"))[-1]
                assert inline.error.code == "ANSWER_REFUSED"
                assert not inline.error.is_fatal
                # With a ticket it is clear who answers, whoever else is connected.
                await answered(agent, request.request_id, ticket=await ticket_for_me(daemon))
                assert text_of(await other.until(is_idle)) == "ran"
        assert len((tmp_path / "other" / "ran.txt").read_text().splitlines()) == 1


async def test_a_prompt_stays_answerable_across_a_killed_daemon(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon:
        async with (
            daemon.agent_service() as agent,
            conversation(agent, working_directory=str(daemon.work)) as stream,
        ):
            request = await asked(stream)
            session_id = stream.session_id
        await daemon.restart()
        async with daemon.agent_service() as agent:
            (entry,) = (await agent.ListPending(v1.ListPendingRequest())).prompts
            assert entry.request_id == request.request_id
            await answered(agent, entry.request_id)
            events = await history(agent, session_id, is_idle)
        assert kinds(events).count("permission_request") == 1
        assert len(daemon.agent_pids) == 1
        assert len((daemon.work / "ran.txt").read_text().splitlines()) == 1


def tool(how: str, *arguments: object) -> str:
    return " ".join([sys.executable, answering.__file__, how, *map(str, arguments)])
