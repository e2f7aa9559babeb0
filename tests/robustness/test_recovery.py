"""An agent that dies in the middle of a turn is started again, and the turn goes on."""

import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from betcode.client import Client, NewConversation, open_client
from betcode.domain.runs.crash_policy import CrashPolicy
from betcode.domain.runs.state import RunState
from betcode.v1 import agent_pb2 as v1
from support.daemon.process import Daemon, agent_program, running_daemon
from support.daemon.runs import runs_in
from support.daemon.session import Talk, assert_whole, is_idle, kinds, settled_text, states_of
from support.engine.engine import EngineSession, engine
from support.patience import PATIENCE_S
from support.providers.claude_world import obedient_talk
from support.rounds.clock import clock_environment, move_clock

pytestmark = pytest.mark.anyio

MUCH_LATER = CrashPolicy(first_wait_s=10 * PATIENCE_S, longest_wait_s=10 * PATIENCE_S)


def crashes(events: list[v1.AgentEvent]) -> list[v1.ErrorEvent]:
    return [event.error for event in events if event.error.code == "SUBPROCESS_CRASHED"]


def is_crash(event: v1.AgentEvent) -> bool:
    return event.error.code == "SUBPROCESS_CRASHED"


def waits(event: v1.AgentEvent) -> bool:
    return event.text_delta.text == "waiting"


@pytest.mark.behaviour(
    "error.code.subprocess-crashed",
    "recovery.crash.definition",
    "recovery.crash.resumes",
    "recovery.crash.error-event",
    "recovery.crash.stderr-logged",
)
@pytest.mark.parametrize("code", [3, 0])
async def test_a_turn_whose_agent_died_goes_on_by_itself(daemon: Daemon, client: Client, code: int) -> None:
    talk = await obedient_talk(daemon, client)
    message = await talk.say(f"stumble stone {code}\nargv")
    events = await talk.until(is_idle)
    (error,) = crashes(events)
    assert not error.is_fatal
    assert error.details["retry_after_ms"] == "500"
    assert error.message.startswith(f"Claude process crashed (exit code {code}")
    assert error.details["retry_at"] > "2020"
    assert "up again" in settled_text(events)
    assert f"--resume={talk.session_id}" in settled_text(events), "with the conversation so far"
    assert states_of(talk.events, message.message_id) == ["DELIVERED", "DELIVERED", "CONSUMED"]
    assert kinds(events).count("turn_complete") == 1, "one turn, for whoever watches"
    assert len(daemon.agent_pids) == 2
    logged = [line for line in daemon.log.splitlines() if "stumbled over a stone" in line and '"error"' in line]
    assert len(logged) == 1
    assert talk.session_id in logged[0]
    assert_whole(talk.events)


@pytest.mark.behaviour("recovery.exit.asked-for")
async def test_an_agent_that_ends_with_no_turn_open_is_no_crash_and_not_started_again(
    daemon: Daemon, client: Client
) -> None:
    talk = await obedient_talk(daemon, client)
    await talk.turn("say hello")
    os.kill(daemon.agent_pids[0], signal.SIGKILL)
    await talk.summary_when(lambda summary: summary.run_state == "exited")
    assert (await talk.summary()).status == "idle"
    assert "again" in settled_text(await talk.turn("say again"))
    assert crashes(talk.events) == []
    assert len(daemon.agent_pids) == 2


async def test_history_says_where_a_tool_may_run_twice(daemon: Daemon, client: Client) -> None:
    """The tool's call is there and its result is not."""
    call = (
        '{"type":"assistant","message":{"id":"m","role":"assistant","model":"x","content":[{"type":"tool_use",'
        '"id":"toolu_1","name":"Bash","input":{"command":"make"}}]},"parent_tool_use_id":null,"session_id":"s"}\n'
    )
    (daemon.work / "call").write_text(call)
    talk = await obedient_talk(daemon, client)
    await talk.say("play call\nstumble stone")
    events = await talk.until(is_idle)
    (told,) = [event.notice for event in events if "may run a second time" in event.notice.message]
    assert told.details["tools"] == "Bash"
    assert crashes(events)[0].details["tools"] == "Bash"


@pytest.mark.behaviour("recovery.crash.backoff")
async def test_a_daemon_killed_while_a_session_waits_is_followed_by_one_that_goes_on_with_it(
    daemon: Daemon, client: Client
) -> None:
    talk = await obedient_talk(daemon, client)
    await talk.say("wait more")
    for dead in range(2):
        await talk.until(waits)
        os.kill(daemon.agent_pids[dead], signal.SIGKILL)
        await talk.until(is_crash)
    daemon.kill()
    await daemon.start()
    events = await talk.until(waits)
    assert crashes(events) == []
    os.kill(daemon.agent_pids[2], signal.SIGKILL)
    (third,) = crashes(await talk.until(is_crash))
    assert (third.details["crashes"], third.details["retry_after_ms"]) == ("3", "2000"), "it knows of the first two"
    (daemon.work / "more").touch()
    await talk.say("say hurry")
    await talk.until(is_idle)
    daemon.kill()
    await daemon.start()
    (fourth,) = crashes(await talk.turn("stumble stone"))
    assert fourth.details["crashes"] == "1", "and that a turn was finished since"
    assert len(daemon.agent_pids) == 5
    assert_whole(talk.events)


@pytest.mark.behaviour("recovery.crash.slow-crashes-go-on")
async def test_crashes_of_which_fewer_than_five_fall_into_a_minute_never_stop_the_restarts(tmp_path: Path) -> None:
    async with (
        running_daemon(tmp_path, claude_bin=agent_program(tmp_path), environment=clock_environment(tmp_path)) as daemon,
        open_client(daemon.paths) as client,
    ):
        talk = await obedient_talk(daemon, client)
        for number in range(7):
            events = await talk.turn(f"stumble stone-{number}")
            assert [error.is_fatal for error in crashes(events)] == [False]
            assert settled_text(events) == "up again"
            move_clock(tmp_path, 16)  # four in any minute
        move_clock(tmp_path, 60)
        quick = [await talk.turn(f"stumble quick-{number}") for number in range(5)]
        fatal = [error.is_fatal for events in quick for error in crashes(events)]
        assert fatal == [False] * 4 + [True], "five in a minute do"
        assert_whole(talk.events)


async def test_an_agent_killed_before_its_first_word_is_tried_again(daemon: Daemon, client: Client) -> None:
    talk = await obedient_talk(daemon, client, BETCODE_OBEDIENT_KILLED_ONCE="early")
    events = await talk.turn("say late but here")
    assert "SIGKILL" in crashes(events)[0].message
    assert settled_text(events) == "late but here"


@pytest.mark.parametrize(
    ("complaint", "code", "says"),
    [
        ("error: unknown option '--new'", "AGENT_UNAVAILABLE", "update"),
        ("cannot find its own files", "AGENT_UNAVAILABLE", "run it by hand"),
    ],
)
async def test_what_never_heals_is_said_once_with_what_to_do(
    tmp_path: Path, complaint: str, code: str, says: str
) -> None:
    program = tmp_path / "claude"
    program.write_text(f'#!/bin/sh\necho x >> tries\necho "{complaint}" >&2\nexit 1\n')
    program.chmod(0o755)
    async with running_daemon(tmp_path, claude_bin=program) as daemon, open_client(daemon.paths) as client:
        new = NewConversation(str(daemon.work), provider="claude", environment=daemon.environment)
        talk = Talk(client, await client.start_session(new))
        message = await talk.say("hello")
        events = await talk.until(is_idle)
        (error,) = [event.error for event in events if event.HasField("error")]
        assert error.code == code
        assert complaint in error.message
        assert says in error.message.partition("What to do")[2]
        assert states_of(talk.events, message.message_id)[-1] == "CANCELLED"
        assert (await talk.summary()).run_state == "crashed"
        assert (daemon.work / "tries").read_text() == "x\n"


# ---------------------------------------------------------------- with a faster clock


@asynccontextmanager
async def backing_off(root: Path) -> AsyncIterator[tuple[EngineSession, str]]:
    """A session that waits, for longer than any test takes, before it starts its second agent; and its message."""
    async with engine(root, MUCH_LATER) as here:
        message = await here.say("wait more")
        await here.until(waits)
        os.kill(runs_in(root / "runs")[0].agent_pid, signal.SIGKILL)
        await here.until(is_crash)
        told = await here.told()
        assert (told.status, told.run_state, told.waiting_for) == ("active", "backing_off", "retry")
        assert told.waiting_until.ToNanoseconds() > told.updated_at.ToNanoseconds()
        yield here, message


async def test_a_message_cuts_the_wait_short_and_both_are_done(tmp_path: Path) -> None:
    async with engine(tmp_path, MUCH_LATER) as here:
        first = await here.say("stumble stone")
        await here.until(is_crash)
        second = await here.say("say here I am")
        events = await here.until(lambda event: second in event.turn_complete.message_ids)
        assert "up again" in settled_text(events)
        assert states_of(here.events, first)[-1] == states_of(here.events, second)[-1] == "CONSUMED"


async def test_cancelling_while_it_waits_ends_the_turn_and_starts_nothing(tmp_path: Path) -> None:
    async with backing_off(tmp_path) as (here, _):
        assert (await here.supervisor.cancel_turn(here.session)).was_active
        events = await here.until(is_idle)
        assert [event.turn_complete.stop_reason for event in events if event.HasField("turn_complete")] == ["cancelled"]
        told = await here.told()
        assert (told.status, told.run_state, told.waiting_for) == ("idle", "crashed", "")
        await here.say("say alive")
        assert settled_text(await here.until(is_idle)) == "alive", "and what was cancelled is not sent again"
        assert here.agents == 2
        assert_whole(here.events)


@pytest.mark.parametrize("how", ["close", "delete"])
async def test_what_is_closed_while_it_waits_starts_nothing_and_leaves_no_message_open(
    tmp_path: Path, how: str
) -> None:
    async with backing_off(tmp_path) as (here, message):
        if how == "close":
            await here.supervisor.close(here.session)
            await here.until(lambda event: event.message_state.state == v1.MESSAGE_STATE_CANCELLED)
            assert states_of(here.events, message)[-1] == "CANCELLED"
            assert (await here.told()).run_state == "crashed"
        else:
            await here.supervisor.delete(here.session)
        other = await here.another()
        await other.say("say hello")
        await other.until(is_idle)
        assert here.agents == 2, "one that died, and the other session's"


async def test_the_next_daemon_waits_for_as_long_as_the_one_before_it_would_have(tmp_path: Path) -> None:
    async with engine(tmp_path, MUCH_LATER) as here:
        await here.say("stumble stone")
        await here.until(is_crash)
        before = await here.supervisor.summary(here.session)
        assert (before.waiting.what, before.row.run_state) == ("retry", RunState.BACKING_OFF)
    async with engine(tmp_path, MUCH_LATER, here.session) as later:
        assert (await later.supervisor.summary(here.session)).waiting == before.waiting
        assert later.agents == 1
        await later.say("say now")
        assert "up again" in settled_text(await later.until(is_idle))
        assert later.agents == 2


@pytest.mark.behaviour("recovery.crash.gives-up", "events.status.error")
async def test_five_crashes_in_a_short_time_are_the_end_and_the_next_message_starts_afresh(tmp_path: Path) -> None:
    async with engine(tmp_path, CrashPolicy(first_wait_s=0.001, within_s=3600)) as here:
        deadly = await here.say("die")
        events = await here.until(is_idle)
        assert here.agents == 5
        assert [error.details.get("crashes") for error in crashes(events)] == ["1", "2", "3", "4", None]
        assert "start it again" in crashes(events)[-1].message
        last = [event for event in events if kinds([event])[0] in ("status_change", "error", "turn_complete")][-4:]
        assert kinds(last) == ["status_change", "error", "turn_complete", "status_change"]
        assert (last[0].status_change.status, last[0].status_change.message) == (v1.ERROR, "CRASHED")
        assert [error.is_fatal for error in crashes(events)] == [False] * 4 + [True]
        assert last[2].turn_complete.stop_reason == "crashed"
        assert states_of(here.events, deadly)[-1] == "UNKNOWN", "a person decides whether it is sent again"
        await here.say("stumble stone")
        events = await here.until(is_idle)
        assert len(crashes(events)) == 1, "none of the five counts any more"
        assert settled_text(events) == "up again"
        assert here.agents == 7
        assert_whole(here.events)
