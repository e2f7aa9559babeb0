"""A store that refuses to record the failure of a session: it is tried again, and other sessions do not notice."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from betcode.config.settings import EngineSettings
from betcode.domain.errors import SessionFailed, StorageFailed
from betcode.domain.store.changes import Change, SaveBinding
from betcode.engine.fault_points import FaultPoint
from betcode.v1 import agent_pb2 as v1
from support.daemon.process import becomes_true
from support.engine.engine import EngineSession
from support.engine.faulty import FaultyEngine, Injection, Pair

pytestmark = pytest.mark.anyio

Commit = Callable[[Sequence[Change]], Awaitable[None]]


class RefusesFailures:
    """The `commit` of a store that raises for the record of a failure, as often as it is to."""

    def __init__(self, commit: Commit, error: Exception, times: int) -> None:
        self._commit = commit
        self._error = error
        self._times = times
        self.refused = 0

    async def __call__(self, changes: Sequence[Change]) -> None:
        is_failure = any(isinstance(change, SaveBinding) and change.binding.failure for change in changes)
        if is_failure and self.refused < self._times:
            self.refused += 1
            raise self._error
        await self._commit(changes)


@pytest.fixture(autouse=True)
def _retried_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("betcode.util.background_loops.FIRST_DELAY_S", 0.01)
    monkeypatch.setattr("betcode.util.background_loops.LONGEST_DELAY_S", 0.05)


def refuse(pair: Pair, monkeypatch: pytest.MonkeyPatch, error: Exception, times: int) -> RefusesFailures:
    store = pair.faulty.store
    refusing = RefusesFailures(store.commit, error, times)
    monkeypatch.setattr(store, "commit", refusing)
    return refusing


def is_failure(event: v1.AgentEvent) -> bool:
    return event.error.code == "SESSION_FAILED"


def is_pending(engine: EngineSession) -> bool:
    live = engine.supervisor._registry.live.get(engine.session)
    return live is not None and live.failure.is_pending


async def says(engine: EngineSession, words: str) -> None:
    await engine.say(f"say {words}")
    await engine.until(lambda event: event.text_delta.is_complete and event.text_delta.text == words)
    await engine.until(lambda event: event.status_change.status == v1.IDLE)


async def test_a_failure_that_is_refused_once_is_recorded_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    injection = Injection(FaultPoint.CLASSIFY_EXIT)
    engine = FaultyEngine(tmp_path, injection, EngineSettings())
    async with engine.opened() as pair:
        refusing = refuse(pair, monkeypatch, RuntimeError("unexpected"), times=1)
        await pair.faulty.say("die")
        await pair.faulty.until(is_failure)
        injection.is_on = False
        await becomes_true(lambda: not is_pending(pair.faulty))
        await says(pair.faulty, "hello")
        assert refusing.refused == 1
        assert sum(map(is_failure, pair.faulty.events)) == 1
    warned = [record for record in caplog.records if "could not be recorded; retrying" in record.message]
    assert [record.levelno for record in warned] == [logging.ERROR]
    await engine.nothing_runs()


async def test_a_failure_that_is_refused_for_ever_concerns_its_session_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    injection = Injection(FaultPoint.CLASSIFY_EXIT)
    engine = FaultyEngine(tmp_path, injection, EngineSettings())
    async with engine.opened() as pair:
        refusing = refuse(pair, monkeypatch, RuntimeError("unexpected"), times=1_000_000)
        await pair.faulty.say("wait go\nsay done")
        await pair.faulty.until(lambda event: event.text_delta.text == "waiting")
        pair.faulty.kill_agent()
        await becomes_true(lambda: refusing.refused >= 3)
        with pytest.raises(SessionFailed):
            await pair.faulty.say("say hello")
        await says(pair.healthy, "one")
        before = refusing.refused
        await becomes_true(lambda: refusing.refused > before)  # it is still tried
        await says(pair.healthy, "two")
    injection.is_on = False
    async with engine.opened() as pair:  # with a store that works: the turn is continued as after any crash
        (pair.faulty.work / "go").touch()
        await pair.faulty.until(lambda event: event.status_change.status == v1.IDLE)
        await says(pair.faulty, "hello")
        await says(pair.healthy, "three")
    await engine.nothing_runs()


async def test_a_failure_whose_row_the_store_rejects_is_in_the_log_and_the_session_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    injection = Injection(FaultPoint.CLASSIFY_EXIT)
    engine = FaultyEngine(tmp_path, injection, EngineSettings())
    async with engine.opened() as pair:
        refuse(pair, monkeypatch, StorageFailed("rejected"), times=1_000_000)
        await pair.faulty.say("die")
        await pair.faulty.until(is_failure)
        injection.is_on = False
        await becomes_true(lambda: not is_pending(pair.faulty))
        await says(pair.faulty, "hello")
        await says(pair.healthy, "one")
    await engine.nothing_runs()
