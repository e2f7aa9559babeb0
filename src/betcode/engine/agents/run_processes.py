"""Ends every process of a run, when nobody can ask its holder to."""

import logging
import signal
import time
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread

from betcode.domain.errors import AgentUnavailable
from betcode.domain.store.rows import RunRow
from betcode.holder.launch import bar, end_leftovers, holder_pid, is_alive
from betcode.holder.platform import Process, process, send_signal

logger = logging.getLogger(__name__)

_ENDED_WITHIN_S = 30.0
_HOLDER_LEAVES_WITHIN_S = 1.0
_CHECK_EVERY_S = 0.02


async def end_run(runs_dir: Path, run: RunRow) -> None:
    """End the agent, its tools and its holder, and see to it that no holder takes the run up later.

    Raises:
        AgentUnavailable: a process of the run is still there.
        TimeoutError
    """
    with anyio.fail_after(_ENDED_WITHIN_S):
        await anyio.to_thread.run_sync(partial(_end_run, runs_dir / run.run_id, run), abandon_on_cancel=True)


def _end_run(directory: Path, run: RunRow) -> None:
    holder = _holder(directory, run)
    end_leftovers(run.run_id, run.agent_pid, run.agent_start)
    if holder is not None and not _leaves(holder):
        send_signal(holder, signal.SIGKILL)
        if not _leaves(holder):
            raise AgentUnavailable(f"The holder of run {run.run_id}, process {holder.pid}, cannot be ended")
    try:
        is_barred = bar(directory)
    except OSError as trouble:  # what is there is no run directory, so that no holder can work in it
        logger.warning("the run directory %s cannot be used: %s", directory, trouble)
        return
    if not is_barred:
        raise AgentUnavailable(f"A holder of run {run.run_id} is still running")


def _holder(directory: Path, run: RunRow) -> Process | None:
    """By its lock, or as the parent of the run's agent where the lock cannot be read."""
    try:
        pid = holder_pid(directory) if is_alive(directory) else None
    except OSError:
        pid = None
    if pid is None and run.agent_pid > 0:
        agent = process(run.agent_pid)
        is_the_agent = agent is not None and agent.start == run.agent_start and agent.parent == run.holder_pid
        pid = run.holder_pid if is_the_agent else None
    return None if pid is None or pid <= 0 else process(pid)


def _leaves(holder: Process) -> bool:
    """Wait for its end; a process of the same number that started later is another one."""
    until = time.monotonic() + _HOLDER_LEAVES_WITHIN_S
    while True:
        now = process(holder.pid)
        if now is None or now.start != holder.start or now.zombie:
            return True
        if time.monotonic() >= until:
            return False
        time.sleep(_CHECK_EVERY_S)
