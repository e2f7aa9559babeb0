"""Build the engine and run its background loops inside a context manager."""

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.to_thread

from betcode.config.paths import Paths
from betcode.config.settings import EngineSettings
from betcode.domain.metrics.counts import Counts
from betcode.domain.metrics.turn_trace import TraceSink
from betcode.domain.permissions.notification import Notifier
from betcode.domain.ports import Provider
from betcode.domain.runs.crash_policy import CrashPolicy
from betcode.domain.sessions.turn_watch import TurnListener
from betcode.domain.store.store_ports import Store
from betcode.engine.agents.agent_processes import AgentProcesses, OwnProcesses
from betcode.engine.agents.memory import AgentMemory
from betcode.engine.agents.slots import Slots
from betcode.engine.context import DefaultProvider, EngineContext, any_provider
from betcode.engine.engine import Engine
from betcode.engine.fault_points import Faults, no_faults
from betcode.engine.follow.connection_store import ConnectionStore
from betcode.engine.maintenance.housekeeping import (
    retire_idle_agents,
    run_database_quota,
    run_history_retention,
    run_journal_retention,
    run_maintenance,
)
from betcode.engine.maintenance.prompt_expiry import run_prompt_expiry, run_prompt_extension
from betcode.engine.operations.lifecycle.timeouts import run_session_timeouts
from betcode.engine.permissions.rule_files import RuleShelf
from betcode.engine.registry import Registry
from betcode.util.background_loops import keep_running

logger = logging.getLogger(__name__)


async def _start_when_writable(registry: Registry, engine: Engine) -> None:
    """Take up what an earlier daemon left as soon as the store can be written."""
    await registry.context.store.until_begun()
    for live in list(registry.live.values()):  # opened by those who read meanwhile, before the epoch was known
        async with live.lock:
            await live.writer.jump_after_epoch()
    await _start(registry, engine)
    logger.warning("the database is writable again: the daemon works as usual")


async def _start(registry: Registry, engine: Engine) -> None:
    context = registry.context
    await engine.start()
    tasks = context.tasks
    tasks.start_soon(keep_running, "maintenance", run_maintenance, registry)
    tasks.start_soon(keep_running, "journal retention", run_journal_retention, context)
    tasks.start_soon(keep_running, "database quota", run_database_quota, context)
    tasks.start_soon(keep_running, "history retention", run_history_retention, context, engine.delete)
    tasks.start_soon(keep_running, "connections", context.roster.keep)
    tasks.start_soon(keep_running, "prompt expiry", run_prompt_expiry, registry)
    tasks.start_soon(keep_running, "prompt extension", run_prompt_extension, registry)
    tasks.start_soon(keep_running, "session timeouts", run_session_timeouts, registry)


@asynccontextmanager
async def open_engine(
    store: Store,
    providers: Mapping[str, Provider],
    settings: EngineSettings,
    runs_dir: Path,
    *,
    faults: Faults = no_faults,
    crashes: CrashPolicy | None = None,
    paths: Paths | None = None,
    notifier: Notifier | None = None,
    fixed: frozenset[str] = frozenset(),
    counts: Counts | None = None,
    traces: TraceSink | None = None,
    watch: TurnListener | None = None,
    default_provider: DefaultProvider = any_provider,
    umask: int = -1,
    own: OwnProcesses | None = None,
    trusts_for_claude: bool = False,
) -> AsyncIterator[Engine]:
    """The engine, at work; leaving the block lets agents at work run on in their holders.

    The user's own rules and the list of trusted projects are in `paths`; None: there are none. The settings `fixed` by
    flags and variables hold in all projects. `default_provider` is the kind of agent that the settings' default model
    is for; empty: every one. Agents write files with `umask`; -1: with our own. `own` says which
    programs the daemon itself runs in repositories; None: none. With `trusts_for_claude`, a project that a person
    trusts is entered in Claude Code's own list, too.
    """
    rules = RuleShelf(paths, trusts_for_claude=trusts_for_claude)

    def prepare() -> None:
        runs_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        rules.prepare()

    await anyio.to_thread.run_sync(prepare)
    async with anyio.create_task_group() as tasks:
        context = EngineContext(
            store=store,
            providers=providers,
            settings=settings,
            runs_dir=runs_dir,
            tasks=tasks,
            slots=Slots(settings.turn_limit, settings.queue_limit),
            memory=AgentMemory(settings.agent_memory_limit_bytes),
            roster=ConnectionStore(store),
            faults=faults,
            crashes=crashes or CrashPolicy(),
            notifier=notifier,
            rules=rules,
            fixed=fixed,
            counts=counts or Counts(),
            traces=traces,
            watch=watch,
            default_provider=default_provider,
            umask=umask,
            processes=AgentProcesses(own or OwnProcesses()),
        )
        await context.processes.begin([(run.run_id, run.holder_pid) for _, run in await store.live_runs()])
        registry = Registry(context)
        engine = Engine(registry)
        if store.has_begun:
            await _start(registry, engine)
        else:
            logger.error(
                "the database cannot be written: sessions are read-only; agents are adopted when it is writable again"
            )
            tasks.start_soon(_start_when_writable, registry, engine)
        tasks.start_soon(keep_running, "process observation", context.processes.watch)
        try:
            yield engine
            if engine.sends_idle_home:
                await retire_idle_agents(context)
        finally:
            tasks.cancel_scope.cancel()
