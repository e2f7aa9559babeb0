"""Prompts that wait for people who do not come: ends, what puts them off, and reminders, on a clock that is moved."""

import json
import time
from contextlib import AsyncExitStack, aclosing
from pathlib import Path

import anyio
import grpc
import pytest

from betcode.client.errors import Refused
from betcode.domain.error_codes import ErrorCode
from betcode.domain.runs.crash_policy import CrashPolicy
from betcode.domain.store.rows import PromptState
from betcode.v1 import agent_pb2 as v1
from support.daemon.clock import DAY_S, HOUR_S, Timed, eventually, timed_daemon
from support.daemon.process import becomes_true
from support.daemon.session import Talk, assert_whole, is_idle, kind_of, kinds, states_of, streamed_text
from support.engine.engine import engine
from support.patience import PATIENCE_S
from support.rounds.facts import ledger
from support.rounds.rounds import mindful_program

pytestmark = pytest.mark.anyio

WEEK_S = 7 * DAY_S
WORDS = "Permission request expired after {}. User can retry the operation."


def reminders(talk: Talk) -> list[int]:
    return [event.permission_reminder.number for event in talk.events if kind_of(event) == "permission_reminder"]


@pytest.mark.behaviour(
    "permission.ttl.expiry.soft-deny",
    "permission.ttl.expiry.session-continues",
    "permission.ttl.expiry.recorded",
    "permission.ttl.expiry.code",
    "permission.ttl.expiry.late-answer",
    "permission.ttl.default",
    "permission.store.expires-at",
    "permission.ttl.extension-not-expired",
    "error.code.permission-timeout",
    "error.code.permission-stale",
)
async def test_a_prompt_that_nobody_answers_is_denied_softly_and_the_turn_goes_on(tmp_path: Path) -> None:
    async with timed_daemon(tmp_path) as timed:
        talk, another = await timed.talk(), await timed.talk()
        old = await timed.asked(talk)
        assert old.permission.expires_at == old.expires_at
        assert await timed.left_s(old) == WEEK_S
        times = "SELECT expires_at - received_at, extension_count FROM pending_permissions WHERE request_id = ?"
        assert timed.stored(times, old.request_id) == [(WEEK_S * 10**9, 0)]
        timed.later(DAY_S)
        younger = await timed.asked(another)
        timed.later(WEEK_S - DAY_S + 1)

        said = await talk.until(is_idle)
        (resolved,) = [event.permission_resolved for event in said if kind_of(event) == "permission_resolved"]
        assert (resolved.request_id, resolved.resolution) == (old.request_id, "expired")
        assert (resolved.decision, resolved.message) == (v1.PERMISSION_DECISION_UNSPECIFIED, WORDS.format("7d"))
        (error,) = [event.error for event in said if kind_of(event) == "error"]
        assert (error.code, error.message, error.is_fatal) == (
            ErrorCode.PERMISSION_TIMEOUT,
            "Permission request timed out",
            False,
        )
        (result,) = [event.tool_call_result for event in said if kind_of(event) == "tool_call_result"]
        assert result.output == WORDS.format("7d")
        assert streamed_text(said).endswith("denied")
        assert not (timed.daemon.work / "ran.txt").exists()
        assert [one.request_id for one in await timed.client.pending()] == [younger.request_id]

        for decision in (v1.ALLOW_ONCE, v1.DENY):
            with pytest.raises(Refused) as refused:
                await timed.client.answer_permission(old.request_id, decision)
            assert refused.value.code == ErrorCode.PERMISSION_STALE
            assert refused.value.status is grpc.StatusCode.FAILED_PRECONDITION
            assert refused.value.message.startswith("Permission request expired")
        columns = "response_received, response_decision FROM pending_permissions WHERE request_id = ?"
        assert timed.stored(f"SELECT {columns}", old.request_id) == [(1, "expired")]
        assert timed.stored("SELECT outcome, decided_by, tool_name FROM audit WHERE request_id = ?", old.request_id)[
            -1
        ] == ("expired", "expiry", "Bash")

        again = await timed.asked(talk)
        assert again.request_id != old.request_id
        await timed.client.answer_permission(again.request_id, v1.ALLOW_ONCE)
        assert streamed_text(await talk.until(is_idle)).endswith("ran")
        assert_whole(talk.events)
        before = timed.stored(times, again.request_id)
        timed.later(HOUR_S)
        await talk.turn("say more")  # activity, which extends what is open
        assert timed.stored(times, again.request_id) == before, "answered"
        assert timed.stored(times, old.request_id) == [(WEEK_S * 10**9, 0)], "expired"
        extended = "SELECT extension_count FROM pending_permissions WHERE request_id = ?"
        assert timed.stored(extended, younger.request_id) == [(0,)], "of another session"


@pytest.mark.behaviour("permission.ttl.same-when-connected")
async def test_silence_of_minutes_hours_or_days_denies_no_prompt_with_a_client_or_without_one(tmp_path: Path) -> None:
    async with timed_daemon(tmp_path) as timed, AsyncExitStack() as stack:
        watched, alone = await timed.talk(), await timed.talk()
        prompts = [await timed.asked(watched), await timed.asked(alone)]
        stream = await stack.enter_async_context(aclosing(timed.client.follow(watched.session_id)))
        await anext(stream)
        assert [await timed.left_s(each) for each in prompts] == [WEEK_S, WEEK_S]
        timed.later(300)
        for passed, column in ((8 * HOUR_S, "reminder_1h_sent"), (3 * DAY_S, "reminder_24h_sent")):
            timed.later(passed)
            # The reminders show that the daemon has looked at both prompts at that time.
            rows = f"SELECT {column}, response_received FROM pending_permissions"
            await becomes_true(lambda rows=rows: timed.stored(rows) == [(1, 0)] * 2)  # type: ignore[misc]
            assert {each.request_id for each in await timed.client.pending()} == {each.request_id for each in prompts}


@pytest.mark.behaviour("permission.restart.clock-goes-on", "permission.ttl.units")
async def test_a_question_whose_time_passes_while_no_daemon_is_there_ends_at_the_next_start(tmp_path: Path) -> None:
    async with timed_daemon(tmp_path, {"permissions": {"default_ttl": "6h"}}) as timed:
        talk = await timed.talk()
        asked = await timed.asked(talk, "ask")
        assert asked.questions.questions[0].expires_at == asked.expires_at
        shown = (await talk.until("user_question"))[-1].user_question
        assert shown.expires_at == asked.expires_at
        timed.daemon.kill()
        timed.later(6 * HOUR_S)
        timed.daemon.launch(BETCODE_FAULT="after-expiry")
        await timed.daemon.ended()  # it died with the end on disk, and the agent not told
        await timed.daemon.start()
        said = await talk.until(is_idle)
        (resolved,) = [event.permission_resolved for event in said if kind_of(event) == "permission_resolved"]
        assert (resolved.resolution, resolved.message) == ("expired", WORDS.format("6h"))
        assert streamed_text(said).endswith("null")  # no answers
        assert_whole(talk.events)


async def test_a_prompt_whose_agent_is_gone_ends_in_time_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    patient = CrashPolicy(first_wait_s=10 * PATIENCE_S, longest_wait_s=10 * PATIENCE_S)
    async with engine(tmp_path, patient, program=mindful_program(tmp_path)) as here:
        await here.say("tool Write")
        request = await here.asked()
        here.kill_agent()
        await here.until(lambda event: event.error.code == ErrorCode.SUBPROCESS_CRASHED)
        real_ns = time.time_ns
        monkeypatch.setattr(time, "time_ns", lambda: real_ns() + WEEK_S * 10**9)
        said = await here.until(lambda event: event.error.code == ErrorCode.PERMISSION_TIMEOUT)
        assert said[-2].permission_resolved.resolution == "expired"
        row = await here.row(request.request_id)
        assert (row.state, row.message) == (PromptState.EXPIRED, WORDS.format("7d"))
        assert await here.supervisor.pending(here.session) == []
        await here.supervisor.close(here.session)
        assert not [noted for noted in ledger(here.work) if noted.what == "heard"]


@pytest.mark.behaviour("permission.ttl.expiry.session-continues")
async def test_a_budgets_question_ends_too_and_the_next_message_asks_anew(tmp_path: Path) -> None:
    async with timed_daemon(tmp_path) as timed:
        talk = await timed.talk(v1.Budget(max_turns=1))
        await talk.turn("say one")
        asked = await timed.asked(talk, "say two")
        assert await timed.left_s(asked) == WEEK_S
        await timed.daemon.restart()  # nobody has loaded the session since
        timed.later(WEEK_S + 1)

        async def open_prompts() -> int:
            return len(await timed.client.pending())

        await eventually(open_prompts, lambda number: number == 0)
        await talk.until(lambda event: event.message_state.state == v1.MESSAGE_STATE_CANCELLED)
        assert "error" in kinds(talk.events)
        (waited,) = {event.message_state.message_id for event in talk.events if event.message_state.reason}
        assert states_of(talk.events, waited)[-1] == "CANCELLED"
        again = await timed.asked(talk, "say three")
        await timed.client.answer_permission(again.request_id, v1.ALLOW_ONCE)
        assert streamed_text(await talk.until(lambda event: bool(event.text_delta.is_complete))).endswith("three")


@pytest.mark.behaviour(
    "permission.reminder.first",
    "permission.reminder.second",
    "permission.reminder.content",
    "permission.reminder.survives-restart",
    "permission.reminder.not-when-answered",
)
async def test_each_reminder_comes_once_also_over_a_restart(tmp_path: Path) -> None:
    async with timed_daemon(tmp_path) as timed:
        talk, answered = await timed.talk(), await timed.talk()
        done = await timed.asked(answered)
        await timed.client.answer_permission(done.request_id, v1.DENY)
        await answered.until(is_idle)
        asked = await timed.asked(talk)
        timed.later(HOUR_S + 1)
        first = (await talk.until("permission_reminder"))[-1].permission_reminder
        assert (first.request_id, first.tool_name, first.description) == (asked.request_id, "Bash", "a mark")
        assert (first.number, first.asked_at) == (1, asked.asked_at)
        await timed.daemon.restart()
        timed.later(23 * HOUR_S)
        await talk.until("permission_reminder")
        columns = "reminder_1h_sent, reminder_24h_sent FROM pending_permissions WHERE request_id = ?"
        assert timed.stored(f"SELECT {columns}", asked.request_id) == [(1, 1)]
        await timed.daemon.restart()
        timed.later(DAY_S)
        await timed.client.answer_permission(asked.request_id, v1.ALLOW_ONCE)
        await talk.until(is_idle)
        assert reminders(talk) == [1, 2]
        await answered.turn("say bye")
        assert reminders(answered) == []


@pytest.mark.behaviour("permission.reminder.configured")
async def test_reminders_come_when_the_settings_say_also_those_that_are_read_again(tmp_path: Path) -> None:
    async with timed_daemon(tmp_path, {"permissions": {"reminder_intervals": []}}) as timed:
        talk = await timed.talk()
        await timed.asked(talk)
        timed.later(5 * HOUR_S)
        timed.daemon.reload({"permissions": {"reminder_intervals": ["2h", "3h", "9h"]}})
        await talk.until(lambda event: event.permission_reminder.number == 2)
        assert reminders(talk) == [1, 2]


@pytest.mark.behaviour(
    "permission.ttl.extends-on-activity",
    "permission.ttl.extends-on-reconnect",
    "permission.ttl.extends-on-message",
    "permission.ttl.extends-on-heartbeat",
    "permission.ttl.extension-recorded",
    "permission.ttl.extension-scope",
)
async def test_whoever_is_there_gives_the_prompts_of_the_session_all_their_time_again(tmp_path: Path) -> None:
    async with timed_daemon(tmp_path, {"permissions": {"reminder_intervals": []}}) as timed:
        talk, another = await timed.talk(v1.Budget(max_turns=5)), await timed.talk()
        asked, elsewhere = await timed.asked(talk), await timed.asked(another)

        async def left() -> int:
            return await timed.left_s(asked)

        timed.later(DAY_S)
        await talk.until("permission_request")  # comes back
        await eventually(left, lambda seconds: seconds >= WEEK_S + DAY_S)
        timed.later(DAY_S)
        await talk.say("say later")
        await eventually(left, lambda seconds: seconds >= WEEK_S + 2 * DAY_S)
        async with anyio.create_task_group() as tasks:
            attached = anyio.Event()
            tasks.start_soon(_stay, timed, talk.session_id, attached)
            await attached.wait()
            timed.later(DAY_S)
            await eventually(left, lambda seconds: seconds >= WEEK_S + 3 * DAY_S)
            tasks.cancel_scope.cancel()
        assert await timed.left_s(elsewhere) == WEEK_S
        columns = "extension_count, last_extended_at > received_at FROM pending_permissions WHERE request_id = ?"
        assert timed.stored(f"SELECT {columns}", asked.request_id) == [(3, 1)]


@pytest.mark.behaviour("permission.ttl.extends-on-answer")
async def test_the_answer_to_one_prompt_extends_the_others_of_the_session(tmp_path: Path) -> None:
    async with timed_daemon(tmp_path, {"permissions": {"extend_on": "human"}}) as timed:
        talk = await timed.talk()
        request = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {}, "tool_use_id": "toolu_2"}
        line = {"type": "control_request", "request_id": "second", "request": request}
        (timed.daemon.work / "second").write_text(json.dumps(line) + "\n")
        await talk.say("play second\ntool")

        async def pending() -> dict[str, v1.PendingPrompt]:
            return {one.request_id: one for one in await timed.client.pending()}

        both = await eventually(pending, lambda prompts: len(prompts) == 2)
        timed.later(DAY_S)
        await timed.client.answer_permission("second", v1.DENY)
        (other,) = [prompt for name, prompt in both.items() if name != "second"]

        async def left() -> int:
            return await timed.left_s(other)

        await eventually(left, lambda seconds: seconds >= WEEK_S + DAY_S)


async def _stay(timed: Timed, session_id: str, attached: anyio.Event) -> None:
    async with aclosing(timed.client.follow(session_id, 0)) as events:
        async for _ in events:
            attached.set()


@pytest.mark.behaviour("permission.ttl.extends-on-heartbeat", "permission.ttl.extension-off")
async def test_extension_can_be_limited_to_what_people_do_or_be_turned_off(tmp_path: Path) -> None:
    settings = {"permissions": {"reminder_intervals": ["25h"], "extend_on": "human"}}
    async with timed_daemon(tmp_path, settings) as timed:
        talk = await timed.talk()
        asked = await timed.asked(talk)

        async def left() -> int:
            return await timed.left_s(asked)

        timed.later(DAY_S)
        await talk.until("permission_request")
        timed.later(2 * HOUR_S)
        await talk.until("permission_reminder")  # attached all the while
        assert await left() == WEEK_S
        await talk.say("say later")
        await eventually(left, lambda seconds: seconds >= WEEK_S + DAY_S)
        until_now = await left()
        timed.daemon.reload({"permissions": {"reminder_intervals": ["25h", "49h"], "extend_on_activity": False}})
        timed.later(DAY_S)
        await talk.until("permission_reminder")
        await talk.say("say much later")
        assert await left() == until_now
