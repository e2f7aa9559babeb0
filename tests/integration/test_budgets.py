"""Budgets: a limit that is reached lets the turn finish, then asks or refuses."""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from functools import partial
from pathlib import Path

import anyio
import pytest

from betcode.client import Client, NewConversation, open_client
from betcode.client.errors import Refused
from betcode.domain.error_codes import ErrorCode
from betcode.v1 import agent_pb2 as v1
from support.daemon.process import Daemon, obedient_daemon
from support.daemon.session import Talk, assert_whole, is_idle, states_of, streamed_text
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio

REFUSE = v1.BUDGET_ACTION_REFUSE


@asynccontextmanager
async def world(root: Path) -> AsyncIterator[tuple[Daemon, Client]]:
    async with obedient_daemon(root) as daemon, open_client(daemon.paths) as client:
        yield daemon, client


async def talk_with(daemon: Daemon, client: Client, budget: v1.Budget) -> Talk:
    new = NewConversation(str(daemon.work), provider="claude", environment=daemon.environment, budget=budget)
    return Talk(client, await client.start_session(new))


def _is_of(message_id: str, event: v1.AgentEvent) -> bool:
    return event.message_state.message_id == message_id


def notices(talk: Talk) -> list[str]:
    return [event.notice.message for event in talk.events if event.notice.kind == v1.NOTICE_KIND_BUDGET]


async def test_a_reached_limit_lets_the_turn_finish_and_refuses_the_next(tmp_path: Path) -> None:
    async with world(tmp_path) as (daemon, client):
        talk = await talk_with(daemon, client, v1.Budget(max_cost_usd=0.2, on_reached=REFUSE))
        assert streamed_text(await talk.turn("say all of it")) == "all of it"
        await talk.until("notice")
        before = talk.position
        with pytest.raises(Refused) as refused:
            await talk.say("say more")
        error = refused.value
        assert (error.code, error.details["reached"]) == (ErrorCode.BUDGET_EXCEEDED, "cost")
        assert "$0.25 spent, $0.2 allowed" in error.message
        assert "betcode session budget" in error.message
        summary = await talk.summary()
        assert (summary.last_sequence, list(summary.budget_use.reached)) == (before, ["cost"])
        answer = await client.set_budget(talk.session_id, v1.Budget(max_cost_usd=1, on_reached=REFUSE))
        assert list(answer.budget_use.reached) == []
        assert streamed_text(await talk.turn("say more")) == "more"
        assert_whole(talk.events)


async def test_each_limit_asks_before_the_next_turn(tmp_path: Path) -> None:
    limits = (
        (v1.Budget(max_tokens=200), 2),
        (v1.Budget(max_turns=1), 1),
        (v1.Budget(max_duration_ms=1), 1),
        (v1.Budget(max_cost_usd=0.6, max_turns=9), 3),
    )
    async with world(tmp_path) as (daemon, client):
        for budget, turns in limits:
            talk = await talk_with(daemon, client, budget)
            for turn in range(turns):
                assert await client.pending(talk.session_id) == []
                go = f"go-{talk.session_id}-{turn}"
                await talk.say(f"wait {go}")
                await talk.until("text_delta")  # so that some time passes in it
                (daemon.work / go).touch()
                await talk.until(is_idle)
            await talk.say("say more")
            request = await talk.asked()
            assert request.tool_name == "Budget"
            assert len(await client.pending(talk.session_id)) == 1
            summary = await talk.summary_when(lambda one: one.status == "idle")
            assert (summary.waiting_for, summary.pending_prompts) == ("person", 1)
            await talk.answer(request, allow=True)
            assert streamed_text(await talk.until(is_idle)) == "more"
            assert_whole(talk.events)


async def test_allowing_gives_the_same_amount_again_and_denying_cancels_what_waits(tmp_path: Path) -> None:
    async with world(tmp_path) as (daemon, client):
        talk = await talk_with(daemon, client, v1.Budget(max_turns=1))
        await talk.turn("say one")
        first, second = await talk.say("say two"), await talk.say("say three")
        request = await talk.asked()
        assert await talk.answer(request, allow=True) is False
        assert await talk.answer(request, allow=True) is True  # the same again
        with pytest.raises(Refused) as stale:
            await talk.answer(request, allow=False)
        assert stale.value.code == ErrorCode.PERMISSION_STALE
        again = await talk.asked()  # one turn was allowed, and two messages waited
        assert states_of(talk.events, first.message_id)[-1] == "CONSUMED"
        assert "2 turns of 2 turns spent" in again.description
        await talk.answer(again, allow=False)
        await talk.until(is_idle)
        assert states_of(talk.events, second.message_id)[-1] == "CANCELLED"
        summary = await talk.summary()
        assert (summary.budget.max_turns, summary.budget_use.turns, summary.status) == (2, 2, "idle")
        assert_whole(talk.events)


async def test_what_is_queued_when_a_limit_is_reached_waits_or_is_cancelled(tmp_path: Path) -> None:
    async with world(tmp_path) as (daemon, client):
        for on_reached, state in ((v1.BUDGET_ACTION_ASK, "ACCEPTED"), (REFUSE, "CANCELLED")):
            go = f"go-{on_reached}"
            talk = await talk_with(daemon, client, v1.Budget(max_turns=1, on_reached=on_reached))
            await talk.say(f"wait {go}")
            await talk.until("text_delta")
            queued = await talk.say("say never")
            (daemon.work / go).touch()
            is_told = partial(_is_of, queued.message_id)
            told = await talk.until(is_told)
            assert states_of(told, queued.message_id) == [state]
            assert "you said" not in streamed_text(talk.events)
            summary = await talk.summary_when(lambda one: one.status == "idle")
            assert summary.budget_use.turns == 1
            (notice,) = notices(talk)
            assert ("1 turn" in notice) == (on_reached == REFUSE)  # a question that comes with it has the figures


async def test_a_daemon_killed_between_reaching_and_asking_asks_when_it_is_back(tmp_path: Path) -> None:
    async with world(tmp_path) as (daemon, client):
        daemon.kill()
        await daemon.start(BETCODE_FAULT="before-budget-prompt")
        talk = await talk_with(daemon, client, v1.Budget(max_turns=1))
        await talk.say("wait go")
        await talk.until("text_delta")
        queued = await talk.say("say two")
        (daemon.work / "go").touch()
        await daemon.ended()
        await daemon.start()
        request = await talk.asked()
        assert states_of(talk.events, queued.message_id) == []
        await daemon.restart()  # and the question is still the same after another one
        (pending,) = await client.pending(talk.session_id)
        assert pending.request_id == request.request_id
        await talk.answer(request, allow=True)
        assert "two" in streamed_text(await talk.until(is_idle))
        assert_whole(talk.events)


async def test_of_two_people_who_answer_at_once_one_decides(tmp_path: Path) -> None:
    async with world(tmp_path) as (daemon, client):
        talk = await talk_with(daemon, client, v1.Budget(max_turns=1))
        await talk.turn("say one")
        await talk.say("say two")
        request = await talk.asked()
        outcomes: list[str] = []

        async def decide(*, allow: bool) -> None:
            try:
                await talk.answer(request, allow=allow)
                outcomes.append("taken")
            except Refused as refused:
                outcomes.append(refused.code)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: decide(allow=True))
            tasks.start_soon(lambda: decide(allow=False))
        assert sorted(outcomes) == [ErrorCode.PERMISSION_STALE, "taken"]
        events = await talk.until(is_idle)
        assert sum(event.HasField("permission_resolved") for event in events) == 1


async def test_setting_a_budget_lets_what_waits_go_on_and_closing_takes_the_question_back(tmp_path: Path) -> None:
    async with world(tmp_path) as (daemon, client):
        talk = await talk_with(daemon, client, v1.Budget(max_turns=1))
        await talk.turn("say one")
        await talk.say("say two")
        request = await talk.asked()
        await client.set_budget(talk.session_id, v1.Budget(max_turns=2))
        events = await talk.until(is_idle)
        assert next(e.permission_resolved for e in events if e.HasField("permission_resolved")).request_id == (
            request.request_id
        )
        assert "two" in streamed_text(events)
        await talk.say("say three")
        await talk.asked()
        await client.close(talk.session_id)
        assert await client.pending(talk.session_id) == []
        with pytest.raises(Refused) as closed:
            await client.set_budget(talk.session_id, v1.Budget())
        assert closed.value.code == ErrorCode.SESSION_CLOSED


async def test_a_cancel_behind_an_open_question_leaves_no_turn_and_no_question(tmp_path: Path) -> None:
    async with world(tmp_path) as (daemon, client):
        talk = await talk_with(daemon, client, v1.Budget(max_turns=1))
        await talk.turn("say one")
        waiting = await talk.say("say two")
        await talk.asked()
        await talk.until(lambda event: event.status_change.status == v1.WAITING_FOR_USER)
        late = await talk.say("say three")
        done = await client.cancel_turn(talk.session_id, cancel_queued=True)
        assert (done.was_active, set(done.withdrawn_message_ids)) == (False, {waiting.message_id, late.message_id})
        await talk.until(is_idle)
        assert await client.pending(talk.session_id) == []
        assert not any(event.turn_complete.stop_reason == "cancelled" for event in talk.events)


async def test_a_message_that_a_budget_refused_is_not_said_again_by_its_stream(tmp_path: Path) -> None:
    async with world(tmp_path) as (daemon, client):
        talk = await talk_with(daemon, client, v1.Budget(max_turns=1, on_reached=REFUSE))
        await talk.turn("say one")
        stream = client.converse(talk.session_id, talk.position)
        with anyio.fail_after(PATIENCE_S):
            async with aclosing(stream.events()) as events:
                refused = None
                async for event in events:
                    if event.sequence == 0 and event.HasField("session_info"):
                        refused = await stream.say("say two")
                    if event.error.code == ErrorCode.BUDGET_EXCEEDED:
                        assert event.error.details["message_id"] == refused
                        break
        assert stream.unacknowledged == ()
