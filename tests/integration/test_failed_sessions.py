"""A session that failed: its agent and its slot are free, its turn is given up, and the next message is accepted."""

from pathlib import Path

import anyio
import pytest

from betcode.config.settings import EngineSettings
from betcode.domain.errors import SessionFailed
from betcode.domain.sessions.transcript import TranscriptEnd
from betcode.domain.store.rows import RunRow
from betcode.engine.agents import run_processes
from betcode.engine.fault_points import FaultPoint
from betcode.engine.shell import session_failure
from betcode.engine.shell.run import AgentRun
from support.daemon.process import becomes_true
from support.engine.faulty import (
    FaultyEngine,
    InjectedError,
    Injection,
    assert_failed,
    is_failure,
    is_idle,
    is_pending,
    open_turn,
    says,
)
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio


async def test_a_failed_session_takes_the_next_message(tmp_path: Path) -> None:
    injection = Injection(FaultPoint.CLASSIFY_EXIT)
    engine = FaultyEngine(tmp_path, injection, EngineSettings())
    async with engine.opened() as pair:
        await pair.faulty.say("die")
        await pair.faulty.until(is_failure)
        injection.is_on = False
        await pair.faulty.until(is_idle)
        await says(pair.faulty, "hello")
        assert (await pair.faulty.supervisor.lifecycle.standing(pair.faulty.session)).phase == "running"


async def test_a_failed_session_does_not_keep_its_slot(tmp_path: Path) -> None:
    engine = FaultyEngine(tmp_path, Injection(FaultPoint.CLASSIFY_EXIT), EngineSettings(turn_limit=1))
    async with engine.opened() as pair:
        await pair.faulty.say("die")
        await pair.faulty.until(is_failure)
        await says(pair.healthy, "hello")


async def test_the_turn_of_a_failed_session_is_not_continued(tmp_path: Path) -> None:
    engine = FaultyEngine(tmp_path, Injection(FaultPoint.MAINTENANCE, is_on=False), EngineSettings(idle_retire_s=0.2))
    async with engine.opened() as pair:
        await open_turn(pair)
        pair.injection.is_on = True
        await pair.faulty.until(is_failure)
        await becomes_true(lambda: not is_pending(pair.faulty))
        standing = await pair.faulty.supervisor.lifecycle.standing(pair.faulty.session)
        assert standing.row.state.transcript is TranscriptEnd.ABANDONED


async def test_while_a_failure_is_recorded_new_messages_are_refused(tmp_path: Path) -> None:
    engine = FaultyEngine(tmp_path, Injection("nowhere"), EngineSettings())
    async with engine.opened() as pair:
        await open_turn(pair)
        live = pair.faulty.supervisor._registry.live[pair.faulty.session]
        async with live.lock:  # which the record needs
            live.failure.report("a test", InjectedError("injected"))
            with anyio.fail_after(PATIENCE_S), pytest.raises(SessionFailed, match="retry in a moment"):
                await pair.faulty.say("say too early")
        await pair.faulty.until(is_failure)
        await becomes_true(lambda: not is_pending(pair.faulty))
        await says(pair.faulty, "again")


async def test_a_failure_that_cannot_be_recorded_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = 0

    async def end_run(runs_dir: Path, row: RunRow) -> None:
        nonlocal attempts
        attempts += 1
        if attempts == 1:
            raise InjectedError("not yet")
        await run_processes.end_run(runs_dir, row)

    monkeypatch.setattr(session_failure, "end_run", end_run)
    engine = FaultyEngine(tmp_path, Injection("nowhere"), EngineSettings())
    async with engine.opened() as pair:
        await open_turn(pair)
        live = pair.faulty.supervisor._registry.live[pair.faulty.session]
        live.failure.report("a test", InjectedError("injected at a test"))
        await assert_failed(pair.faulty)
    assert attempts == 2


async def test_an_agent_that_cannot_be_retired_fails_its_own_session_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def end_with(*_: object, **__: object) -> None:
        raise InjectedError("injected at the end of the agent")

    engine = FaultyEngine(tmp_path, Injection("nowhere"), EngineSettings())
    async with engine.opened() as pair:
        await says(pair.faulty, "hello")
        run = pair.faulty.supervisor._registry.live[pair.faulty.session].run
        assert run is not None
        monkeypatch.setattr(AgentRun, "_end_with", end_with)
        await run.retire()  # as another session does that waits for memory
        await assert_failed(pair.faulty)
        await says(pair.healthy, "hello")
