"""The real CLI, answered in full: with another input, for the session, by choosing, and with a stop."""

import json
import os
import signal
from pathlib import Path

import pytest

from betcode.v1 import agent_pb2 as v1
from support.apis.messages.script import Reply, ToolUse, bash, say, use
from support.daemon.session import is_idle, kind_of, settled_text
from support.providers.claude import needs_claude
from support.providers.claude_world import claude_world

pytestmark = [needs_claude, pytest.mark.anyio]


@pytest.mark.behaviour("events.order.prompted-tool", "permission.answer.deny")
async def test_what_runs_is_what_a_person_made_of_it_and_the_next_can_stop_the_turn(tmp_path: Path) -> None:
    scripts = {
        "edit": [bash("echo theirs >> made.txt"), bash("echo more >> made.txt"), say("Never said.")],
        "on": [say("On.")],
    }
    async with claude_world(tmp_path, scripts) as world:
        talk = await world.session()
        await talk.say("[[fake:edit]] make it")
        request = await talk.asked()
        assert [kind_of(event) for event in talk.events if event.HasField("tool_call_start")] == ["tool_call_start"]
        assert not any(event.status_change.status == v1.WAITING_FOR_USER for event in talk.events)
        (after,) = await talk.until(lambda event: event.status_change.status == v1.WAITING_FOR_USER)
        assert after.sequence == talk.events[-2].sequence + 1
        assert request.grant_offers[0].pattern == "Bash(echo theirs >> made.txt)"
        edited = json.dumps({"command": "echo mine >> made.txt", "description": "Mine"})
        response = v1.PermissionResponse(decision=v1.ALLOW_WITH_EDIT, updated_input_json=edited)
        await talk.client.answer(request.request_id, response)
        second = await talk.asked()
        assert (world.work / "made.txt").read_text() == "mine\n"
        resolved = next(event.permission_resolved for event in talk.events if event.HasField("permission_resolved"))
        assert resolved.updated_input_json == edited
        response = v1.PermissionResponse(decision=v1.DENY_WITH_INTERRUPT, message="That is enough.")
        await talk.client.answer(second.request_id, response)
        events = await talk.until(is_idle)
        assert [event.turn_complete.stop_reason for event in events if kind_of(event) == "turn_complete"] == [
            "cancelled"
        ]
        assert (world.work / "made.txt").read_text() == "mine\n"
        assert world.api.calls("edit") == [0, 1]
        assert settled_text(await talk.turn("[[fake:on]]")) == "On."
        assert len(world.runs) == 1


@pytest.mark.behaviour("permission.answer.allow-session", "permission.screen.grant")
async def test_what_is_granted_for_the_session_is_not_asked_again_even_after_a_respawn(tmp_path: Path) -> None:
    scripts = {
        "first": [bash("touch one.txt"), bash("touch two.txt"), say("Done.")],
        "later": [bash("touch three.txt"), bash("mkdir four"), say("Done again.")],
    }
    async with claude_world(tmp_path, scripts) as world:
        talk = await world.session()
        await talk.say("[[fake:first]] make them")
        request = await talk.asked()
        response = v1.PermissionResponse(decision=v1.ALLOW_SESSION, grant_pattern="Bash(touch *)")
        await talk.client.answer(request.request_id, response)
        events = await talk.until(is_idle)
        assert not any(kind_of(event) == "permission_request" for event in events)
        assert (world.work / "two.txt").exists()
        world.daemon.kill()
        os.kill(world.runs[-1].agent_pid, signal.SIGKILL)
        await world.daemon.start()
        await talk.say("[[fake:later]] and more")
        request = await talk.asked()
        assert "mkdir four" in request.input_json
        assert (world.work / "three.txt").exists()
        await talk.answer(request, allow=False)
        await talk.until(is_idle)
        assert len({run.agent_pid for run in world.runs}) == 2


@pytest.mark.behaviour("question.several", "question.multi-select", "question.answers-keyed-by-text")
async def test_a_question_with_four_parts_and_a_plan(tmp_path: Path) -> None:
    labels = [{"label": "one", "description": "the first"}, {"label": "two, or so", "description": "the second"}]
    questions = [
        {"question": f"Which {name}?", "header": name, "options": labels, "multiSelect": name == "parts"}
        for name in ("colour", "parts", "name", "shape")
    ]
    scripts = {
        "ask": [use("AskUserQuestion", {"questions": questions}), say("Thanks.")],
        "plan": [use("ExitPlanMode", {"plan": "1. think"}), say("Then not."), say("Unreached.")],
    }
    async with claude_world(tmp_path, scripts) as world:
        talk = await world.session()
        await talk.say("[[fake:ask]] ask me")
        events = await talk.until(lambda event: event.status_change.status == v1.WAITING_FOR_USER)
        asked = [event.user_question for event in events if kind_of(event) == "user_question"]
        assert [one.question for one in asked] == [one["question"] for one in questions]
        answers = {"Which colour?": "one", "Which parts?": '["one", "two, or so"]', "Which name?": "my own words"}
        assert not (await talk.client.answer_question(asked[0].question_id, answers)).group_complete
        assert (await talk.client.answer_question(asked[3].question_id, {"Which shape?": "two, or so"})).group_complete
        events = await talk.until(is_idle)
        result = next(event.tool_call_result for event in events if kind_of(event) == "tool_call_result")
        assert not result.is_error
        for said in ("one", "two, or so", "my own words"):
            assert said in result.output
        assert settled_text(events) == "Thanks."

        planned = await world.session(plan_mode=True)
        await planned.say("[[fake:plan]] plan it")
        request = await planned.asked()
        assert request.tool_name == "ExitPlanMode"
        await planned.answer(request, allow=False, message="Measure first.")
        events = await planned.until(is_idle)
        result = next(event.tool_call_result for event in events if kind_of(event) == "tool_call_result")
        assert "Measure first." in result.output
        await planned.say("[[fake:plan]] once more")
        await planned.answer(await planned.asked(), allow=True)
        events = await planned.until(is_idle)
        assert any(event.HasField("plan_mode") and not event.plan_mode.active for event in events)


@pytest.mark.behaviour("permission.blocks-agent")
@pytest.mark.parametrize("first", [0, 1])
async def test_two_prompts_at_once_are_answered_in_either_order(tmp_path: Path, first: int) -> None:
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    names = [outside / "a.txt", outside / "b.txt"]
    for path in names:
        path.write_text(f"contents of {path.name}\n")
    both = Reply(tuple(ToolUse("Read", {"file_path": str(path)}) for path in names))
    async with claude_world(tmp_path, {"read": [both, say("Read.")]}) as world:
        talk = await world.session()
        await talk.say("[[fake:read]] read them")
        requests = [await talk.asked(), await talk.asked()]
        requests.sort(key=lambda request: request.input_json)
        assert requests[0].grant_offers[1].pattern == f"Read(/{outside}/**)"
        await talk.answer(requests[first], allow=True)
        await talk.answer(requests[1 - first], allow=False, message="Not that one.")
        events = await talk.until(is_idle)
        results = {
            event.tool_call_result.tool_id: event.tool_call_result
            for event in talk.events
            if event.HasField("tool_call_result")
        }
        assert f"contents of {names[first].name}" in results[requests[first].tool_use_id].output
        assert "Not that one." in results[requests[1 - first].tool_use_id].output
        assert settled_text(events) == "Read."
