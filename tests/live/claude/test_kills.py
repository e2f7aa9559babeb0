"""Daemon, holder and agent killed under the real CLI, in a turn and at a prompt: judged as the random rounds are."""

import os
import signal
import threading
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio
import pytest

from betcode.client.errors import ClientError
from betcode.engine.maintenance.orphan_check import violations
from betcode.holder.launch import holder_pid
from betcode.v1 import agent_pb2 as v1
from support.apis.messages.script import bash, say
from support.daemon.runs import gone
from support.daemon.session import Talk, is_idle, states_of
from support.patience import PATIENCE_S
from support.providers.claude import needs_claude
from support.providers.claude_world import World, claude_world
from support.rounds.evidence import Given, Sent, View
from support.rounds.facts import Facts
from support.rounds.gathering import read_session
from support.rounds.judge import judge_session

pytestmark = [needs_claude, pytest.mark.anyio]

VICTIMS = ("daemon", "holder", "agent")
SLOW = "One two three four five six seven eight nine ten."


@dataclass(slots=True)
class Judged:
    """A session with the real CLI, and everything that was said to it."""

    world: World
    talk: Talk
    sent: list[Sent] = field(default_factory=list)
    given: list[Given] = field(default_factory=list)
    is_torn: bool = False

    async def say(self, text: str) -> str:
        accepted = await self.talk.say(text)
        self.sent.append(Sent(accepted.message_id, text, accepted.sequence))
        return accepted.message_id

    async def answer(self, request: v1.PermissionRequest, *, allow: bool) -> None:
        try:
            again = await self.talk.answer(request, allow=allow)
            self.given.append(Given(request.request_id, allow, "again" if again else "taken"))
        except ClientError as refused:
            self.given.append(Given(request.request_id, allow, refused.code))

    async def kill(self, victim: str) -> None:
        """SIGKILL; a killed daemon is started again."""
        run = self.world.runs[-1]
        if victim == "daemon":
            await self.world.daemon.restart()
            return
        agent, holder = run.agent_pid, holder_pid(run.directory)
        assert holder is not None
        self.is_torn = victim == "holder"
        os.kill(holder if victim == "holder" else agent, signal.SIGKILL)
        await gone(agent)

    async def rest(self) -> None:
        """Until nothing is left to do; prompts are allowed, and what waits after a crash is called to mind."""
        facts = Facts(self.world.daemon.paths.database, self.world.daemon.paths.runs)
        looks = 0
        with anyio.fail_after(PATIENCE_S):
            while True:
                known = facts.session(self.talk.session_id)
                assert known is not None
                for prompt in await self.talk.client.pending(self.talk.session_id):
                    await self.answer(prompt.permission, allow=True)
                if known.status == "idle" and not known.open_messages and not known.open_prompts:
                    return
                looks = looks + 1 if known.status == "idle" else 0
                if looks == 20:
                    await self.say("[[fake:on]] go on")
                await anyio.sleep(0.05)

    async def faults(self) -> list[str]:
        daemon = self.world.daemon
        known = Facts(daemon.paths.database, daemon.paths.runs)
        seen = await read_session(daemon, self.talk.session_id, self.world.work)
        if self.talk.position < seen.log[-1][0]:
            await self.talk.until(lambda event: event.sequence == seen.log[-1][0])
        shown = tuple((event.sequence, event.SerializeToString()) for event in self.talk.events)
        one = replace(
            seen,
            sent=tuple(self.sent),
            given=tuple(self.given),
            views=(View("the client", 0, shown),),
            keeps_ledger=False,
            may_have_gaps=self.is_torn,
        )
        return judge_session(one) + violations(known.live_runs(), daemon.paths.runs)


@pytest.mark.behaviour("reconcile.sessions.adopted")
@pytest.mark.parametrize("victim", ["holder", "agent"])
async def test_a_kill_in_a_streaming_turn_breaks_no_promise(victim: str, tmp_path: Path) -> None:
    gate = threading.Event()
    scripts = {"slow": [say(SLOW, gate=gate, gate_after_chunks=2), say(SLOW)], "on": [say("On.")]}
    async with claude_world(tmp_path, scripts) as world:
        judged = Judged(world, await world.session())
        message = await judged.say("[[fake:slow]]")
        await judged.talk.until("text_delta")
        await judged.kill(victim)
        gate.set()
        await judged.rest()
        assert await judged.faults() == []
        assert states_of(judged.talk.events, message)[-1] == "CONSUMED"


@pytest.mark.parametrize("victim", VICTIMS)
async def test_a_kill_at_an_open_prompt_breaks_no_promise(victim: str, tmp_path: Path) -> None:
    scripts = {"append": [bash("echo ran >> ran.txt"), say("Done.")], "on": [say("On.")]}
    async with claude_world(tmp_path, scripts) as world:
        judged = Judged(world, await world.session())
        await judged.say("[[fake:append]]")
        request = await judged.talk.asked()
        await judged.kill(victim)
        await judged.answer(request, allow=True)
        await judged.answer(request, allow=True)
        await judged.answer(request, allow=False)
        await judged.rest()
        assert await judged.faults() == []
        assert (world.work / "ran.txt").read_text() == "ran\n"
        outcomes = [given.outcome for given in judged.given if given.request_id == request.request_id]
        assert outcomes[-1] == "PERMISSION_STALE"


async def test_a_cancel_before_a_kill_breaks_no_promise(tmp_path: Path) -> None:
    gate = threading.Event()
    scripts = {"slow": [say(SLOW, gate=gate, gate_after_chunks=2), say(SLOW)], "on": [say("On.")]}
    async with claude_world(tmp_path, scripts) as world:
        judged = Judged(world, await world.session())
        await judged.say("[[fake:slow]]")
        await judged.talk.until("text_delta")
        queued = await judged.say("[[fake:on]] later")
        await judged.talk.client.cancel(judged.talk.session_id)
        await judged.kill("daemon")
        gate.set()
        await judged.talk.until(lambda event: queued in event.turn_complete.message_ids)
        await judged.talk.until(is_idle)
        await judged.rest()
        assert await judged.faults() == []
        ends = [event.turn_complete.stop_reason for event in judged.talk.events if event.HasField("turn_complete")]
        assert ends == ["cancelled", "end_turn"]
