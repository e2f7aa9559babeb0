"""An unexpected error at any named place stops one session; the engine, other sessions and later starts go on."""

import sqlite3
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing, closing, suppress
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path

import anyio
import pytest

from betcode.config.settings import EngineSettings
from betcode.domain.errors import SessionFailed, StorageDegraded
from betcode.domain.sessions.binding import SessionBinding
from betcode.domain.sessions.budget import Amounts, Budget
from betcode.domain.store.store_ports import SessionFilter
from betcode.domain.values.identifiers import Seq
from betcode.engine import AgentShutdownPolicy, ClientName
from betcode.engine.fault_points import FaultPoint
from betcode.v1 import agent_pb2 as v1
from support.engine.engine import ME, EngineSession
from support.engine.faulty import (
    FaultyEngine,
    InjectedError,
    Injection,
    Pair,
    assert_failed,
    is_idle,
    is_waiting,
    open_turn,
    says,
)
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio

Provoke = Callable[[Pair], Awaitable[None]]
OTHER = ClientName("other", peer="pid 2: other")


# ---------------------------------------------------------------- how a place is reached


async def turn(pair: Pair) -> None:
    await pair.faulty.say("say hello")


async def long_turn(pair: Pair) -> None:
    await pair.faulty.say("wait go")


async def killed_agent(pair: Pair) -> None:
    await open_turn(pair)
    pair.faulty.kill_agent()


async def dying_agent(pair: Pair) -> None:
    await pair.faulty.say("die")


async def cancelled_turn(pair: Pair) -> None:
    await open_turn(pair)
    await pair.faulty.supervisor.cancel_turn(pair.faulty.session)


async def cancelled_deaf_turn(pair: Pair) -> None:
    await pair.faulty.say("deaf\nwait go")
    await pair.faulty.until(is_waiting)
    await pair.faulty.supervisor.cancel_turn(pair.faulty.session)


async def closed(pair: Pair) -> None:
    await open_turn(pair)
    await pair.faulty.supervisor.close(pair.faulty.session)


async def begun(pair: Pair) -> None:
    await pair.faulty.supervisor.lifecycle.begin(pair.faulty.session, PATIENCE_S)


async def stopped(pair: Pair) -> None:
    await begun(pair)
    await pair.faulty.supervisor.lifecycle.stop(pair.faulty.session, graceful=True, within_s=PATIENCE_S)


async def restarted(pair: Pair) -> None:
    await begun(pair)
    await pair.faulty.supervisor.lifecycle.restart(pair.faulty.session, {}, PATIENCE_S)


async def stop_begun(pair: Pair) -> None:
    """A stop that waits for the turn, left to the next daemon."""
    await open_turn(pair)
    engine = pair.faulty
    with anyio.move_on_after(0.2):
        await engine.supervisor.lifecycle.stop(engine.session, graceful=True, within_s=1)


async def past_compaction_threshold(pair: Pair) -> None:
    await pair.faulty.say("tokens 1000\nsay hello")


async def over_budget(pair: Pair) -> None:
    await pair.faulty.supervisor.set_budget(pair.faulty.session, Budget(Amounts(turns=1)))
    await pair.faulty.say("say hello")


async def open_prompt(pair: Pair) -> None:
    await pair.faulty.say("tool")
    await pair.faulty.asked()


async def extended_prompt(pair: Pair) -> None:
    await open_prompt(pair)
    settings = replace(EngineSettings(), permission_ttl_s=20 * 86400.0)
    pair.faulty.supervisor.use(settings)
    await pair.faulty.say("say hello")


async def two_followers(pair: Pair) -> None:
    async with anyio.create_task_group() as tasks:
        for client in (ME, OTHER):
            tasks.start_soon(follow, pair.faulty, client)
        await pair.reached()
        tasks.cancel_scope.cancel()


async def follow(engine: EngineSession, client: ClientName, drain: anyio.Event | None = None) -> None:
    async with aclosing(engine.supervisor.watching.follow(engine.session, Seq(0), client, drain=drain)) as batches:
        async for _ in batches:
            pass


async def waiting_for_lock(pair: Pair) -> None:
    engine = pair.faulty
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(follow, engine, ME)
        await engine.say("wait go")
        tasks.start_soon(engine.supervisor.request_lock, engine.session, OTHER)
        await pair.reached()
        tasks.cancel_scope.cancel()


async def draining(pair: Pair) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(follow, pair.faulty, ME, anyio.Event())
        await pair.reached()
        tasks.cancel_scope.cancel()


async def timed_out(pair: Pair) -> None:
    await begun(pair)
    await open_turn(pair)


async def ended_with_daemon(pair: Pair) -> None:
    await open_turn(pair)
    await pair.faulty.supervisor.part(AgentShutdownPolicy.ALL_END)


async def nothing(_: Pair) -> None:
    """The place is reached when the next engine starts."""


async def answered(pair: Pair) -> None:
    await pair.faulty.say("tool")
    asked = await pair.faulty.asked()
    await pair.faulty.answer(asked.request_id, v1.DENY)


async def compacted(pair: Pair) -> None:
    await pair.faulty.say("say hello")
    await pair.faulty.until(is_idle)
    await pair.faulty.supervisor.compact(pair.faulty.session)


async def past_its_time(pair: Pair) -> None:
    """The prompt has expired."""
    await open_prompt(pair)
    pair.faulty.supervisor.use(replace(EngineSettings(), permission_ttl_s=0.01))
    with closing(sqlite3.connect(pair.faulty.work.parent / "log.db")) as database, database:
        database.execute("UPDATE pending_permissions SET expires_at = 1")


async def cancelled_twice_deaf_turn(pair: Pair) -> None:
    await pair.faulty.say("deaf\nignore SIGINT\nwait go")
    await pair.faulty.until(is_waiting)
    await pair.faulty.supervisor.cancel_turn(pair.faulty.session)


async def left_active(pair: Pair) -> None:
    """A turn without agent and message, as an older daemon may have left it."""
    await pair.faulty.say("say hello")
    await pair.faulty.until(is_idle)
    with closing(sqlite3.connect(pair.faulty.work.parent / "log.db")) as database, database:
        database.execute("UPDATE sessions SET status = 'active' WHERE session_id = ?", (pair.faulty.session,))


async def deleted(pair: Pair) -> None:
    await pair.faulty.supervisor.delete(pair.faulty.session)


class Outcome(Enum):
    FAILED = "its log says that it failed"
    CANNOT_OPEN = "every call is refused with SESSION_FAILED"
    CRASHED = "its agent is started again some times, then given up"
    CALLER = "the caller gets the error, and the session goes on"
    DELETED = "it is deleted"


@dataclass(frozen=True)
class Case:
    place: str
    provoke: Provoke
    settings: Mapping[str, object] = field(default_factory=dict)
    binding: SessionBinding | None = None
    at_start: bool = False  # the place is reached by the next engine, after `provoke`
    outcome: Outcome = Outcome.FAILED

    def __str__(self) -> str:
        return self.place


OFTEN = {"idle_retire_s": 0.2}
QUICK_CANCEL = {"cancel_interrupt_s": 0.1, "cancel_sigint_s": 0.1}
CASES = [
    Case(FaultPoint.RUN, turn),
    Case(FaultPoint.RUN_INIT, turn),
    Case(FaultPoint.ADVANCE, turn),
    Case(FaultPoint.ADOPT, open_turn, at_start=True),
    Case(FaultPoint.ADOPT_INIT, open_turn, at_start=True),
    Case(FaultPoint.RECOVERY_WAIT, killed_agent),
    Case(FaultPoint.RECOVERY_RESUME, killed_agent),
    Case(FaultPoint.CLASSIFY_EXIT, dying_agent),
    Case(FaultPoint.HANG_END, open_turn, {"hang_after_s": 2.0}),
    Case(FaultPoint.CANCEL_STEPS, cancelled_deaf_turn),
    Case(FaultPoint.CANCEL_STEP, cancelled_deaf_turn),
    Case(FaultPoint.CANCEL_SWEEP, cancelled_turn),
    Case(FaultPoint.RULE_CHECK, turn),
    Case(FaultPoint.WIND_UP, closed),
    Case(FaultPoint.WARM_START, begun),
    Case(FaultPoint.STOP, stopped),
    Case(FaultPoint.FINISH_STOP, stop_begun, at_start=True),
    Case(FaultPoint.RESTART, restarted),
    Case(FaultPoint.RETIRE, turn, OFTEN),
    Case(FaultPoint.IDLE_CHECK, turn, OFTEN),
    Case(FaultPoint.COMPACTION, past_compaction_threshold, {"auto_compact_threshold": 500}),
    Case(FaultPoint.BUDGET_CHECK, over_budget),
    Case(FaultPoint.PROMPT_EXTENSION, extended_prompt),
    Case(FaultPoint.PROMPT_EXPIRY, open_prompt, {"reminder_intervals_s": (0.05,)}),
    Case(FaultPoint.PRESENCE, two_followers),
    Case(FaultPoint.LOCK_CLOCK, waiting_for_lock),
    Case(FaultPoint.DRAIN, draining),
    Case(FaultPoint.MAINTENANCE, long_turn, OFTEN),
    Case(FaultPoint.CALL_SCREENING, long_turn, OFTEN),
    Case(FaultPoint.SESSION_TIMEOUT, timed_out, binding=SessionBinding(timeout_ns=300_000_000)),
    Case(FaultPoint.SHUTDOWN, ended_with_daemon),
    Case(FaultPoint.LOAD, open_turn, at_start=True, outcome=Outcome.CANNOT_OPEN),
    Case(FaultPoint.SETTLE, left_active, at_start=True),
    Case(FaultPoint.RUN_CREATED, turn, outcome=Outcome.CRASHED),
    Case(FaultPoint.AFTER_READING, turn, outcome=Outcome.CRASHED),
    Case(FaultPoint.AFTER_HAND_OVER, turn, outcome=Outcome.CRASHED),
    Case(FaultPoint.AFTER_ANSWER, answered, outcome=Outcome.CALLER),
    Case(FaultPoint.AFTER_COMPACTION_ASKED, compacted, outcome=Outcome.CALLER),
    Case(FaultPoint.AFTER_EXPIRY, past_its_time, at_start=True),
    Case(FaultPoint.BEFORE_BUDGET_PROMPT, over_budget, outcome=Outcome.CALLER),
    Case(FaultPoint.CANCEL_SIGNALLED, cancelled_twice_deaf_turn, QUICK_CANCEL),
    Case(FaultPoint.CANCEL_ENDING, cancelled_twice_deaf_turn, QUICK_CANCEL),
    Case(FaultPoint.DELETE_MARKED, deleted, outcome=Outcome.DELETED),
    Case(FaultPoint.DELETE_FILES_REMOVED, deleted, outcome=Outcome.DELETED),
]


def test_every_place_has_a_case() -> None:
    assert sorted(case.place for case in CASES) == sorted(FaultPoint)


@pytest.mark.parametrize("case", CASES, ids=str)
async def test_an_error_in_one_session_stops_that_session_alone(tmp_path: Path, case: Case) -> None:
    injection = Injection(case.place, is_on=False)
    engine = FaultyEngine(tmp_path, injection, EngineSettings(**case.settings))  # type: ignore[arg-type]
    async with engine.opened(case.binding) as pair:
        await pair.healthy.say("say waiting\nbeat go\nsay done")
        await pair.healthy.until(is_waiting)
        if case.at_start:
            await case.provoke(pair)
        else:
            injection.is_on = True
            with suppress(SessionFailed, StorageDegraded, InjectedError):  # what the caller gets, where there is one
                await case.provoke(pair)
            await has_failed(pair, case)
    injection.is_on = True
    async with engine.opened() as pair:  # with the error still there
        if case.at_start:
            await has_failed(pair, case)
        (pair.healthy.work / "go").touch()
        if case.place != FaultPoint.SHUTDOWN:  # which ended this turn, too; the next message continues it
            await pair.healthy.until(lambda event: event.HasField("turn_complete"))
            assert "done" in "".join(event.text_delta.text for event in pair.healthy.events)
    injection.is_on = case.outcome is not Outcome.DELETED
    async with engine.opened() as pair:
        if case.outcome is not Outcome.DELETED:
            assert await pair.healthy.supervisor.delete(pair.faulty.session)  # with the error still there
        rows, _ = await listed(pair)
        assert rows == [pair.healthy.session]
        await says(pair.healthy, "again")
    await engine.nothing_runs()


async def has_failed(pair: Pair, case: Case) -> None:
    await pair.reached()
    engine = pair.faulty
    match case.outcome:
        case Outcome.FAILED:
            await assert_failed(engine)
        case Outcome.CANNOT_OPEN:
            with pytest.raises(SessionFailed):
                await engine.say("say hello")
        case Outcome.CRASHED:
            crashed = await engine.until(lambda event: event.error.is_fatal)
            assert "injected at" in crashed[-1].error.message
        case Outcome.CALLER | Outcome.DELETED:
            pass


async def listed(pair: Pair) -> tuple[list[str], int]:
    rows, total = await pair.healthy.supervisor.summaries(SessionFilter())
    return [each.row.new.session_id for each in rows], total
