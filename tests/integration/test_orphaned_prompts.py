"""An agent is lost with a prompt open, or with an answer on its way: what people see, and what the next one hears."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from betcode.domain.errors import PermissionStale
from betcode.domain.permissions.audit import AuditFilter, DecidedBy
from betcode.domain.runs.crash_policy import CrashPolicy
from betcode.domain.store.rows import CarriedState, PromptState
from betcode.v1 import agent_pb2 as v1
from support.daemon.process import becomes_true
from support.daemon.session import assert_whole, is_idle, settled_text
from support.engine.engine import ME, EngineSession, engine
from support.patience import PATIENCE_S
from support.rounds.facts import ledger
from support.rounds.rounds import mindful_program

pytestmark = pytest.mark.anyio

PATIENT = CrashPolicy(first_wait_s=10 * PATIENCE_S, longest_wait_s=10 * PATIENCE_S)  # until somebody cuts it short


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[EngineSession]:
    """Its agent knows what it was told before it was killed, and is not started again before somebody acts."""
    async with engine(tmp_path, PATIENT, program=mindful_program(tmp_path)) as here:
        yield here
        await here.supervisor.close(here.session)
        assert_whole(here.events)


def is_crash(event: v1.AgentEvent) -> bool:
    return event.error.code == "SUBPROCESS_CRASHED"


def resolutions(events: list[v1.AgentEvent], request_id: str) -> list[v1.PermissionResolved]:
    told = [event.permission_resolved for event in events if event.HasField("permission_resolved")]
    return [one for one in told if one.request_id == request_id]


async def lost(here: EngineSession, text: str) -> v1.PermissionRequest:
    """What an agent asked before it was killed, unanswered."""
    await here.say(text)
    request = await here.asked()
    here.kill_agent()
    events = await here.until(is_crash)
    assert any("stays open" in event.notice.message for event in events)
    return request


async def gone(here: EngineSession) -> list[tuple[str, bool]]:
    """The open prompts, and whether their agent is gone."""
    pending = await here.supervisor.pending(here.session)
    return [(row.request_id, here.supervisor.agent_is_gone(of, row)) for of, row in pending]


def heard(here: EngineSession) -> list[str]:
    return [noted.behaviour for noted in ledger(here.work) if noted.what == "heard"]


@pytest.mark.behaviour("permission.restart.agent-gone")
async def test_a_denial_is_kept_and_given_when_the_same_is_asked(here: EngineSession) -> None:
    request = await lost(here, "tool\nsay over")
    assert await gone(here) == [(request.request_id, True)]
    await here.answer(request.request_id, v1.DENY, "not today")
    events = await here.until(is_idle)
    assert not any(event.HasField("permission_request") for event in events), "nobody is asked again"
    assert "denied" in settled_text(events)
    assert (here.ran, heard(here)) == (0, ["deny"])
    assert any("not today" in event.tool_call_result.output for event in events)
    (given,) = [event.permission_resolved for event in events if event.permission_resolved.rule]
    assert given.rule == f"the answer to {request.request_id}"
    assert (given.decision, given.client_id) == (v1.DENY, "me")
    row = await here.row(request.request_id)
    assert (row.state, row.kept, row.superseded_by) == (PromptState.ANSWERED, CarriedState.NO, given.request_id)
    entries = [row.entry for row in await here.store.audit_page(AuditFilter(here.session), None, 100)]
    kept = [entry for entry in entries if entry.decided_by is DecidedBy.KEPT_ANSWER]
    assert [(entry.request_id, entry.outcome) for entry in kept] == [(given.request_id, "deny")]
    assert [(entry.client, entry.peer) for entry in kept] == [("me", ME.peer)]


@pytest.mark.behaviour("permission.restart.agent-gone")
async def test_an_allowance_is_given_once_to_the_first_tool_that_is_asked_for(here: EngineSession) -> None:
    request = await lost(here, "tool Write\ntool Write")
    await here.answer(request.request_id, v1.ALLOW_ONCE)
    second = await here.asked()
    assert here.ran == 1
    assert (second.supersedes, second.note) == ("", ""), "it has nothing to do with the first"
    await here.answer(second.request_id, v1.DENY)
    await here.until(is_idle)
    assert (here.ran, heard(here)) == (1, ["allow", "deny"])


async def test_an_allowance_is_not_for_what_is_asked_second(here: EngineSession) -> None:
    request = await lost(here, "tool Write")
    (here.work / "input").write_text("other")
    await here.say("tool Write")  # somebody is there: the turn goes on at once
    other = await here.asked()
    assert other.supersedes == request.request_id
    with pytest.raises(PermissionStale) as stale:
        await here.answer(request.request_id, v1.ALLOW_ONCE)
    assert stale.value.details["superseded_by"] == other.request_id
    await here.answer(other.request_id, v1.DENY)
    third = await here.asked()
    assert not third.supersedes
    await here.answer(third.request_id, v1.DENY)
    await here.until(is_idle)
    assert here.ran == 0


@pytest.mark.behaviour("permission.restart.agent-gone")
async def test_an_allowed_command_is_offered_and_not_run_by_itself(here: EngineSession) -> None:
    request = await lost(here, "tool")
    await here.answer(request.request_id, v1.ALLOW_ONCE)
    again = await here.asked()
    assert (again.note, again.supersedes) == ("You allowed this before the agent crashed", request.request_id)
    assert (here.ran, heard(here)) == (0, [])
    old = await here.row(request.request_id)
    assert (old.state, old.superseded_by) == (PromptState.SUPERSEDED, again.request_id)
    told = resolutions(here.events, request.request_id)
    assert [one.resolution for one in told] == ["answered", "superseded"]
    await here.answer(again.request_id, v1.ALLOW_ONCE)
    await here.until(is_idle)
    assert here.ran == 1


async def test_a_prompt_still_unanswered_when_the_same_is_asked_is_superseded(here: EngineSession) -> None:
    request = await lost(here, "tool Write")
    await here.say("say hurry")
    again = await here.asked()
    assert again.supersedes == request.request_id
    assert "crashed" in again.note
    (told,) = resolutions(here.events, request.request_id)
    assert (told.resolution, told.superseded_by) == ("superseded", again.request_id)
    assert await gone(here) == [(again.request_id, False)]
    await here.answer(again.request_id, v1.ALLOW_ONCE)
    await here.until(is_idle)
    assert here.ran == 1


@pytest.mark.behaviour("permission.restart.changed-input")
@pytest.mark.parametrize("answered", [False, True])
async def test_a_changed_question_supersedes_the_old_one_and_both_say_so(here: EngineSession, answered: bool) -> None:
    request = await lost(here, "tool Write")
    (here.work / "input").write_text("another file")
    if answered:
        await here.answer(request.request_id, v1.ALLOW_ONCE)
    else:
        await here.say("say hurry")
    again = await here.asked()
    assert again.supersedes == request.request_id
    assert "asking for something different" in again.note
    assert ("the answer was not used" in again.note) == answered
    last = resolutions(here.events, request.request_id)[-1]
    assert (last.resolution, last.superseded_by) == ("superseded", again.request_id)
    assert here.ran == 0
    await here.answer(again.request_id, v1.DENY)
    await here.until(is_idle)
    assert here.ran == 0


async def test_questions_are_answered_before_they_are_asked_again(here: EngineSession) -> None:
    await here.say("ask")
    question = (await here.until(lambda event: event.HasField("user_question")))[-1].user_question
    here.kill_agent()
    await here.until(is_crash)
    answers = {question.question: "red"}
    assert await here.supervisor.answers.question(question.question_id, answers, ME) == (False, True)
    events = await here.until(is_idle)
    assert not any(event.HasField("user_question") for event in events)
    assert '"red"' in settled_text(events)
    (given,) = [event.permission_resolved for event in events if event.permission_resolved.rule]
    assert dict(given.answers) == answers, "clients show each question with its own answer"


@pytest.mark.parametrize("answered", [False, True])
async def test_a_turn_that_goes_on_without_asking_ends_what_was_left(here: EngineSession, answered: bool) -> None:
    request = await lost(here, "tool Write\nsay done without")
    (here.work / "skip").touch()
    if answered:
        await here.answer(request.request_id, v1.DENY)
    else:
        await here.say("say hurry")
    events = await here.until(lambda event: event.HasField("turn_complete"))
    row = await here.row(request.request_id)
    if answered:
        assert (row.state, row.kept) == (PromptState.ANSWERED, CarriedState.NO)
        assert any("was not used" in event.notice.message for event in events)
        return
    assert (row.state, row.kept) == (PromptState.WITHDRAWN, CarriedState.NO)
    (told,) = resolutions(events, request.request_id)
    assert told.resolution == "withdrawn"
    assert "did not ask again" in told.message
    with pytest.raises(PermissionStale):
        await here.answer(request.request_id, v1.ALLOW_ONCE)
    await here.until(is_idle)


@pytest.mark.parametrize(("how", "why"), [("cancel", "cancelled"), ("close", "closed")])
async def test_a_prompt_ends_with_a_turn_that_is_not_continued(here: EngineSession, how: str, why: str) -> None:
    request = await lost(here, "tool Write")
    if how == "cancel":
        assert (await here.supervisor.cancel_turn(here.session)).was_active
    else:
        await here.supervisor.close(here.session)
    events = await here.until(lambda event: event.permission_resolved.request_id == request.request_id)
    told = events[-1].permission_resolved
    assert (told.resolution, why in told.message) == ("withdrawn", True)
    assert (await here.row(request.request_id)).state is PromptState.WITHDRAWN
    assert await gone(here) == []
    assert here.agents == 1
    kept = (await here.store.audit_page(AuditFilter(here.session), None, 10))[-1].entry
    assert (kept.outcome, kept.decided_by, why in kept.note) == ("withdrawn", DecidedBy.PERSON, True)


async def test_a_prompt_ends_with_an_agent_that_is_given_up(tmp_path: Path) -> None:
    policy = CrashPolicy(limit=1)
    async with engine(tmp_path, policy, program=mindful_program(tmp_path)) as here:
        await here.say("tool Write")
        request = await here.asked()
        here.kill_agent()
        events = await here.until(is_idle)
        (told,) = resolutions(events, request.request_id)
        assert (told.resolution, told.message) == ("withdrawn", "The agent that asked has ended and is not restarted")
        await here.supervisor.close(here.session)


@pytest.mark.parametrize("tool", ["Bash", "Write"])
@pytest.mark.parametrize("step", ["heard", "ran", "told"])
async def test_what_the_lost_agent_had_heard_goes_to_a_person_who_is_told_that_it_may_have_run(
    here: EngineSession, step: str, tool: str
) -> None:
    (here.work / "hold").write_text(step)
    await here.say(f"tool {tool}")
    request = await here.asked()
    await here.answer(request.request_id, v1.ALLOW_ONCE)
    await becomes_true((here.work / f"at-{step}").exists)
    here.kill_agent()
    await here.until(is_crash)
    assert (await here.row(request.request_id)).kept is CarriedState.SPENT
    (here.work / "hold").unlink()
    await here.say("say hurry")
    again = await here.asked()
    assert "may have run already" in again.note
    await here.answer(again.request_id, v1.DENY)
    await here.until(is_idle)
    assert here.ran == (0 if step == "heard" else 1)
    assert (await here.row(request.request_id)).kept is CarriedState.NO


async def test_what_was_left_waits_for_the_next_daemon_too(tmp_path: Path) -> None:
    program = mindful_program(tmp_path)
    async with engine(tmp_path, PATIENT, program=program) as before:
        request = await lost(before, "tool Write")
    async with engine(tmp_path, PATIENT, before.session, program=program) as later:
        later.events = before.events
        assert await gone(later) == [(request.request_id, True)]
        await later.answer(request.request_id, v1.ALLOW_ONCE)
        assert await later.answer(request.request_id, v1.ALLOW_ONCE) is True, "the same again is the same"
        with pytest.raises(PermissionStale):
            await later.answer(request.request_id, v1.DENY)
        await later.until(is_idle)
        assert later.ran == 1
