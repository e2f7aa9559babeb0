"""The daemon killed again and again under a working agent: nothing is lost, repeated or swapped."""

import os
import random
from pathlib import Path

import anyio
import pytest

from betcode.client import open_client
from betcode.domain.ports import Provider
from betcode.domain.runs.journal_record import RecordKind
from betcode.providers.claude.provider import ClaudeProvider
from betcode.providers.demo.provider import DemoProvider
from betcode.v1 import agent_pb2 as v1
from support.apis.messages.script import say
from support.daemon.process import Daemon
from support.daemon.runs import RunOnDisk, lives, runs_in
from support.daemon.session import Talk, assert_whole, is_idle, settled_text, states_of, streamed_text
from support.plugins.wide import representative
from support.providers.claude import CLAUDE, needs_claude
from support.providers.claude_world import claude_world, demo_sessions, demo_talk
from support.recordings.translation import assert_same, of_the_agent, undisturbed

pytestmark = pytest.mark.anyio

SOAK = int(os.environ.get("BETCODE_SOAK", "0"))
SEED = int(os.environ.get("BETCODE_SEED", "1"))


def assert_equals_its_journal(talk: Talk, run: RunOnDisk, provider: Provider, directory: Path) -> None:
    """The agent's events in the log are those of one reading of its journal."""
    assert_whole(talk.events)
    assert_same(of_the_agent(talk.events), undisturbed(provider, talk.session_id, str(directory), run.records()))


async def new_events(talk: Talk, number: int) -> bool:
    """Wait for so many more, at most; whether the agent rests."""
    seen = 0

    def enough(event: v1.AgentEvent) -> bool:
        nonlocal seen
        seen += bool(event.sequence)
        return seen > number or is_idle(event)

    return is_idle((await talk.until(enough))[-1])


async def storm(daemon: Daemon, talk: Talk, chance: random.Random, *, most_events: int) -> int:
    """Kill and start the daemon until the turn is over; how often."""
    kills = 0
    while True:
        if await new_events(talk, chance.randrange(most_events)):
            return kills
        await anyio.sleep(chance.uniform(0, 0.004))  # to land anywhere between two events
        daemon.kill()
        kills += 1
        if chance.random() < 0.2:  # one that does not even come to serve
            daemon.launch()
            await anyio.sleep(chance.uniform(0, 0.4))
            daemon.kill()
            kills += 1
        await daemon.start()


@pytest.mark.behaviour("followers.every-line")
async def test_a_log_written_by_many_killed_daemons_is_one_reading_of_the_journal(tmp_path: Path) -> None:
    lines = 60_000 if SOAK else 1_600
    async with demo_sessions(tmp_path) as (daemon, client):
        talk = await demo_talk(daemon, client, flood=lines, rate=400, bytes=40)
        await talk.say("go")
        kills = await storm(daemon, talk, random.Random(SEED), most_events=200)
        (run,) = runs_in(daemon.paths.runs)
        assert kills >= (100 if SOAK else 8)
        assert lives(run.agent_pid)
        numbers = [int(event.text_delta.text.split()[0]) for event in talk.events if is_flood_delta(event)]
        assert numbers == list(range(lines))
        assert_equals_its_journal(talk, run, DemoProvider(), daemon.work)


def is_flood_delta(event: v1.AgentEvent) -> bool:
    return event.HasField("text_delta") and not event.text_delta.is_complete


@needs_claude
async def test_the_real_cli_notices_nothing_of_killed_daemons(tmp_path: Path) -> None:
    text = " ".join(f"word{number}" for number in range(900 if SOAK else 180))
    script = say(text, chunk_characters=8, chunk_delay_s=0.03)
    async with claude_world(tmp_path, {"long": [script]}) as world:
        talk = await world.session()
        await talk.say("[[fake:long]]")
        kills = await storm(world.daemon, talk, random.Random(SEED), most_events=40)
        assert kills >= 3
        (run,) = world.runs
        assert lives(run.agent_pid)
        assert world.api.calls("long") == [0]
        assert streamed_text(talk.events) == settled_text(talk.events) == text
        assert_equals_its_journal(talk, run, ClaudeProvider(CLAUDE), world.work)


async def test_every_message_is_taken_once_though_daemons_are_killed_meanwhile(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    async with (
        demo_sessions(tmp_path) as (daemon, _),
        open_client(daemon.paths, sleep=daemon.until_it_serves) as client,
    ):
        talk = await demo_talk(daemon, client, flood=20, rate=400)
        said: list[str] = []

        async def speak() -> None:
            for number in range(40 if SOAK else 12):
                accepted = await talk.say(f"message {number}")
                said.append(accepted.message_id)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(speak)
            for _ in range(20 if SOAK else 5):
                await anyio.sleep(chance.uniform(0, 0.3))
                await daemon.restart()
        await talk.until(lambda event: said[-1] in event.turn_complete.message_ids)
        await talk.until(is_idle)
        # A daemon that is killed before its agent is started leaves a run without an agent.
        (run,) = (run for run in runs_in(daemon.paths.runs) if run.lines(RecordKind.IN))
        inputs = [event.user_input.message_id for event in talk.events if event.HasField("user_input")]
        assert inputs == said
        answered = [name for event in talk.events for name in event.turn_complete.message_ids]
        assert sorted(answered) == sorted(said)
        assert all(states_of(talk.events, message).count("CONSUMED") == 1 for message in said)
        handed = [line for line in run.lines(RecordKind.IN) if b'"user"' in line]
        assert len(handed) == len(said)
        assert_equals_its_journal(talk, run, DemoProvider(), daemon.work)


# A daemon tries once whether it can write before it serves. Between accepting a message and its first events there are
# four commits: message, run, its agent, and the hand-over.
STEPS = {
    "before-commit": (2, 3, 4, 5, 6, 10),
    "after-commit": (2, 3, 4, 5, 6, 10),
    "after-reading": (1, 2, 5),
    "after-hand-over": (1,),
}


# A representative for each step: the first of its times.
@pytest.mark.parametrize(
    "fault",
    representative(
        (f"{step}:{times}" for step, counts in STEPS.items() for times in counts), lambda fault: fault.split(":")[0]
    ),
)
async def test_a_kill_at_a_named_step_loses_and_repeats_nothing(fault: str, tmp_path: Path) -> None:
    async with demo_sessions(tmp_path) as (daemon, client):
        talk = await demo_talk(daemon, client, flood=60, rate=400)
        await daemon.stop()
        await daemon.start(BETCODE_FAULT=fault)
        message: list[str] = []

        async def speak() -> None:
            accepted = await talk.say("go")
            message.append(accepted.message_id)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(speak)
            await daemon.ended()
            await daemon.start()
        await talk.until(lambda event: message[0] in event.turn_complete.message_ids)
        await talk.until(is_idle)
        assert states_of(talk.events, message[0]).count("CONSUMED") == 1
        inputs = [event.user_input.message_id for event in talk.events if event.HasField("user_input")]
        assert inputs == message
        (run,) = [run for run in runs_in(daemon.paths.runs) if run.lines(RecordKind.OUT)]
        assert lives(run.agent_pid)
        assert_equals_its_journal(talk, run, DemoProvider(), daemon.work)


async def test_an_answer_taken_by_a_dying_daemon_reaches_the_agent_once(tmp_path: Path) -> None:
    async with demo_sessions(tmp_path) as (daemon, client):
        talk = await demo_talk(daemon, client, speed=0)
        await daemon.stop()
        await daemon.start(BETCODE_FAULT="after-answer:1")
        await talk.say("permission")
        request = await talk.asked()

        async def answer() -> None:
            await talk.answer(request, allow=True)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(answer)
            await daemon.ended()
            await daemon.start()
        await talk.until(is_idle)
        (run,) = runs_in(daemon.paths.runs)
        answers = [line for line in run.lines(RecordKind.IN) if request.request_id.encode() in line]
        assert len(answers) == 1
        resolved = [event for event in talk.events if event.permission_resolved.request_id == request.request_id]
        assert len(resolved) == 1
        assert "You allowed it." in settled_text(talk.events)
        assert_equals_its_journal(talk, run, DemoProvider(), daemon.work)


@pytest.mark.behaviour("session.persistence.all-messages")
async def test_ten_followers_of_a_storm_see_the_same_log(tmp_path: Path) -> None:
    """Each with its own position, through every reconnection."""
    async with demo_sessions(tmp_path) as (daemon, client):
        talk = await demo_talk(daemon, client, flood=800, rate=400)
        others = [Talk(client, talk.session_id) for _ in range(10)]
        await talk.say("go")
        async with anyio.create_task_group() as tasks:
            for other in others:
                tasks.start_soon(other.until, is_idle)
            await storm(daemon, talk, random.Random(SEED), most_events=200)
        for other in others:
            assert other.events == talk.events
