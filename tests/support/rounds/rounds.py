"""One round from its plan to its verdict."""

import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio
import anyio.abc

from betcode.client import open_client
from support.daemon.cutting_proxy import open_cutting_proxy
from support.daemon.process import Daemon
from support.providers.ledger import CLAUDE, Kind
from support.rounds.clock import clock_environment
from support.rounds.driver import Round, identity_of
from support.rounds.ends import watch_ends
from support.rounds.gathering import gather, open_descriptors
from support.rounds.judge import judge
from support.rounds.plan import Plan, make_plan
from support.rounds.settling import catch_up, settle
from support.storage.disk import mounted

_DISK_MEGABYTES = 32
_QUICK_LADDER_MS = (20, 60, 150, 400, 1000, 1500)


@dataclass(frozen=True, slots=True)
class Verdict:
    plan: Plan
    faults: tuple[str, ...]
    starts: int  # of the daemon
    events: int  # in all logs

    def __str__(self) -> str:
        return "\n".join([str(self.plan), *(f"BROKEN: {fault}" for fault in self.faults)])


def mindful_program(directory: Path) -> Path:
    """The agent with a memory, as an executable file."""
    return CLAUDE.program(directory)


async def run_round(seed: int, root: Path, kind: Kind) -> Verdict:
    """Everything it makes is below `root`, and no process of it is left."""
    plan = make_plan(seed)
    if not kind.can_all:
        plan = plan.without_compacting_and_forking()
    root.mkdir(parents=True, exist_ok=True)
    async with _at_work(plan, root, kind) as round_:
        await round_.make_sessions()
        descriptors = open_descriptors(round_.daemon)
        await round_.run()
        unrest = await settle(round_)
        unrest += await catch_up(round_)
        evidence = await gather(round_, descriptors)
        faults = [f"does not come to rest: {each}" for each in unrest] + judge(evidence)
        if faults and plan.has_small_disk:
            shutil.copytree(round_.daemon.root / "state", root / "state", ignore=shutil.ignore_patterns("*.sock*"))
    events = sum(len(one.log) for one in evidence.sessions)
    return Verdict(plan, tuple(faults), round_.keeper.starts, events)


@asynccontextmanager
async def _at_work(plan: Plan, root: Path, kind: Kind) -> AsyncIterator[Round]:
    async with AsyncExitStack() as stack:
        home = root / "home"
        if plan.has_small_disk:
            stack.enter_context(mounted(home, _DISK_MEGABYTES))
        daemon = Daemon(
            home,
            settings=_settings(plan, kind.settings(root)),
            claude_bin=kind.program(root),
            environment=clock_environment(root),
        )
        stack.callback(daemon.end_everything)
        await daemon.start()
        cut_socket = root / "cut.sock"
        proxy = await stack.enter_async_context(open_cutting_proxy(cut_socket, daemon.paths.socket))
        tasks = await stack.enter_async_context(anyio.create_task_group())
        stack.push(partial(_cancel_after_success, tasks))
        round_ = Round(plan, root, daemon, tasks, proxy, cut_socket, kind)
        stack.callback(_end_clients, round_)
        for number in range(plan.clients):
            client = open_client(daemon.paths, identity_of(number), ladder_ms=_QUICK_LADDER_MS)
            round_.clients.append(await stack.enter_async_context(client))
        tasks.start_soon(round_.keeper.keep)
        tasks.start_soon(watch_ends, round_)
        yield round_


def _cancel_after_success(tasks: anyio.abc.TaskGroup, kind: type[BaseException] | None, *_: object) -> None:
    """A group that is cancelled here would hide a CancelledError that gRPC raised in the round."""
    if kind is None:
        tasks.cancel_scope.cancel()


def _end_clients(round_: Round) -> None:
    for process in round_.client_processes:
        process.end()


def _settings(plan: Plan, agents: Mapping[str, object]) -> dict[str, object]:
    """Waits that are for people are short, so that what comes after them happens too."""
    return {
        "agents": {"turn_limit": plan.turn_limit, "idle_retire": plan.idle_retire_s, **agents},
        "cancel": {"interrupt": 0.3, "sigint": 0.2, "term": 0.5, "insist": 0.1},
        "sessions": {"lock_answer": 0.3, "lock_idle": 2.0},
    }
