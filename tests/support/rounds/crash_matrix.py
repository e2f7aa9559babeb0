"""One use of a tool, from "asked" to "its result is written", with somebody killed at a chosen step of it.

The tool's work is a line in `ran.txt`. The person of a round allows or denies what is asked; told that it may have run
already, they deny.
"""

import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

import anyio

from betcode.client import Client, open_client
from betcode.client.errors import ClientError
from betcode.domain.values.identifiers import new_message_id
from betcode.holder.launch import holder_pid
from betcode.v1 import agent_pb2 as v1
from support.daemon.process import Daemon, becomes_true, running_daemon
from support.daemon.runs import gone
from support.daemon.session import Talk, is_idle
from support.providers.ledger import CLAUDE, Kind
from support.rounds.evidence import Sent
from support.rounds.facts import Facts
from support.rounds.gathering import own_ledger, read_session
from support.rounds.judge import judge_session

T = TypeVar("T")
BOUND_S = 90.0
_QUICK_LADDER_MS = (20, 60, 150, 400, 1000)


class Who(StrEnum):
    DAEMON = "daemon"
    HOLDER = "holder"
    AGENT = "agent"


class Step(StrEnum):
    ASKED = "asked"
    ANSWERED = "answered"  # on the daemon's disk, and not handed over
    HANDED_OVER = "handed over"  # in the holder's journal, and the daemon has not read that it is
    HEARD = "heard"  # by the agent
    RAN = "ran"
    TOLD = "told"


TOOLS = ("Bash", "Write")


def faults(kind: Kind) -> dict[Step, str]:
    """At these steps the daemon is ended from within, and so it is where another is to be killed there."""
    handed_over_before = 1 if kind is CLAUDE else 2  # the message, and a step of the greeting
    return {Step.ANSWERED: "after-answer:1", Step.HANDED_OVER: f"after-hand-over:{handed_over_before + 1}"}


@dataclass(frozen=True, slots=True)
class Case:
    who: Who
    step: Step
    tool: str = "Write"
    allow: bool = True
    fault: str = ""  # at which the daemon ends instead of at the step

    def __str__(self) -> str:
        at = self.fault or self.step
        return f"{self.who} at {at}, {self.tool} {'allowed' if self.allow else 'denied'}".replace(" ", "-")

    def expected(self, kind: Kind) -> tuple[int, ...]:
        """How often the tool may have done its work."""
        if not self.allow:
            return (0,)
        if self.who is Who.DAEMON or self.step in (Step.RAN, Step.TOLD):
            return (1,)
        if self.step in (Step.ASKED, Step.ANSWERED):  # a broken turn goes on, or a person has to begin it again
            return (1,) if kind.goes_on else (0,)
        return (0,) if self.step is Step.HEARD else (0, 1)


def all_cases() -> Iterator[Case]:
    for allow in (True, False):
        for tool in TOOLS:
            for who in Who:
                yield from (Case(who, step, tool, allow) for step in Step)
            for name in ("before-commit", "after-commit", "after-reading"):
                yield from (Case(Who.DAEMON, Step.ASKED, tool, allow, f"{name}:{number}") for number in range(1, 9))


@dataclass
class Matrix:
    """A daemon with agents that have a memory; each round is a session of its own."""

    root: Path
    daemon: Daemon
    client: Client
    kind: Kind
    rounds: int = 0

    async def play(self, case: Case) -> None:
        """One round; raises AssertionError where a promise is broken."""
        self.rounds += 1
        work = self.root / f"w{self.rounds}"
        work.mkdir()
        new = self.kind.session(work, self.root)
        with anyio.fail_after(BOUND_S):
            talk = Talk(self.client, await self.client.start_session(new))
            if case.fault:
                async with self._dying_at(case.fault):
                    await _Round(self, case, work, talk).play()
            else:
                await _Round(self, case, work, talk).play()
            await self.client.close(talk.session_id)

    async def restart(self, fault: str = "") -> None:
        self.daemon.kill()
        await self.daemon.start(**({"BETCODE_FAULT": fault} if fault else {}))

    @asynccontextmanager
    async def _dying_at(self, fault: str) -> AsyncIterator[None]:
        """The daemon ends at a step of its own, be it at its start, and is followed by one that does not."""

        async def keep() -> None:
            await self.daemon.ended()
            await self.daemon.start()

        self.daemon.kill()
        self.daemon.launch(BETCODE_FAULT=fault)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(keep)
            yield
            tasks.cancel_scope.cancel()
        await self.restart()  # it may not have come to that step


@dataclass
class _Round:
    matrix: Matrix
    case: Case
    work: Path
    talk: Talk
    is_struck: bool = False

    @property
    def _faults(self) -> dict[Step, str]:
        return faults(self.matrix.kind)

    async def play(self) -> None:
        case = self.case
        if case.step in (Step.HEARD, Step.RAN, Step.TOLD) or (
            case.step is Step.HANDED_OVER and case.who is not Who.DAEMON
        ):
            (self.work / "hold").write_text("heard" if case.step is Step.HANDED_OVER else case.step)
        if case.step in self._faults:
            await self.matrix.restart(self._faults[case.step])
        text = f"tool {case.tool}\nsay over"
        name = new_message_id()
        message = await persistently(lambda: self.talk.client.send(self.talk.session_id, text, message_id=name))
        while not is_idle((await self.talk.until(_asks_or_rests))[-1]):
            await self._answer(self.talk.events[-1].permission_request)
        await self._judge(Sent(message.message_id, text, message.sequence))

    async def _answer(self, request: v1.PermissionRequest) -> None:
        case, is_first = self.case, not self.is_struck and not self.case.fault
        self.is_struck = True
        if is_first and case.step is Step.ASKED:
            await self._strike()
            if case.who is not Who.DAEMON:
                await self.talk.until("error")  # an answer given before that may be handed over to a dead agent
        allow = case.allow and "may have run" not in request.note
        strikes_from_within = is_first and case.step in self._faults
        async with anyio.create_task_group() as tasks:
            if strikes_from_within:
                tasks.start_soon(self._strike_after_the_daemon)
            with stale_is_fine():  # asked again before the answer came
                await persistently(lambda: self.talk.answer(request, allow=allow))
        if is_first and case.step in (Step.HEARD, Step.RAN, Step.TOLD):
            await becomes_true((self.work / f"at-{case.step}").exists)
            await self._strike()

    async def _strike_after_the_daemon(self) -> None:
        """The daemon has ended at the step; whoever is to be killed is killed before there is another."""
        await self.matrix.daemon.ended()
        if self.case.who is not Who.DAEMON:
            if self.case.step is Step.HANDED_OVER:
                await becomes_true((self.work / "at-heard").exists)
            await self._kill()
        await self.matrix.daemon.start()

    async def _strike(self) -> None:
        if self.case.who is Who.DAEMON:
            await self.matrix.restart()
            (self.work / "hold").unlink(missing_ok=True)
        else:
            await self._kill()

    async def _kill(self) -> None:
        """The agent, or its holder and the agent with it; the next one is not held."""
        agent = int((self.work / "agent.pids").read_text().split()[-1])
        victim = agent
        if self.case.who is Who.HOLDER:
            facts = Facts(self.matrix.daemon.paths.database, self.matrix.daemon.paths.runs)
            session = facts.session(self.talk.session_id)
            assert session is not None
            victim = holder_pid(facts.runs(session.key)[-1].directory) or 0
        os.kill(victim, signal.SIGKILL)
        await gone(agent)
        (self.work / "hold").unlink(missing_ok=True)

    async def _judge(self, sent: Sent) -> None:
        ran = self.work / "ran.txt"
        times = len(ran.read_text().splitlines()) if ran.exists() else 0
        kind = self.matrix.kind
        assert times in self.case.expected(kind), f"the tool did its work {times} times"
        evidence = await read_session(self.matrix.daemon, self.talk.session_id, self.work, kind)
        ledger = own_ledger(kind, self.work, "", evidence.log)
        evidence = replace(evidence, sent=(sent,), ledger=ledger, may_have_gaps=self.case.who is Who.HOLDER)
        assert judge_session(evidence) == []


async def persistently(call: Callable[[], Awaitable[T]]) -> T:
    """What a call gives, made again and again while there is no daemon."""
    while True:
        try:
            return await call()
        except ClientError as error:
            if not error.may_be_retried:
                raise
        await anyio.sleep(0.05)


@contextmanager
def stale_is_fine() -> Iterator[None]:
    try:
        yield
    except ClientError as error:
        if error.code != "PERMISSION_STALE":
            raise


def _asks_or_rests(event: v1.AgentEvent) -> bool:
    return event.HasField("permission_request") or is_idle(event)


@asynccontextmanager
async def open_matrix(root: Path, kind: Kind) -> AsyncIterator[Matrix]:
    """Leaving it ends every process of it."""
    settings = {"agents": kind.settings(root)}
    async with (
        running_daemon(root / "home", settings=settings, claude_bin=kind.program(root)) as daemon,
        open_client(daemon.paths, ladder_ms=_QUICK_LADDER_MS) as client,
    ):
        yield Matrix(root, daemon, client, kind)
