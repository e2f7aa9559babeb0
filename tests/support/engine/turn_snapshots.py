"""An engine whose turns are noted: an agent that does what it is told, in a real repository."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from betcode.config.settings import EngineSettings, Settings
from betcode.domain.repositories.worktrees import TurnSnapshot
from betcode.domain.runs.crash_policy import CrashPolicy
from betcode.domain.store.rows import SessionRow
from betcode.engine import Engine, open_engine
from betcode.providers.claude.provider import ClaudeProvider
from betcode.storage import SqliteStore
from betcode.worktrees import Snapshots, Worktrees
from support.daemon.process import agent_program, becomes_true
from support.daemon.runs import runs_in
from support.daemon.session import is_idle
from support.engine.engine import EngineSession, a_session
from support.git.repositories import make_repository
from support.git.worktree_context import snapshots_of, worktrees_of
from support.storage.rows import store_at

_FILES = {"a": "one\n", "b": "two\n", ".gitignore": "agent.pids\ngo*\nonce\npeeked.txt\n"}


@dataclass
class NotedEngine:
    store: SqliteStore
    supervisor: Engine
    snapshots: Snapshots
    worktrees: Worktrees
    root: Path

    @property
    def work(self) -> Path:
        return self.root / "work"

    @property
    def directory(self) -> Path:
        """Where objects are kept."""
        return self.root / "state" / "snapshots"

    async def session(self, work: Path | None = None) -> EngineSession:
        new = a_session(work or self.work)
        return EngineSession(self.supervisor, self.store, await self.supervisor.create(new), work or self.work)

    async def row(self, talk: EngineSession) -> SessionRow:
        return (await self.supervisor.summary(talk.session)).row

    async def rows(self, talk: EngineSession) -> Sequence[TurnSnapshot]:
        return await self.snapshots.rows((await self.row(talk)).key)

    async def edit(self, talk: EngineSession, *edits: str) -> None:
        """One turn in which the agent runs these, once the tree was noted as it was before."""
        number = (await self.row(talk)).state.turns + 1
        await talk.say("\n".join([f"wait go-{number}", *(f"spawn sh -c {_one_word(edit)}" for edit in edits)]))
        await self.let_go(talk, number)
        await talk.until(is_idle)
        await self.rows(talk)

    async def let_go(self, talk: EngineSession, turn: int) -> None:
        """Have an agent that waits in this turn go on, now that its beginning is noted."""
        await self.rows(talk)
        (talk.work / f"go-{turn}").touch()

    async def diff(self, talk: EngineSession, turn: int = 0, *, counts: bool = False) -> tuple[str, bytes]:
        """The note and the patch."""
        async with self.worktrees.diffs.of_session(await self.row(talk), turn, counts=counts) as diff:
            return diff.note, b"".join([piece async for piece in diff.pieces])


def _one_word(command: str) -> str:
    """The agent splits at spaces."""
    return command.replace(" ", "\t")


@asynccontextmanager
async def noted_engine(
    root: Path, settings: Settings | None = None, *, is_on: bool = True
) -> AsyncIterator[NotedEngine]:
    """With a repository to work in; what is there of an engine before it is gone on with."""
    if not (root / "work").exists():
        make_repository(root / "work", _FILES)
        (root / "state").mkdir()
    chosen = settings or Settings()
    chosen = replace(chosen, engine=EngineSettings())
    provider = ClaudeProvider(agent_program(root / "program"))
    async with (
        store_at(root / "log.db") as store,
        snapshots_of(store, root / "state", chosen, is_on=is_on) as snapshots,
        open_engine(
            store,
            {"claude": provider},
            chosen.engine,
            root / "runs",
            crashes=CrashPolicy(first_wait_s=0.01),
            watch=snapshots,
        ) as supervisor,
        worktrees_of(store, supervisor, root / "state", chosen, snapshots) as worktrees,
    ):
        yield NotedEngine(store, supervisor, snapshots, worktrees, root)
    await becomes_true(lambda: not any(run.alive for run in runs_in(root / "runs")))  # a holder leaves last
