"""From settings to serving, and back: the tree of the daemon's lifetimes."""

import gc
import logging
import os
import secrets
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import anyio

from betcode._version import __version__
from betcode.config.load import FILE_NAME, WrongSetting, load_settings
from betcode.config.lockfile import LockHeld, LockOwner, hold_lock
from betcode.config.paths import Paths
from betcode.config.reload import SettingsReloader
from betcode.daemon.exports import gauges_of, open_exports
from betcode.daemon.faults import faults_of
from betcode.daemon.providers import AvailableProviders, find_providers
from betcode.daemon.runs_directory import prepare_runs
from betcode.daemon.service_manager import ServiceManager
from betcode.daemon.settings_reload import keep_settings, with_features
from betcode.daemon.stop import EXIT_CANNOT_SERVE, EXIT_OK, Stop, on_signals
from betcode.domain.errors import BetcodeError
from betcode.domain.metrics.counts import Counts
from betcode.domain.release.features import FeatureFlags
from betcode.engine import Engine, Faults, OwnProcesses, open_engine
from betcode.git.command import Git
from betcode.holder.launch import allow_many_open_files, runs_inside
from betcode.holder.platform import RUN_MARKER
from betcode.notify import open_notifications
from betcode.server import (
    About,
    ObeyOptions,
    Release,
    SocketTaken,
    TcpListeners,
    make_private_directory,
    prepare,
    serve,
)
from betcode.storage import open_store
from betcode.telemetry import set_up_logging
from betcode.util.start_signals import START_SIGNALS
from betcode.worktrees import open_snapshots, open_worktrees

logger = logging.getLogger(__name__)

EXIT_WRONG_SETTINGS = 5
# Its holder would not talk to it, and would end it together with the agent.
_INSIDE = "This command was started by an agent of this daemon: start the daemon in your own terminal"


def run(
    paths: Paths,
    environ: Mapping[str, str],
    *,
    claude_bin: Path | None = None,
    flags: Mapping[str, str] | None = None,
    umask: int = -1,
) -> int:
    """Serve until a signal, and return the exit code. Settings are read first, then the lock is taken; nothing is
    changed without it.
    """
    started_ns = time.time_ns()
    flags = flags or {}
    try:
        loaded = load_settings(paths.config_dir, environ, flags)
    except WrongSetting as wrong:
        return _refuse(str(wrong), EXIT_WRONG_SETTINGS)
    reloader = SettingsReloader(paths.config_dir, loaded, environ, flags)
    moment = datetime.fromtimestamp(started_ns / 1e9, UTC).isoformat(timespec="seconds")
    holder = LockOwner(pid=os.getpid(), started=moment, socket=str(paths.socket), version=__version__)
    try:
        if START_SIGNALS.stop_requested:
            return EXIT_OK
        make_private_directory(paths.state_dir)
        if runs_inside(paths.runs):
            return _refuse(_INSIDE, EXIT_CANNOT_SERVE)
        allow_many_open_files()
        with hold_lock(paths.lock, holder):
            return _run_locked(paths, reloader, environ, claude_bin, started_ns, umask)
    except LockHeld as held:
        return _refuse(_who_holds(paths, held.holder), EXIT_CANNOT_SERVE)
    except (SocketTaken, OSError) as trouble:
        return _refuse(f"The state directory cannot be used: {trouble}", EXIT_CANNOT_SERVE)


def _run_locked(
    paths: Paths,
    reloader: SettingsReloader,
    environ: Mapping[str, str],
    claude_bin: Path | None,
    started_ns: int,
    umask: int,
) -> int:
    settings = reloader.running
    try:
        log_problem = set_up_logging(settings.logs, paths.daemon_log)
    except OSError as trouble:
        return _refuse(f"The log cannot be written: {trouble}", EXIT_WRONG_SETTINGS)
    if log_problem:
        log_problem += "; logging only to stderr until the next start"
        logger.error(log_problem)
    prepare_runs(paths.runs)
    for warning in reloader.read.warnings:
        logger.warning(warning)
    if reloader.importable is not None:
        logger.info("settings of Claude Code in %s can be imported: betcode config import", reloader.importable)
    default = settings.engine.default_provider
    found = find_providers(environ, claude_bin, settings.agents, default)
    features = FeatureFlags(__version__, settings.feature_flags)
    for remark in features.remarks():
        logger.warning(remark)
    try:
        tcp = prepare(settings.listen, paths.config_dir)
    except WrongSetting as wrong:
        return _refuse(str(wrong), EXIT_WRONG_SETTINGS)
    about = About(
        version=__version__,
        started_ns=started_ns,
        socket=str(paths.socket),
        state_dir=str(paths.state_dir),
        config_dir=str(paths.config_dir),
        default_provider=found.default_for,
        notes=lambda: {**reloader.notes, **({"log_problem": log_problem} if log_problem else {})},
        release=Release(features, found.default_version),
        agent_trouble=found.trouble,
        version_of=found.version_of,
    )
    try:
        return anyio.run(
            _serve,
            paths,
            reloader,
            found,
            about,
            faults_of(environ),
            ServiceManager(environ),
            tcp,
            umask,
            backend="asyncio",
        )
    except Exception:
        logger.exception("the daemon ends because of an internal error")
        return EXIT_CANNOT_SERVE
    finally:
        found.close()


async def _serve(
    paths: Paths,
    reloader: SettingsReloader,
    found: AvailableProviders,
    about: About,
    faults: Faults,
    service_manager: ServiceManager,
    tcp: TcpListeners,
    umask: int,
) -> int:
    stop = Stop()
    settings = reloader.running
    trouble = ""
    marker = f"daemon-{secrets.token_hex(8)}"
    git = Git(os.environ, umask=umask, marked={RUN_MARKER: marker})
    counts = Counts(requests=about.release.counts)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(on_signals, stop)
            tasks.start_soon(service_manager.feed_watchdog)
            # The log opens first and closes last; clients connect when everything that the server needs is ready.
            async with (
                open_store(
                    paths.database, durability=settings.engine.durability, on_fatal=stop.on_fatal, faults=faults
                ) as store,
                open_notifications(settings.notify) as notifying,
                open_exports(counts, settings.observability) as telemetry,
                open_snapshots(
                    store.worktrees,
                    git,
                    settings,
                    paths.state_dir,
                    lambda: about.release.features.is_on("worktree_management"),
                ) as snapshots,
                open_engine(
                    store,
                    found.providers,
                    with_features(settings.engine, about.release.features),
                    paths.runs,
                    faults=faults,
                    paths=paths,
                    notifier=notifying,
                    fixed=reloader.read.fixed,
                    counts=counts,
                    traces=telemetry.traces,
                    watch=snapshots,
                    default_provider=about.default_provider,
                    umask=umask,
                    own=OwnProcesses(os.getpid(), marker),
                    trusts_for_claude=True,
                ) as engine,
                open_worktrees(
                    store.worktrees,
                    git,
                    engine,
                    settings,
                    paths.state_dir,
                    snapshots,
                    is_trusted=engine.policy.is_trusted,
                    environment=engine.login_environment,
                    faults=faults,
                    fixed=reloader.read.fixed,
                    user_file=paths.config_dir / FILE_NAME,
                    umask=umask,
                    writable=store.until_begun,
                ) as worktrees,
                serve(
                    engine,
                    settings.engine,
                    paths,
                    replace(about, telemetry_troubles=lambda: telemetry.troubles),
                    store.writable,
                    stop.ask_and_wait,
                    reloader,
                    worktrees,
                    tcp,
                    ObeyOptions(settings.obey, store.reports, os.environ, umask) if settings.obey.enabled else None,
                ) as server,
            ):
                telemetry.watch(gauges_of(engine, server, paths.database))
                _say_serving(engine, about, await about.default_provider({}))
                service_manager.serving()
                _spare_what_stays()
                tasks.start_soon(
                    keep_settings, stop, reloader, engine, worktrees, notifying, about.release.features, server
                )
                await stop.asked.wait()
                service_manager.stopping()
                await server.close()
                stop.parted(await engine.part(stop.agents))
            tasks.cancel_scope.cancel()
    except* (SocketTaken, BetcodeError) as group:
        trouble = "; ".join(str(each) for each in _leaves(group))
    if trouble:
        logger.error("cannot serve: %s", trouble)
        return EXIT_CANNOT_SERVE
    stop.in_time()
    logger.info("stopped", extra={"exit_code": stop.exit_code})
    return stop.exit_code


def _spare_what_stays() -> None:
    """Exempt objects made at the start from garbage collection: they live as long as the process."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(10_000, 20, 20)  # thousands of messages and futures are short-lived, and few make cycles


def _say_serving(engine: Engine, about: About, default_provider: str) -> None:
    facts = {
        "version": about.version,
        "socket": about.socket,
        "default_provider": default_provider,
        "found_at_start": str(engine.facts().found_at_start),
        "start_ms": (time.time_ns() - about.started_ns) // 1_000_000,
    }
    logger.info("serving", extra=facts)


def _who_holds(paths: Paths, holder: LockOwner | None) -> str:
    if holder is None:
        return f"Another daemon is starting on {paths.state_dir}"
    return (
        f"A daemon already runs on {paths.state_dir}: process {holder.pid}, since {holder.started}; "
        "stop it with `betcode daemon stop`"
    )


def _refuse(sentence: str, code: int) -> int:
    sys.stderr.write(sentence + "\n")
    return code


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for each in group.exceptions:
        if isinstance(each, BaseExceptionGroup):
            yield from _leaves(each)
        else:
            yield each
