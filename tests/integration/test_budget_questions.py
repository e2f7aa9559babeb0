"""A budget's question is open, and people go on: with more messages, cancels, other budgets, another daemon."""

import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

from betcode.client import Client, NewConversation, open_client
from betcode.client.errors import Refused
from betcode.domain.error_codes import ErrorCode
from betcode.v1 import agent_pb2 as v1
from support.daemon.process import Daemon, agent_program, obedient_daemon
from support.daemon.session import Talk, assert_whole, is_idle, states_of, streamed_text
from support.providers.claude_world import obedient_talk
from support.rules.files import decisions

pytestmark = pytest.mark.anyio


@dataclass(frozen=True, slots=True)
class Asked:
    daemon: Daemon
    client: Client
    talk: Talk
    held_back: str  # the message that waits
    request: v1.PermissionRequest

    async def rests(self) -> None:
        await self.talk.summary_when(lambda one: one.status == "idle")


@asynccontextmanager
async def asked_for_more(root: Path) -> AsyncIterator[Asked]:
    """A session whose one turn is spent, with a message that waits until a person allows another."""
    async with obedient_daemon(root) as daemon, open_client(daemon.paths) as client:
        budget = v1.Budget(max_turns=1)
        new = NewConversation(str(daemon.work), provider="claude", environment=daemon.environment, budget=budget)
        talk = Talk(client, await client.start_session(new))
        await talk.turn("say one")
        held_back = await talk.say("say two")
        asked = Asked(daemon, client, talk, held_back.message_id, await talk.asked())
        await asked.rests()
        yield asked


async def _fails_to_compact(client: Client, session_id: str) -> None:
    with pytest.raises(Refused) as refused:
        await client.compact(session_id)
    assert refused.value.code == ErrorCode.COMPACTION_FAILED


async def test_a_message_behind_an_open_question_waits_with_the_first(tmp_path: Path) -> None:
    async with asked_for_more(tmp_path) as asked:
        talk = asked.talk
        another = await talk.say("say three")
        assert (await talk.summary()).status == "idle"  # nobody works
        await talk.answer(asked.request, allow=False)
        await talk.until(lambda event: is_idle(event) and event.sequence > another.sequence)
        assert states_of(talk.events, another.message_id) == ["ACCEPTED", "CANCELLED"]
        assert (await talk.summary()).status == "idle"
        await asked.client.set_budget(talk.session_id, v1.Budget())
        assert streamed_text(await talk.turn("say four")) == "four"
        assert_whole(talk.events)


async def test_cancelling_a_compaction_with_what_waits_behind_it_takes_the_question_too(tmp_path: Path) -> None:
    async with asked_for_more(tmp_path) as asked:
        talk, client = asked.talk, asked.client
        await client.cancel_turn(talk.session_id, cancel_queued=True)
        (asked.daemon.work / "compact").write_text("wait never")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_fails_to_compact, client, talk.session_id)
            await talk.until(lambda event: event.status_change.status == v1.COMPACTING)
            behind = await talk.say("say three")
            await talk.asked()
            done = await client.cancel_turn(talk.session_id, cancel_queued=True)
        assert (done.was_active, list(done.withdrawn_message_ids)) == (True, [behind.message_id])
        assert await client.pending(talk.session_id) == []
        await asked.rests()


async def test_closing_a_session_records_the_withdrawn_question_in_the_audit(tmp_path: Path) -> None:
    async with asked_for_more(tmp_path) as asked:
        await asked.client.close(asked.talk.session_id)
        [*_, told] = await asked.talk.until("permission_resolved")
        assert told.permission_resolved.resolution == "withdrawn", "as its row says"
        rows = [(row.tool, row.outcome, row.by) for row in decisions(asked.daemon)]
        assert rows == [("Budget", "withdrawn", "person")]


async def test_an_answer_for_all_equal_prompts_raises_no_other_budget(tmp_path: Path) -> None:
    async with asked_for_more(tmp_path) as asked:
        new = NewConversation(
            str(asked.daemon.work), "claude", environment=asked.daemon.environment, budget=v1.Budget(max_turns=1)
        )
        other = Talk(asked.client, await asked.client.start_session(new))
        await other.turn("say one")
        await other.say("say two")
        question = await other.asked()
        assert question.input_json == asked.request.input_json
        response = v1.PermissionResponse(decision=v1.ALLOW_ONCE)
        done = await asked.client.answer(asked.request.request_id, response, equal_prompts=True)
        assert list(done.also_answered) == []
        assert [one.request_id for one in await asked.client.pending()] == [question.request_id]


async def test_another_budget_that_is_reached_too_is_asked_for_anew(tmp_path: Path) -> None:
    async with asked_for_more(tmp_path) as asked:
        talk = asked.talk
        await asked.client.set_budget(talk.session_id, v1.Budget(max_cost_usd=0.1))
        again = await talk.asked()
        assert "$0.25 of $0.1 spent" in again.description
        await asked.rests()
        (pending,) = await asked.client.pending(talk.session_id)
        assert pending.request_id == again.request_id
        await talk.answer(again, allow=True)
        assert streamed_text(await talk.until(is_idle)) == "two"


async def test_a_budget_that_refuses_takes_the_question_back_also_after_a_restart(tmp_path: Path) -> None:
    async with asked_for_more(tmp_path) as asked:
        await asked.daemon.restart()
        refusing = v1.Budget(max_turns=1, on_reached=v1.BUDGET_ACTION_REFUSE)
        await asked.client.set_budget(asked.talk.session_id, refusing)
        await asked.talk.until(lambda event: event.message_state.state == v1.MESSAGE_STATE_CANCELLED)
        assert states_of(asked.talk.events, asked.held_back)[-1] == "CANCELLED"
        assert await asked.client.pending(asked.talk.session_id) == []
        await asked.rests()


async def test_a_turn_that_is_given_up_takes_the_question_behind_it_along(tmp_path: Path) -> None:
    async with asked_for_more(tmp_path) as asked:
        talk, client, daemon = asked.talk, asked.client, asked.daemon
        await talk.answer(asked.request, allow=True)
        await talk.until(is_idle)
        await client.set_budget(talk.session_id, v1.Budget())
        await talk.say("wait never")
        await talk.until(lambda event: event.text_delta.text == "waiting")
        await client.set_budget(talk.session_id, v1.Budget(max_turns=1))
        behind = await talk.say("say four")
        request = await talk.asked()
        agent_program(tmp_path).write_text("#!/bin/sh\necho no such flag >&2\nexit 2\n")
        os.kill(daemon.agent_pids[-1], signal.SIGKILL)
        events = await talk.until(lambda event: event.error.is_fatal)
        resolved = [event.permission_resolved for event in events if event.HasField("permission_resolved")]
        assert [(one.request_id, one.resolution) for one in resolved] == [(request.request_id, "withdrawn")]
        assert states_of(events, behind.message_id)[-1] == "CANCELLED"
        assert [(row.outcome, row.by) for row in decisions(daemon)][-1] == ("withdrawn", "agent")
        await talk.until(is_idle)
        assert await client.pending(talk.session_id) == []
        await asked.rests()
        await daemon.restart()
        assert await client.pending(talk.session_id) == []
        agent_program(tmp_path)
        await client.set_budget(talk.session_id, v1.Budget())
        assert streamed_text(await talk.turn("say five")) == "five"
        assert_whole(talk.events)


@pytest.mark.parametrize("then", [v1.BUDGET_ACTION_ASK, v1.BUDGET_ACTION_REFUSE])
async def test_a_session_whose_budget_is_lowered_below_what_it_spent_keeps_no_slot(
    tmp_path: Path, then: v1.BudgetAction.ValueType
) -> None:
    settings = {"agents": {"turn_limit": 1}}
    async with obedient_daemon(tmp_path, settings=settings) as daemon, open_client(daemon.paths) as client:
        talk, busy, other = [await obedient_talk(daemon, client) for _ in range(3)]
        await talk.turn("say one")  # its agent stays
        await busy.say("wait go")
        await busy.until(lambda event: event.text_delta.text == "waiting")
        in_line = await talk.say("say two")
        await client.set_budget(talk.session_id, v1.Budget(max_turns=1, on_reached=then))
        if then == v1.BUDGET_ACTION_ASK:
            await talk.asked()
        else:
            await talk.until(lambda event: event.message_state.state == v1.MESSAGE_STATE_CANCELLED)
        await talk.summary_when(lambda one: one.status == "idle" and one.waiting_for != "slot")
        (daemon.work / "go").touch()
        await busy.until(is_idle)
        assert streamed_text(await other.turn("say three")) == "three"
        await client.set_budget(talk.session_id, v1.Budget())
        if then == v1.BUDGET_ACTION_ASK:
            await talk.until(lambda event: in_line.message_id in event.turn_complete.message_ids)


async def test_a_limit_that_no_answer_could_raise_is_refused(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        new = NewConversation(str(daemon.work), provider="claude", budget=v1.Budget(max_cost_usd=1e-10))
        with pytest.raises(Refused) as refused:
            await client.start_session(new)
        assert (refused.value.code, "at least" in refused.value.message) == (ErrorCode.INVALID_REQUEST, True)


async def test_a_budget_is_not_granted_for_the_session_and_its_question_stays_open(tmp_path: Path) -> None:
    async with asked_for_more(tmp_path) as asked:
        with pytest.raises(Refused) as refused:
            await asked.client.answer(asked.request.request_id, v1.PermissionResponse(decision=v1.ALLOW_SESSION))
        assert refused.value.code == ErrorCode.INVALID_REQUEST
        assert [one.request_id for one in await asked.client.pending()] == [asked.request.request_id]
        await asked.talk.answer(asked.request, allow=True)
        await asked.talk.until(is_idle)
        assert "two" in streamed_text(asked.talk.events)
