"""Questions and plans over the API: up to four at once, answered part by part, by people only."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc import aio

from betcode.v1 import agent_pb2 as v1
from support.daemon.process import Agent, Daemon, agent_program, running_daemon
from support.daemon.stream import Stream, conversation, info_of, is_idle, kind_of

pytestmark = pytest.mark.anyio
ME = (("x-client-id", "somebody"), ("x-client-type", "phone"))


def question(text: str, *labels: str, multi: bool = False) -> dict[str, Any]:
    options = [{"label": label, "description": f"about {label}"} for label in labels]
    return {"question": text, "header": text[:12], "options": options, "multiSelect": multi}


FOUR = [
    question("Which colour?", "red", "blue"),
    question("Which checks?", "lint", "tests", "docs", multi=True),
    question("Which name?", "a", "b"),
    question("Which parts?", "all, now", "some", multi=True),
]


@pytest.fixture(scope="module")
async def daemon(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Daemon]:
    """A daemon whose agents ask for what the prompt says."""
    root = tmp_path_factory.mktemp("questions")
    async with running_daemon(root, claude_bin=agent_program(root, "asker.py")) as daemon:
        yield daemon


async def asked(stream: Stream, questions: list[dict[str, Any]]) -> list[v1.UserQuestion]:
    await stream.say(f"use AskUserQuestion {json.dumps({'questions': questions})}")
    events = await stream.until(lambda event: event.status_change.status == v1.WAITING_FOR_USER)
    assert not any(kind_of(event) == "permission_request" for event in events)
    return [event.user_question for event in events if kind_of(event) == "user_question"]


async def reply(agent: Agent, question_id: str, answers: dict[str, str]) -> v1.AnswerQuestionResponse:
    response = v1.UserQuestionResponse(question_id=question_id, answers=answers)
    return await agent.AnswerQuestion(v1.AnswerQuestionRequest(response=response), metadata=ME)


async def refused(agent: Agent, question_id: str, answers: dict[str, str]) -> aio.AioRpcError:
    with pytest.raises(aio.AioRpcError) as error:
        await reply(agent, question_id, answers)
    return error.value


def heard(work: Path) -> dict[str, Any]:
    (line,) = (work / "answers.jsonl").read_text().splitlines()
    told = json.loads(line)
    assert isinstance(told, dict)
    return told


@pytest.mark.behaviour(
    "question.several",
    "question.options",
    "question.multi-select",
    "question.answers-keyed-by-text",
    "events.user-question",
    "events.status.waiting",
    "wire.stdin.question-answer",
)
async def test_four_questions_are_answered_together(agent: Agent, tmp_path: Path) -> None:
    async with conversation(agent, working_directory=str(tmp_path)) as stream:
        questions = await asked(stream, FOUR)
        assert [one.question for one in questions] == [one["question"] for one in FOUR]
        assert len({one.group_id for one in questions}) == 1
        assert [(one.value, one.label, one.description) for one in questions[0].options] == [
            ("red", "red", "about red"),
            ("blue", "blue", "about blue"),
        ]
        assert [one.multi_select for one in questions] == [False, True, False, True]
        answers = {
            "Which colour?": "blue",
            "Which checks?": "lint, tests",
            "Which name?": "neither: call it c",
            "Which parts?": '["all, now", "some"]',
        }
        done = await reply(agent, questions[0].question_id, answers)
        assert (done.already_answered, done.group_complete) == (False, True)
        told = (await stream.until("permission_resolved"))[-1].permission_resolved
        assert (told.request_id, told.resolution, told.client_type) == (questions[0].group_id, "answered", "phone")
        await stream.until(is_idle)
        updated = heard(tmp_path)["updatedInput"]
        assert updated["questions"] == FOUR
        assert updated["answers"] == answers | {"Which parts?": ["all, now", "some"]}


async def test_partial_answers_are_stored_until_all_arrive(agent: Agent, tmp_path: Path) -> None:
    async with conversation(agent, working_directory=str(tmp_path)) as stream:
        questions = await asked(stream, FOUR[:3])
        first = await reply(agent, questions[0].question_id, {"Which colour?": "red"})
        assert (first.already_answered, first.group_complete) == (False, False)
        assert (await reply(agent, questions[0].question_id, {"Which colour?": "red"})).already_answered
        error = await refused(agent, questions[0].question_id, {"Which colour?": "blue"})
        assert info_of(error).reason == "PERMISSION_STALE"
        assert info_of(error).metadata["answered_by"].startswith("somebody")
        for wrong in (
            {"Which shape?": "round"},
            {"Which name?": ""},
            {"Which name?": "a, b"},
            {"Which name?": '["a","b"]'},
            {"Which name?": "x" * 65_537},
        ):
            error = await refused(agent, questions[2].question_id, wrong)
            assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert not (tmp_path / "answers.jsonl").exists()
        rest = {"Which checks?": "docs", "Which name?": "a"}
        assert (await reply(agent, questions[1].question_id, rest)).group_complete
        again = await reply(agent, questions[1].question_id, {"Which name?": "a"})
        assert (again.already_answered, again.group_complete) == (True, True)
        error = await refused(agent, questions[1].question_id, {"Which name?": "b"})
        assert info_of(error).reason == "PERMISSION_STALE"
        await stream.until(is_idle)
        assert heard(tmp_path)["updatedInput"]["answers"] == {"Which colour?": "red"} | rest


@pytest.mark.behaviour("question.waits")
async def test_half_an_answer_outlives_the_daemon(tmp_path: Path) -> None:
    async with running_daemon(tmp_path, claude_bin=agent_program(tmp_path, "asker.py")) as daemon:
        async with daemon.agent_service() as agent, conversation(agent, working_directory=str(daemon.work)) as stream:
            questions = await asked(stream, FOUR[:2])
            await reply(agent, questions[0].question_id, {"Which colour?": "red"})
        await daemon.restart()
        async with daemon.agent_service() as agent, conversation(agent, session_id=stream.session_id) as again:
            shown = [(await again.until(lambda event: event.user_question.is_replay))[-1] for _ in range(2)]
            assert [event.user_question.question for event in shown] == ["Which colour?", "Which checks?"]
            assert (await reply(agent, questions[1].question_id, {"Which checks?": "lint"})).group_complete
            await again.until(is_idle)
        assert heard(daemon.work)["updatedInput"]["answers"] == {"Which colour?": "red", "Which checks?": "lint"}


@pytest.mark.behaviour("question.never-by-rule")
async def test_a_question_is_neither_allowed_nor_granted_but_can_be_denied(agent: Agent, tmp_path: Path) -> None:
    async with conversation(agent, working_directory=str(tmp_path)) as stream:
        questions = await asked(stream, FOUR[:1])
        for decision in (v1.ALLOW_ONCE, v1.ALLOW_SESSION):
            response = v1.PermissionResponse(request_id=questions[0].group_id, decision=decision)
            with pytest.raises(aio.AioRpcError) as error:
                await agent.AnswerPermission(v1.AnswerPermissionRequest(response=response))
            assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        response = v1.PermissionResponse(request_id=questions[0].group_id, decision=v1.DENY, message="ask later")
        await agent.AnswerPermission(v1.AnswerPermissionRequest(response=response))
        await stream.until(is_idle)
        assert (heard(tmp_path)["behavior"], heard(tmp_path)["message"]) == ("deny", "ask later")


@pytest.mark.parametrize(("decision", "behaviour"), [(v1.ALLOW_ONCE, "allow"), (v1.DENY, "deny")])
async def test_a_plan_is_accepted_or_sent_back_with_words(
    agent: Agent, tmp_path: Path, decision: v1.PermissionDecision.ValueType, behaviour: str
) -> None:
    async with conversation(agent, working_directory=str(tmp_path)) as stream:
        await stream.say('use ExitPlanMode {"plan": "1. think"}')
        request = (await stream.until("permission_request"))[-1].permission_request
        assert (request.tool_name, list(request.grant_offers)) == ("ExitPlanMode", [])
        for wrong in (v1.ALLOW_SESSION, v1.ALLOW_WITH_EDIT):
            response = v1.PermissionResponse(request_id=request.request_id, decision=wrong, updated_input_json="")
            with pytest.raises(aio.AioRpcError) as error:
                await agent.AnswerPermission(v1.AnswerPermissionRequest(response=response))
            assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        message = "" if behaviour == "allow" else "first measure"
        response = v1.PermissionResponse(request_id=request.request_id, decision=decision, message=message)
        await agent.AnswerPermission(v1.AnswerPermissionRequest(response=response))
        await stream.until(is_idle)
        told = heard(tmp_path)
        assert (told["behavior"], told.get("message", "")) == (behaviour, message)
