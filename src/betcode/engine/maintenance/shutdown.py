"""End or keep agents when the daemon stops."""

import logging
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread

from betcode.engine.agents.memory import AgentProcess
from betcode.engine.context import EngineContext
from betcode.holder.launch import end_leftovers, holder_pid, is_surely_alive
from betcode.holder.platform import process, send_signal

logger = logging.getLogger(__name__)

END_WITHIN_S = 6.0  # SIGTERM, 5 s, then the holder kills
_KILL_WITHIN_S = 1.5  # for those whose holder does not answer
_LEAVE_WITHIN_S = 0.5
_LOOK_EVERY_S = 0.01


class AgentShutdownPolicy(Enum):
    IDLE_END = "idle agents are ended, working agents continue"
    ALL_STAY = "all agents continue: another daemon starts at once"
    ALL_END = "all agents are ended"


@dataclass(frozen=True, slots=True)
class ShutdownReport:
    """How many agents were ended, and how many live on in their holders."""

    ended: int = 0
    left: int = 0


async def end_all(context: EngineContext) -> ShutdownReport:
    """End every agent with all it started, within a bound; none is begun any more."""
    context.stopping.set()
    agents = tuple(context.memory.live)
    with anyio.move_on_after(END_WITHIN_S):
        async with anyio.create_task_group() as tasks:
            for agent in agents:
                tasks.start_soon(agent.end_with_daemon)
    stubborn = [agent for agent in agents if not agent.ended.is_set()]
    if stubborn:
        logger.warning("%d agents did not exit on request; killing them", len(stubborn))
        with anyio.move_on_after(_KILL_WITHIN_S):
            await kill(context, stubborn)
    await _holders_left(context, agents)
    ended = sum(agent.ended.is_set() for agent in agents)
    logger.info("ended %d of %d agents", ended, len(agents))
    return ShutdownReport(ended, len(agents) - ended)


async def _holders_left(context: EngineContext, agents: Sequence[AgentProcess]) -> None:
    """A holder leaves a moment after its agent; whoever asked should find no process any more."""

    def is_any_left() -> bool:
        return any(is_surely_alive(context.runs_dir / agent.run_id) for agent in agents)

    with anyio.move_on_after(_LEAVE_WITHIN_S):
        while await anyio.to_thread.run_sync(is_any_left, abandon_on_cancel=True):  # noqa: ASYNC110 - a lock falls silently
            await anyio.sleep(_LOOK_EVERY_S)


async def kill(context: EngineContext, agents: Sequence[AgentProcess]) -> None:
    """Kill agents whose holder does not answer. Holder first: it may be stopped, or wait for a disk that is full."""
    for agent in agents:
        work = partial(_kill, context.runs_dir / agent.run_id, agent)
        await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
    for agent in agents:
        await agent.ended.wait()


def _kill(run_dir: Path, agent: AgentProcess) -> None:
    pid = holder_pid(run_dir)
    holder = process(pid) if pid is not None else None
    if holder is not None:
        send_signal(holder, signal.SIGKILL)
    end_leftovers(agent.run_id, *agent.agent, grace_s=0)
