"""An engine that starts while nothing can be written: it serves readers, and starts no agent before it has adopted."""

from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import anyio
import pytest

from betcode.config.settings import EngineSettings
from betcode.domain.errors import StorageDegraded
from betcode.domain.runs.crash_policy import CrashPolicy
from betcode.domain.values.identifiers import SessionId
from betcode.engine import open_engine
from betcode.engine.context import NOT_WRITABLE_YET
from betcode.engine.fault_points import FaultPoint
from betcode.providers.claude.provider import ClaudeProvider
from betcode.v1 import agent_pb2 as v1
from support.daemon.process import agent_program, becomes_true
from support.daemon.session import is_idle, settled_text
from support.engine.engine import EngineSession, engine
from support.patience import PATIENCE_S
from support.storage.rows import copy_files, locked_by_another_program, store_at

pytestmark = pytest.mark.anyio

PATIENT = CrashPolicy(first_wait_s=10 * PATIENCE_S, longest_wait_s=10 * PATIENCE_S)
AT_ONCE = CrashPolicy(first_wait_s=0.0)


def is_crash(event: v1.AgentEvent) -> bool:
    return event.error.code == "SUBPROCESS_CRASHED"


async def power_cut(root: Path) -> tuple[Path, SessionId]:
    """The database of an engine at the moment of a power cut, and its session, whose next agent is to be started."""
    async with engine(root, PATIENT) as here:
        await here.say("stumble once\nsay again")
        await here.until(is_crash)
        return copy_files(root / "log.db", root / "copy"), here.session


@asynccontextmanager
async def engine_after(
    root: Path, database: Path, session: SessionId, reached: list[str]
) -> AsyncIterator[EngineSession]:
    def note(place: str, _session: str = "", /) -> None:
        reached.append(place)

    providers = {"claude": ClaudeProvider(agent_program(root / "program"))}
    async with (
        store_at(database, boot_id="boot-2") as store,
        open_engine(store, providers, EngineSettings(), root / "runs", crashes=AT_ONCE, faults=note) as supervisor,
    ):
        yield EngineSession(supervisor, store, session, root / "work")
        await supervisor.close(session)


async def test_an_engine_that_cannot_write_starts_no_agent_until_it_can_and_its_readers_see_the_rest(
    tmp_path: Path,
) -> None:
    database, session = await power_cut(tmp_path)
    reached: list[str] = []
    has_read = anyio.Event()

    def is_over(event: v1.AgentEvent) -> bool:
        if is_crash(event):
            has_read.set()
        return has_read.is_set() and is_idle(event)

    with ExitStack() as lock:
        lock.enter_context(locked_by_another_program(database))
        async with engine_after(tmp_path, database, session, reached) as here, anyio.create_task_group() as tasks:
            tasks.start_soon(here.until, is_over)  # a reader, whose stream lasts until the end
            await has_read.wait()
            await becomes_true(lambda: FaultPoint.RECOVERY_RESUME in reached)  # the next agent is due
            assert FaultPoint.RUN_INIT not in reached
            assert here.supervisor.degraded_reason() == NOT_WRITABLE_YET
            with pytest.raises(StorageDegraded, match=NOT_WRITABLE_YET):
                await here.say("say too early")
            lock.close()
            await here.store.writable()  # as the daemon tries it again and again
        assert settled_text(here.events).endswith("again")
        numbers = [event.sequence for event in here.events]
        assert numbers == sorted(set(numbers))
        assert any(event.HasField("gap") for event in here.events), "numbers that were lost are not used again"
        assert here.agents == 2
