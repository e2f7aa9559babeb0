"""Runs the setup of a worktree: copies untracked files, then runs the script and the commands in order."""

import logging
import signal
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

import anyio
import anyio.to_thread

from betcode.config.load import WrongSetting
from betcode.domain.errors import BetcodeError, SetupFailed, WorktreeNotFound, WorktreeUnusable
from betcode.domain.repositories.worktrees import RepositoryRow, SetupState, WorktreeId, WorktreeRow, WorktreeState
from betcode.worktrees.background_work import insist
from betcode.worktrees.catalog.registry import WorktreeRegistry
from betcode.worktrees.context import WorktreeContext
from betcode.worktrees.create.copy_untracked import CopyResult, copy_untracked
from betcode.worktrees.create.setup_output import OutputBuffer, ProgressFeed, SetupOutput, unpacked
from betcode.worktrees.create.setup_process import SetupNotStarted, SetupProcess, run_setup_process
from betcode.worktrees.create.setup_steps import SetupCommand, SetupPlan, environment_for, setup_plan

logger = logging.getLogger(__name__)

_KEPT_EVERY_S = 1.0
_LAST_LINES = 5
_LINE, _BETWEEN_LINES = "\n", " | "  # a notice is one line
_LAST_CHARACTERS = 400  # in a notice
_TOLD_CHARACTERS = 1000  # of the last lines, with an error: a status is small


@dataclass(frozen=True, slots=True)
class _SetupResult:
    state: SetupState
    note: str = ""


@dataclass(slots=True)
class _RunningSetup:
    """A running setup."""

    repository: RepositoryRow
    row: WorktreeRow
    plan: SetupPlan
    feed: ProgressFeed
    kept: OutputBuffer
    number: int  # of the last step that began
    of: int

    def begin(self, what: str) -> None:
        self.number += 1
        self.feed.step(what, self.number, self.of)
        logger.info("setting a worktree up: %s", what, extra={"worktree": self.row.name, "path": self.row.path})

    def output(self, data: bytes) -> None:
        self.kept.add(data)
        self.feed.output(data)


class SetupRunner:
    """Runs setups, and tracks the running ones."""

    def __init__(self, context: WorktreeContext, registry: WorktreeRegistry) -> None:
        self._context = context
        self._registry = registry
        self._kept: dict[WorktreeId, OutputBuffer] = {}  # of those that run

    async def again(self, worktree: WorktreeId, feed: ProgressFeed) -> WorktreeRow:
        """Run the setup of a worktree that is there.

        Raises:
            WorktreeNotFound, WorktreeUnusable, SetupFailed, GitFailed
        """
        seen = await self._registry.seen_one(worktree)
        if seen.row.state is not WorktreeState.READY:
            raise WorktreeUnusable(f"The worktree {seen.row.name} is {seen.row.state}: it cannot be set up now")
        if worktree in self._kept:
            raise WorktreeUnusable(f"The worktree {seen.row.name} is being set up already: wait until that has ended")
        row = await self.run(seen.repository, seen.row, feed)
        self.refuse_failed(row, kept=True, words=await self.last_words(row.id))
        return row

    async def run(
        self, repository: RepositoryRow, row: WorktreeRow, feed: ProgressFeed, begun_steps: int = 0
    ) -> WorktreeRow:
        """Return the row when the setup has ended; its note has the reason of a failure."""
        kept = self._kept[row.id] = OutputBuffer()
        try:
            before, running = row, {"setup": SetupState.RUNNING, "setup_note": "", "setup_process": ""}
            row = await self._registry.change(row.id, **running)
            if row.state is WorktreeState.REMOVING:  # since it was read
                await self._registry.change(row.id, setup=before.setup, setup_note=before.setup_note)
                raise WorktreeUnusable(f"The worktree {row.name} is being removed: it cannot be set up now")
            end = await self._kept_while(row.id, kept, lambda: self._all(repository, row, feed, kept, begun_steps))
            await insist(lambda: self._context.store.keep_output(row.id, kept.packed()))
            ended = {"setup": end.state, "setup_note": end.note, "setup_process": ""}
            logger.info("a setup has ended: %s", end.state, extra={"worktree": row.name, "path": row.path})
            return await insist(lambda: self._registry.change(row.id, **ended))
        finally:
            del self._kept[row.id]

    def refuse_failed(self, row: WorktreeRow, *, kept: bool, words: str) -> None:
        """Raises SetupFailed where the setup did not go well."""
        if row.setup in (SetupState.FAILED, SetupState.TIMED_OUT):
            there = f"the worktree exists; run the setup again with: betcode worktree setup {row.name}"
            now = there if kept else "the worktree was removed"
            facts = {"worktree_id": row.id, "kept": "true" if kept else "false", "output": words}
            raise SetupFailed(f"{row.setup_note}; {now}", **facts)

    async def output(self, worktree: WorktreeId) -> list[SetupOutput]:
        """Return the output of the last setup, or the output so far.

        Raises:
            WorktreeNotFound
        """
        if worktree in self._kept:
            return unpacked(self._kept[worktree].packed())
        if await self._context.store.worktree(worktree) is None:
            raise WorktreeNotFound(worktree)
        return unpacked(await self._context.store.output(worktree))

    async def last_words(self, worktree: WorktreeId) -> str:
        """Return the last lines of the stored output of its last setup."""
        kept = OutputBuffer()
        for piece in await self.output(worktree):
            kept.add(piece.data)
        return kept.last_words(50, _TOLD_CHARACTERS)

    async def _kept_while(
        self, worktree: WorktreeId, kept: OutputBuffer, work: Callable[[], Awaitable[_SetupResult]]
    ) -> _SetupResult:
        """Store the output while it is written, so that it survives a crash."""

        async def keep() -> None:
            done_bytes = -1
            while True:
                if kept.total_bytes != done_bytes:
                    done_bytes = kept.total_bytes
                    with suppress(BetcodeError):  # the end of it is insisted on
                        await self._context.store.keep_output(worktree, kept.packed())
                await anyio.sleep(_KEPT_EVERY_S)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(keep)
            try:
                end = await work()
            except BetcodeError as trouble:
                end = _SetupResult(SetupState.FAILED, f"The setup was interrupted: {trouble.message}")
            except Exception:  # whatever it is, the worktree must not wait for its setup forever
                logger.exception("a setup was broken off")
                end = _SetupResult(SetupState.FAILED, "The setup was interrupted: see the daemon's log")
            tasks.cancel_scope.cancel()
        return end

    async def _all(
        self, repository: RepositoryRow, row: WorktreeRow, feed: ProgressFeed, kept: OutputBuffer, begun_steps: int
    ) -> _SetupResult:
        distrusted = await self._distrusted(repository, row)
        try:
            plan = await anyio.to_thread.run_sync(
                lambda: setup_plan(self._context, repository, row.path, trusted=not distrusted)
            )
        except WrongSetting as wrong:
            return _SetupResult(SetupState.FAILED, f"The setup was not run: {wrong}")
        brings = plan.bring_along and not repository.is_bare and row.path != repository.path
        of = begun_steps + bool(brings) + len(plan.stages)
        running = _RunningSetup(repository, row, plan, feed, kept, begun_steps, of)
        brought = CopyResult()
        if brings:
            running.begin("copy files")
            brought = await self._bring(running)
            if brought.trouble:
                return _SetupResult(SetupState.FAILED, brought.trouble)
        login = await self._context.environment()
        environment = environment_for(login, plan.variables, repository, row)
        with anyio.move_on_after(plan.timeout_s) as limit:
            end = await self._stages(running, environment)
        if limit.cancelled_caught:
            words = plan.stages[running.number - of + len(plan.stages) - 1].words
            note = f"{words} timed out: the setup was ended after {plan.timeout_s:g} s"
            end = _SetupResult(SetupState.TIMED_OUT, _with_words(note, kept))
        if end.state is SetupState.DONE and not plan.stages and not brings:
            end = _SetupResult(SetupState.NONE)
        return _SetupResult(end.state, _joined(end.note, brought.note))

    async def _bring(self, running: _RunningSetup) -> CopyResult:
        git, source, row = self._context.git, running.repository.path, running.row
        brought = await copy_untracked(git, source, row.path, running.plan.bring_along, row.brought_along)
        await self._registry.change(row.id, brought_along={**row.brought_along, **brought.files})
        return brought

    async def _stages(self, running: _RunningSetup, environment: Mapping[str, str]) -> _SetupResult:
        plan, row = running.plan, running.row
        for stage in plan.stages:
            running.begin(stage.words)
            trouble = await self._one(
                running, stage, SetupProcess(stage.argv, row.path, environment, row.id, self._context.umask)
            )
            if trouble:
                return _SetupResult(SetupState.FAILED, _with_words(trouble, running.kept))
        if plan.untrusted:
            return _SetupResult(
                SetupState.UNTRUSTED, _untrusted(plan, running, await self._distrusted(running.repository, row))
            )
        return _SetupResult(SetupState.DONE)

    async def _distrusted(self, repository: RepositoryRow, row: WorktreeRow) -> str:
        """Return which of the two sources of a setup is not trusted yet; empty if both are trusted.

        Either may lie about the other: settings of a repository name its main worktree, and a link names its
        repository.
        """
        for place in (repository.path, row.path):
            if not await self._context.is_trusted(place):
                return place
        return ""

    async def _one(self, running: _RunningSetup, stage: SetupCommand, hook: SetupProcess) -> str:
        """Return why it failed; empty if it succeeded."""

        async def started(name: str) -> None:
            await self._registry.change(running.row.id, setup_process=name)
            self._context.faults("during-worktree-setup")

        try:
            ended = await run_setup_process(hook, started, running.output)
        except SetupNotStarted as trouble:
            return f"{stage.words} could not be started: {trouble}"
        if ended.left_behind:
            logger.info("a setup left %d processes running; they were ended", ended.left_behind)
        if ended.code < 0:
            return f"{stage.words} was ended by {_signal_name(-ended.code)}"
        return f"{stage.words} ended with code {ended.code}" if ended.code else ""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _with_words(note: str, kept: OutputBuffer) -> str:
    words = kept.last_words(_LAST_LINES, _LAST_CHARACTERS)
    return f"{note}: {words.replace(_LINE, _BETWEEN_LINES)}" if words else note


def _joined(note: str, more: str) -> str:
    """Both as one sentence."""
    return f"{note}; {more[0].lower()}{more[1:]}" if note and more else note or more


def _untrusted(plan: SetupPlan, running: _RunningSetup, place: str) -> str:
    return (
        f"{', '.join(plan.untrusted)}: not run, because this repository is not trusted; trust it with: "
        f"betcode policy trust {place or running.repository.path}, then: betcode worktree setup {running.row.name}"
    )
