"""A cancel ends the turn once, with as much force as it takes, and the session goes on."""

import os
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

from betcode.client import Client, open_client
from betcode.client.errors import ClientError
from betcode.domain.runs.journal_record import RecordKind
from betcode.holder.launch import holder_pid
from betcode.v1 import agent_pb2 as v1
from support.daemon.process import Daemon, agent_program, obedient_daemon
from support.daemon.runs import RunOnDisk, gone, runs_in
from support.daemon.session import Talk, assert_whole, is_idle, settled_text, states_of
from support.patience import PATIENCE_S
from support.providers.claude_world import obedient_talk
from support.rules.files import decisions

pytestmark = pytest.mark.anyio

AT_ONCE: Mapping[str, object] = {"cancel": {"interrupt": "100ms", "sigint": "100ms", "term": "100ms"}}
AFTER_SIGINT_LONG: Mapping[str, object] = {"cancel": {"interrupt": "100ms", "sigint": "10m", "term": "1s"}}
AFTER_SIGTERM_LONG: Mapping[str, object] = {"cancel": {"interrupt": "100ms", "sigint": "100ms", "term": "10m"}}
ONLY_WHEN_INSISTED: Mapping[str, object] = {"cancel": {"interrupt": "10m", "sigint": "10m", "term": "10m", "insist": 0}}
DEAF = "deaf\nignore SIGINT SIGTERM\nwait never"


@dataclass(frozen=True, slots=True)
class Here:
    """A session, and what there was before it."""

    daemon: Daemon
    client: Client
    talk: Talk
    before: int

    @property
    def runs(self) -> list[RunOnDisk]:
        return runs_in(self.daemon.paths.runs)[self.before :]

    async def assert_usable(self, runs: int) -> None:
        """The next message is answered, and so many agents were needed in all."""
        assert settled_text(await self.talk.turn("say fine")) == "fine"
        assert len(self.runs) == runs
        assert not any(event.HasField("error") for event in self.talk.events)
        assert_whole(self.talk.events)


@asynccontextmanager
async def a_session(daemon: Daemon) -> AsyncIterator[Here]:
    async with open_client(daemon.paths) as client:
        talk = await obedient_talk(daemon, client)
        yield Here(daemon, client, talk, len(runs_in(daemon.paths.runs)))
        await client.close(talk.session_id)  # no slot stays taken


@pytest.fixture(scope="module")
async def hasty_daemon(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Daemon]:
    async with obedient_daemon(tmp_path_factory.mktemp("hasty"), settings=AT_ONCE) as daemon:
        yield daemon


@pytest.fixture(scope="module")
async def patient_daemon(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Daemon]:
    async with obedient_daemon(tmp_path_factory.mktemp("patient"), settings={"agents": {"turn_limit": 1}}) as daemon:
        yield daemon


@pytest.fixture
async def hasty(hasty_daemon: Daemon) -> AsyncIterator[Here]:
    """A session whose daemon takes the next step at once."""
    async with a_session(hasty_daemon) as here:
        yield here


@pytest.fixture
async def patient(patient_daemon: Daemon) -> AsyncIterator[Here]:
    """A session with the usual times; one turn at work at a time."""
    async with a_session(patient_daemon) as here:
        yield here


def waits(event: v1.AgentEvent) -> bool:
    return event.text_delta.text == "waiting"


def ends(events: Sequence[v1.AgentEvent]) -> list[str]:
    return [event.turn_complete.stop_reason for event in events if event.HasField("turn_complete")]


def notices(events: Sequence[v1.AgentEvent]) -> str:
    return "\n".join(event.notice.message for event in events if event.HasField("notice"))


async def insist(client: Client, session_id: str) -> None:
    while True:
        await client.cancel(session_id)


@pytest.mark.behaviour("cancel.escalation", "cancel.turn-complete", "cancel.session-usable")
@pytest.mark.parametrize(
    ("settings", "prompt", "end"),
    [
        (AFTER_SIGINT_LONG, "deaf\nmind SIGINT\nwait never", "SIGINT"),
        (AFTER_SIGTERM_LONG, "deaf\nignore SIGINT\nwait never", "SIGTERM"),
        (AT_ONCE, DEAF, "SIGKILL"),
    ],
    ids=["SIGINT", "SIGTERM", "SIGKILL"],
)
async def test_an_agent_that_does_not_stop_is_ended_by_the_next_signal(
    tmp_path: Path, settings: Mapping[str, object], prompt: str, end: str
) -> None:
    async with obedient_daemon(tmp_path, settings=settings) as daemon, a_session(daemon) as here:
        client, talk = here.client, here.talk
        accepted = await talk.say(prompt)
        await talk.until(waits)
        assert await client.cancel(talk.session_id)
        events = await talk.until(is_idle)
        assert ends(events) == ["cancelled"]
        assert f"killed by signal {end}" in notices(events)
        assert states_of(talk.events, accepted.message_id) == ["DELIVERED", "CONSUMED"]
        partial = [event.text_delta for event in events if event.text_delta.is_partial]
        assert [(text.is_complete, text.text) for text in partial] == [
            (True, "".join(event.text_delta.text for event in talk.events if not event.text_delta.is_complete))
        ]
        await here.assert_usable(2)


@pytest.mark.parametrize("polite", ["polite", "polite stays"])
async def test_an_agent_that_ends_its_turn_on_sigint_makes_way_for_the_next(tmp_path: Path, polite: str) -> None:
    async with obedient_daemon(tmp_path, settings=AFTER_SIGINT_LONG) as daemon, a_session(daemon) as here:
        talk = here.talk
        await talk.say(f"deaf\n{polite}\nwait never")
        await talk.until(waits)
        assert await here.client.cancel(talk.session_id)
        events = await talk.until("turn_complete")
        assert ends(events) == ["cancelled"]
        assert not notices(events)
        await talk.until(is_idle)
        await here.assert_usable(2)
        assert ends(talk.events) == ["cancelled", "end_turn"]


async def test_an_agent_that_dies_while_its_turn_is_cancelled_has_not_crashed(patient: Here) -> None:
    client, talk = patient.client, patient.talk
    await talk.say(DEAF)
    await talk.until(waits)
    queued = await talk.say("say queued")
    await talk.until(lambda event: event.message_state.message_id == queued.message_id)
    assert await client.cancel(talk.session_id)
    os.kill(patient.runs[0].agent_pid, signal.SIGKILL)
    events = await talk.until(is_idle)
    assert ends(events) == ["cancelled", "end_turn"]
    assert settled_text(events).endswith("queued")
    await patient.assert_usable(2)


@pytest.mark.behaviour("cancel.stream-request.interrupts")
async def test_a_cancel_on_a_stream_interrupts_and_sends_no_signal(patient: Here) -> None:
    client, talk = patient.client, patient.talk
    stream = client.converse(talk.session_id)
    seen: list[v1.AgentEvent] = []
    async with aclosing(stream.events()) as events:
        await talk.say("wait never")
        with anyio.fail_after(PATIENCE_S):
            async for event in events:
                seen.append(event)
                if waits(event):
                    await stream.cancel()
                if is_idle(event):
                    break
    assert ends(seen) == ends(await talk.until(is_idle)) == ["cancelled"]
    await patient.assert_usable(1)
    asked = [line for line in patient.runs[0].lines(RecordKind.IN) if b'"interrupt"' in line]
    assert len(asked) == 1


async def test_a_cancel_again_goes_on_to_the_next_step(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path, settings=ONLY_WHEN_INSISTED) as daemon, a_session(daemon) as here:
        client, talk = here.client, here.talk
        await talk.say(DEAF)
        await talk.until(waits)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(insist, client, talk.session_id)
            events = await talk.until(is_idle)
            tasks.cancel_scope.cancel()
        assert ends(events) == ["cancelled"]
        assert "SIGKILL" in notices(events)
        await here.assert_usable(2)


async def test_a_turn_that_began_after_the_interrupt_is_interrupted_again(patient: Here) -> None:
    client = patient.client
    talk = await obedient_talk(patient.daemon, client, OBEDIENT_DAWDLES="yes")
    accepted = await talk.say("wait never")
    await talk.until(lambda event: event.message_state.message_id == accepted.message_id)
    assert await client.cancel(talk.session_id)
    assert ends(await talk.until(is_idle)) == ["cancelled"]
    assert settled_text(await talk.turn("say fine")) == "fine"
    assert len(patient.runs) == 1


async def test_two_cancels_at_once_are_one(patient: Here) -> None:
    daemon, client, talk = patient.daemon, patient.client, patient.talk
    await talk.say("wait never")
    await talk.until(waits)
    async with open_client(daemon.paths) as other, anyio.create_task_group() as tasks:
        for each in (client, other, client, other):
            tasks.start_soon(each.cancel, talk.session_id)
    assert ends(await talk.until(is_idle)) == ["cancelled"]
    await patient.assert_usable(1)
    assert ends(talk.events) == ["cancelled", "end_turn"]


async def test_a_cancel_at_the_end_of_a_turn_leaves_one_end(patient: Here) -> None:
    client, talk = patient.client, patient.talk
    await talk.turn("say warm")
    for words in range(12):
        await talk.say("say" + " word" * words)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.cancel, talk.session_id)
            events = await talk.until(is_idle)
        assert ends(events) in (["cancelled"], ["end_turn"])
    await patient.assert_usable(1)
    assert len(ends(talk.events)) == 14


@pytest.mark.parametrize("cancel_queued", [False, True])
async def test_queued_messages_run_or_not_as_asked_and_later_ones_run(hasty: Here, cancel_queued: bool) -> None:
    client, talk = hasty.client, hasty.talk
    first = await talk.say(DEAF)
    await talk.until(waits)
    queued = await talk.say("say queued")
    await talk.until(lambda event: event.message_state.message_id == queued.message_id)
    await client.cancel(talk.session_id, cancel_queued=cancel_queued)
    later = await talk.say("say later")
    await talk.until(lambda event: later.message_id in event.turn_complete.message_ids)
    await talk.until(is_idle)
    assert states_of(talk.events, first.message_id)[-1] == "CONSUMED"
    assert states_of(talk.events, queued.message_id)[-1] == ("CANCELLED" if cancel_queued else "CONSUMED")
    assert states_of(talk.events, later.message_id)[-1] == "CONSUMED"
    assert settled_text(talk.events).endswith("later" if cancel_queued else "queuedlater")
    assert ends(talk.events) == ["cancelled", *(["end_turn"] if cancel_queued else ["end_turn", "end_turn"])]
    await hasty.assert_usable(2)


@pytest.mark.parametrize("moment", ["at once", "cancel-signalled:1", "cancel-ending:1"])
async def test_a_daemon_killed_while_it_cancels_is_followed_by_one_that_goes_on(tmp_path: Path, moment: str) -> None:
    daemon = Daemon(tmp_path, settings=AT_ONCE, claude_bin=agent_program(tmp_path))
    try:
        await daemon.start(BETCODE_FAULT=moment)
        async with a_session(daemon) as here:
            await here.talk.say(DEAF)
            await here.talk.until(waits)
            await here.client.cancel(here.talk.session_id)
            if moment == "at once":
                daemon.kill()
            else:
                await daemon.ended()
            await daemon.start()
            assert ends(await here.talk.until(is_idle)) == ["cancelled"]
            await here.assert_usable(2)
    finally:
        daemon.end_everything()


@pytest.mark.parametrize("who", ["agent", "holder"])
async def test_a_stopped_process_cannot_hold_up_a_cancel(hasty: Here, who: str) -> None:
    client, talk = hasty.client, hasty.talk
    await talk.say("wait never")
    await talk.until(waits)
    (run,) = hasty.runs
    pid = run.agent_pid if who == "agent" else holder_pid(run.directory)
    assert pid is not None
    agent = run.agent_pid
    os.kill(pid, signal.SIGSTOP)
    assert await client.cancel(talk.session_id)
    assert ends(await talk.until(is_idle)) == ["cancelled"]
    await gone(agent)
    await hasty.assert_usable(2)


async def test_a_message_that_waits_for_a_slot_is_withdrawn_and_the_next_keeps_its_place(patient: Here) -> None:
    daemon, client, talk = patient.daemon, patient.client, patient.talk
    await talk.say("wait go")
    await talk.until(waits)
    other = await obedient_talk(daemon, client)
    first, second = await other.say("say first"), await other.say("say second")
    done = await client.cancel_turn(other.session_id)
    assert (done.was_active, list(done.withdrawn_message_ids)) == (True, [first.message_id])
    assert (await other.summary()).status == "active"
    (daemon.work / "go").touch()
    events = await other.until(is_idle)
    assert ends(events) == ["cancelled", "end_turn"]
    assert states_of(events, first.message_id)[-1] == "CANCELLED"
    assert states_of(events, second.message_id)[-1] == "CONSUMED"


async def test_all_messages_that_wait_for_a_slot_can_be_withdrawn(patient: Here) -> None:
    daemon, client, talk = patient.daemon, patient.client, patient.talk
    await talk.say("wait never")
    await talk.until(waits)
    other = await obedient_talk(daemon, client)
    waiting = [(await other.say(f"say {number}")).message_id for number in range(3)]
    done = await client.cancel_turn(other.session_id, cancel_queued=True)
    assert (done.was_active, list(done.withdrawn_message_ids)) == (True, waiting)
    assert ends(await other.until(is_idle)) == ["cancelled"]
    again = await client.cancel_turn(other.session_id, cancel_queued=True)
    assert (again.was_active, list(again.withdrawn_message_ids)) == (False, [])


@pytest.mark.parametrize("deaf", [False, True])
async def test_an_open_prompt_is_withdrawn(hasty: Here, patient: Here, deaf: bool) -> None:
    here = hasty if deaf else patient
    daemon, client, talk = here.daemon, here.client, here.talk
    await talk.say("deaf\nignore SIGINT SIGTERM\ntool" if deaf else "tool")
    request = await talk.asked()
    assert await client.cancel(talk.session_id)
    events = await talk.until(is_idle)
    assert ends(events) == ["cancelled"]
    resolved = [event.permission_resolved for event in events if event.HasField("permission_resolved")]
    assert [(each.request_id, each.resolution) for each in resolved] == [(request.request_id, "withdrawn")]
    assert not await client.pending(talk.session_id)
    with pytest.raises(ClientError) as late:
        await talk.answer(request, allow=True)
    assert late.value.code == "PERMISSION_STALE"
    assert not (daemon.work / "ran.txt").exists()
    kept = decisions(daemon)[-1]
    assert (kept.outcome, kept.by, kept.note) == ("withdrawn", "person", "The turn was cancelled")
    assert kept.client  # it has no name but a random one


async def test_who_closes_a_session_is_named_with_the_prompt_that_it_ends(patient: Here) -> None:
    await patient.talk.say("tool")
    await patient.talk.asked()
    await patient.client.close(patient.talk.session_id)
    kept = decisions(patient.daemon)[-1]
    assert (kept.outcome, kept.by, kept.note) == ("withdrawn", "person", "the session was closed")
    assert kept.client  # it has no name but a random one


async def test_an_answer_after_the_cancel_is_refused_while_the_agent_still_asks(patient: Here) -> None:
    client, talk = patient.client, patient.talk
    await talk.say("deaf\ntool")
    request = await talk.asked()
    assert await client.cancel(talk.session_id)
    with pytest.raises(ClientError, match="being cancelled") as late:
        await talk.answer(request, allow=True)
    assert late.value.code == "PERMISSION_STALE"
    events = await talk.until(is_idle)
    resolved = [event.permission_resolved for event in events if event.HasField("permission_resolved")]
    assert [(each.request_id, each.resolution) for each in resolved] == [(request.request_id, "withdrawn")]


@pytest.mark.behaviour("cancel.rpc.was-active")
async def test_an_idle_session_says_so_and_nothing_happens(patient: Here) -> None:
    client, talk = patient.client, patient.talk
    assert not await client.cancel(talk.session_id)
    await talk.turn("say hello")
    before = (await talk.summary()).last_sequence
    assert not await client.cancel(talk.session_id, cancel_queued=True)
    assert (await talk.summary()).last_sequence == before
    await talk.say("wait never")
    await talk.until(waits)
    assert await client.cancel(talk.session_id)
    await talk.until(is_idle)
    await patient.assert_usable(1)


@pytest.mark.behaviour("cancel.rpc.unknown-session")
async def test_a_session_that_nobody_knows_cannot_be_cancelled(patient: Here) -> None:
    client = patient.client
    with pytest.raises(ClientError) as refused:
        await client.cancel("01890000-0000-7000-8000-000000000000")
    assert refused.value.code == "SESSION_NOT_FOUND"
