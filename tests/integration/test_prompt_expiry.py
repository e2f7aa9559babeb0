"""When open prompts are looked at: at the next moment that counts, and every five minutes in any case."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

import anyio
import pytest

from betcode.config.settings import EngineSettings
from betcode.domain.store.changes import SavePrompt
from betcode.domain.store.rows import PromptKind, PromptRow, SessionState
from betcode.domain.values.identifiers import RunKey, Seq
from betcode.engine.agents.memory import AgentMemory
from betcode.engine.agents.slots import Slots
from betcode.engine.context import EngineContext
from betcode.engine.follow.connection_store import ConnectionStore
from betcode.engine.maintenance.deadlines import Deadlines
from betcode.engine.maintenance.prompt_expiry import run_prompt_expiry
from betcode.engine.registry import Registry
from support.storage.rows import making, store_at

pytestmark = pytest.mark.anyio

MINUTE_NS = 60 * 10**9
NOW_NS = 1_700_000_000 * 10**9


@dataclass(slots=True)
class LeapingClock:
    """Is at once where it is waited for, so often as told; then it stands still."""

    leaps: int
    at_ns: int = NOW_NS
    waited_ns: list[int] = field(default_factory=list)
    stands: anyio.Event = field(default_factory=anyio.Event)

    def now_ns(self) -> int:
        return self.at_ns

    async def reaches(self, at_ns: int) -> None:
        self.waited_ns.append(at_ns - self.at_ns)
        if len(self.waited_ns) > self.leaps:
            self.stands.set()
            await anyio.sleep_forever()
        self.at_ns = at_ns


async def waits(root: Path, settings: EngineSettings, *, asked_ns: int = 0, kind: str = "permission") -> list[int]:
    """How long was waited, in minutes, between the first looks."""
    clock = LeapingClock(leaps=3)
    async with store_at(root / "log.db") as store, anyio.create_task_group() as tasks:
        if asked_ns:
            key = await store.create_session(making(), SessionState(), [])
            row = PromptRow("r", key, RunKey(1), cast("PromptKind", kind), "Bash", "{}", b"", Seq(1), asked_ns)
            await store.commit([SavePrompt(replace(row, expires_ns=asked_ns + 7 * 24 * 60 * MINUTE_NS))])
        context = EngineContext(
            store=store,
            providers={},
            settings=settings,
            runs_dir=root,
            tasks=tasks,
            slots=Slots(1, 1),
            memory=AgentMemory(1),
            roster=ConnectionStore(store),
            deadlines=Deadlines(clock),
        )
        tasks.start_soon(run_prompt_expiry, Registry(context))
        with anyio.fail_after(30):
            await clock.stands.wait()
        tasks.cancel_scope.cancel()
    return [waited // MINUTE_NS for waited in clock.waited_ns]


@pytest.mark.behaviour("permission.reminder.scan")
async def test_they_are_looked_at_every_five_minutes(tmp_path: Path) -> None:
    assert await waits(tmp_path, EngineSettings()) == [5, 5, 5, 5]


async def test_they_are_looked_at_when_the_next_reminder_is_due(tmp_path: Path) -> None:
    settings = EngineSettings(reminder_intervals_s=(7 * 60.0,))
    waited = await waits(tmp_path, settings, asked_ns=NOW_NS)
    assert waited[:2] == [5, 2]


async def test_a_row_that_cannot_be_read_ends_nothing(tmp_path: Path) -> None:
    assert await waits(tmp_path, EngineSettings(), asked_ns=NOW_NS, kind="of a later release") == [1, 1, 1, 1]


async def test_who_waits_is_woken_by_something_sooner() -> None:
    clock = LeapingClock(leaps=0)
    deadlines = Deadlines(clock)
    deadlines.set(NOW_NS + MINUTE_NS)
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(deadlines.wait)
            await clock.stands.wait()
            deadlines.note(NOW_NS + 2 * MINUTE_NS)  # later: nothing
            deadlines.note(NOW_NS)
