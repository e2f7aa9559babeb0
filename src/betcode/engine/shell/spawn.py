"""Spawn an agent: store its row first, then start its holder with the conversation to continue."""

from __future__ import annotations

import logging
import os
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from betcode.domain.agents.project_files import ProjectFiles
from betcode.domain.bounded_io import FilesystemTimeout
from betcode.domain.errors import AgentUnavailable, BetcodeError, StorageDegraded, WorktreeUnusable
from betcode.domain.runs.launch import Launch, LaunchContext
from betcode.domain.runs.state import RunStimulus
from betcode.domain.store.changes import SaveRun
from betcode.domain.store.rows import NewRun, RunRow
from betcode.engine.core.decision import Decision, StopRetry
from betcode.engine.core.exit.retry import end_backoff
from betcode.engine.fault_points import FaultPoint
from betcode.engine.shell.working_directory import current_directory
from betcode.holder.launch import HolderKilled, HolderSpec, start_holder
from betcode.telemetry.log_context import Span
from betcode.util.state_files import open_file
from betcode.util.wall_clock import now_ns

if TYPE_CHECKING:
    from betcode.engine.shell.run import AgentRun
    from betcode.engine.shell.session import LiveSession

logger = logging.getLogger(__name__)

_RETRY_AFTER_S = 0.5


async def start(run: AgentRun) -> bool:
    """Whether it was started; not so where its end was asked for meanwhile."""
    with Span("spawn"):
        return await _start(run)


async def _start(run: AgentRun) -> bool:
    began_ns = time.monotonic_ns()
    session, context = run.session, run.session.context
    writer, provider = session.writer, session.provider
    previous = await context.store.newest_run(writer.key)
    if previous is not None:
        carried = provider.carry_over(previous.dialogue_state, previous.dialogue_version)
        run.dialogue = provider.dialogue(writer.new, run.conversation_id, carried, version=provider.dialogue_version)
    environment = writer.new.environment
    trouble: BetcodeError | None = await _find_place(session)
    async with session.lock:  # as everywhere: of two who read the files at once the slower would win
        await session.screening.refresh()
    if environment is None:
        environment = await context.login_shell.environment()
    project = await session.project.look(environment)
    try:
        project_files, said = session.project.decide(project)
    except AgentUnavailable as refusal:
        run.watch.advice = refusal.message
        project_files, said, trouble = ProjectFiles.IGNORED, [], trouble or refusal
    launch_context = LaunchContext(
        conversation_id=run.conversation_id,
        resume=writer.state.conversation_began,
        continue_turn=(
            writer.state.transcript.is_continuable
            and session.capabilities.continues_broken_turn
            and session.compaction is None  # a broken turn becomes part of the summary
        ),
        plan_mode=run.dialogue.view.plan_mode if writer.state.conversation_began else None,
        chosen=run.dialogue.view.chosen,
        fork_point=writer.new.fork_point,
        environment=environment,
        forbidden=session.screening.forbidden,
        only_rules=session.screening.only_rules(project_files),
        screens_calls=session.screening.is_wanted,
        run_dir=run.directory,
        project_files=project_files,
        project_directories=project.names,
    )
    launch = await _launch(session, launch_context)
    async with session.lock:
        row = await _created(run)
        if launch.opening:
            row = replace(row, last_input=1)
        if launch_context.screens_calls:
            run.calls.told()
        said += session.screening.newly_out_of_reach()
        changes = (SaveRun(row), *end_backoff(session.recovery.crashed, RunStimulus.RETRY_DUE))
        await session.perform_locked(Decision(tuple(said), changes, effects=(StopRetry(),)), surely=True)
    if run.flags.asked_to_end:
        return False
    if trouble is not None:
        raise trouble
    spec = HolderSpec(run_dir=run.directory, argv=launch.argv, env=launch.env, cwd=launch.cwd, marker=run.row.run_id)
    spec = replace(spec, opening=launch.opening, umask=context.umask)
    if launch.files or launch.links:
        await anyio.to_thread.run_sync(_prepare_run_directory, run.directory, launch)
    context.processes.expect(run.row.run_id)
    try:
        pid = await anyio.to_thread.run_sync(start_holder, spec)
    except HolderKilled as killed:  # what it left is read and ended like that of any other
        logger.warning("the agent was started, but %s", killed, extra=session.log_extra)
    else:
        context.processes.add(pid, run.row.run_id)
        logger.info("started an agent under holder %d", pid, extra=session.log_extra)
    session.turns.spawned(began_ns)
    return True


async def _launch(session: LiveSession, launch_context: LaunchContext) -> Launch:
    """How to start the agent. Its program is searched for off the event loop: the disk of a PATH may hang.

    Raises: AgentUnavailable.
    """
    new = replace(session.writer.new, working_directory=session.directory)
    try:
        return await session.context.file_io.run(
            session.directory, partial(session.provider.launch, new, launch_context)
        )
    except FilesystemTimeout as no_answer:
        raise AgentUnavailable(f"The agent's program was not found: {no_answer}") from None


async def _find_place(session: LiveSession) -> WorktreeUnusable | None:
    """Its worktree may have been moved since its last agent; rules go with it."""
    try:
        directory = await current_directory(session.context, session.writer.new)
    except WorktreeUnusable as trouble:
        return trouble
    async with session.lock:
        session.screening.move_to(directory)
    return None


def _prepare_run_directory(directory: Path, launch: Launch) -> None:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name, target in launch.links.items():
        (directory / name).symlink_to(target)
    for name, data in launch.files.items():
        descriptor = open_file(directory / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)


async def _created(run: AgentRun) -> RunRow:
    """No process without a row: wait until there is one."""
    store, version = run.session.context.store, run.session.provider.dialogue_version
    while True:
        try:
            row = await store.create_run(
                NewRun(run.session.writer.key, run.row.run_id, now_ns(), version, run.dialogue.state())
            )
        except StorageDegraded as trouble:
            run.session.writer.degrade(trouble.message)
            await anyio.sleep(_RETRY_AFTER_S)
        else:
            run.session.context.faults(FaultPoint.RUN_CREATED, run.session.session_id)
            return row
