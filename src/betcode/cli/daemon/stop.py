"""`betcode daemon stop` and `betcode daemon restart`: the person decides what happens to agents."""

import os
import signal
import time
from contextlib import suppress

import anyio

from betcode.cli.config.files import refuse_inside
from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.cli.core.options import CommandOptions
from betcode.cli.core.remote_options import refuse_remote
from betcode.cli.daemon.control import ensure_daemon, refuse_flags_of_services
from betcode.cli.terminal.console import Screen, standard_screen
from betcode.cli.terminal.progress import show_blocking_progress
from betcode.client import ClientError, Refused, open_client
from betcode.config.flags import flags_of
from betcode.config.load import WrongSetting, load_settings
from betcode.config.lockfile import LockOwner, is_held, read_holder
from betcode.holder.launch import holder_pids
from betcode.v1 import admin_pb2 as v1

_STOP_BOUND_S = 30.0
_PAUSE_S = 0.02
_ANSWER_WITHIN_S = 5.0  # for a request; after that a signal is sent


def stop(options: CommandOptions) -> int:
    """Request the daemon to stop, and return when its lock is released."""
    refuse_remote(options.paths)
    screen = standard_screen()
    if options.flag("agents"):
        return _stop_with_agents(options, screen)
    holder = _holder_soon(options)
    continuing: int | None = None
    if holder is not None:
        continuing = anyio.run(_stop_idle, options, holder)
        _wait_until_gone(options, holder, screen)
    if options.as_json:
        screen.json({"stopped": holder is not None, "pid": holder.pid if holder else 0})
    elif holder is None:
        screen.line("No daemon is running")
    else:
        screen.line(f"The daemon (pid {holder.pid}) has stopped; {_at_work(options, continuing)}")
    return ExitCode.OK


async def _stop_idle(options: CommandOptions, holder: LockOwner) -> int | None:
    """Stop the daemon; return how many working agents continue, or None if it did not answer and got a signal.

    Raises:
        Refused: the daemon does not let this process stop it; no signal is sent.
    """
    with anyio.move_on_after(_ANSWER_WITHIN_S):
        async with open_client(options.paths) as client:
            try:
                return (await client.stop_daemon(holder.pid, v1.AGENTS_AT_STOP_IDLE_END)).agents_left
            except Refused as refused:
                if not refused.is_unimplemented:
                    raise
            except ClientError:
                pass  # it does not answer, or is already stopping
    refuse_inside(options.paths, "agents may not stop the daemon")
    _terminate(holder)
    return None


def _at_work(options: CommandOptions, continuing: int | None) -> str:
    continuing = len(holder_pids(options.paths.runs)) if continuing is None else continuing
    if not continuing:
        return "no agent was working"
    return (
        "1 agent continues, and the next daemon takes it over"
        if continuing == 1
        else (f"{continuing} agents continue, and the next daemon takes them over")
    )


def restart(options: CommandOptions) -> int:
    """Stop the daemon and start another. Agents continue, and clients reconnect by themselves."""
    refuse_remote(options.paths)
    screen = standard_screen()
    if not options.may_start:
        raise CommandFailed("--no-start cannot be used with restart", ExitCode.INVALID_ARGUMENTS)
    refuse_flags_of_services(options)
    before = _holder_soon(options)
    _check_settings(options)
    stopped = v1.StopDaemonResponse()
    if before is not None:
        agents = v1.AGENTS_AT_STOP_ALL_END if options.flag("agents") else v1.AGENTS_AT_STOP_ALL_STAY
        with show_blocking_progress(screen, "Stopping"):
            stopped = anyio.run(_ask_to_stop, options, before, agents)
        _wait_until_gone(options, before, screen)
    anyio.run(_start, options, screen)
    holder = read_holder(options.paths.lock)
    pid, old = holder.pid if holder else 0, before.pid if before else 0
    if options.as_json:
        figures = {"agents_ended": stopped.agents_ended, "agents_left": stopped.agents_left}
        screen.json({"restarted": before is not None, "pid": pid, "pid_before": old, **figures})
    elif before is None:
        screen.line(f"No daemon was running; started one at {options.paths.socket} (pid {pid})")
    else:
        screen.line(f"The daemon was restarted (pid {old}, now {pid}); {_fate(stopped)}")
    return ExitCode.OK


def leave_agents_and_stop(options: CommandOptions, screen: Screen) -> None:
    """Stop the daemon at once for another one. Agents continue, including idle ones."""
    holder = _holder_soon(options)
    if holder is not None:
        with show_blocking_progress(screen, "Stopping"):
            anyio.run(_ask_to_stop, options, holder, v1.AGENTS_AT_STOP_ALL_STAY)
        _wait_until_gone(options, holder, screen)


def _check_settings(options: CommandOptions) -> None:
    """Raise CommandFailed before the stop if the settings would prevent the next start."""
    try:
        load_settings(options.paths.config_dir, os.environ, flags_of(options.texts("set")))
    except WrongSetting as wrong:
        raise CommandFailed(f"{wrong}. The daemon was not stopped", ExitCode.INVALID_ARGUMENTS) from None


async def _start(options: CommandOptions, screen: Screen) -> None:
    await ensure_daemon(options, screen.note, announce=False, asked_for=True)


def _stop_with_agents(options: CommandOptions, screen: Screen) -> int:
    holder = _holder_soon(options)
    if holder is None and holder_pids(options.paths.runs):
        # Working agents of a stopped daemon: only a daemon knows them all and records how they ended.
        anyio.run(_start, options, screen)
        holder = _holder_soon(options)
    stopped = v1.StopDaemonResponse()
    if holder is not None:
        with show_blocking_progress(screen, "Ending all agents"):
            stopped = anyio.run(_ask_to_stop, options, holder, v1.AGENTS_AT_STOP_ALL_END)
        _wait_until_gone(options, holder, screen)
    if options.as_json:
        figures = {"agents_ended": stopped.agents_ended, "agents_left": stopped.agents_left}
        screen.json({"stopped": holder is not None, "pid": holder.pid if holder else 0, **figures})
    elif holder is None:
        screen.line("No daemon and no agent is running")
    else:
        screen.line(f"The daemon (pid {holder.pid}) has stopped; {_fate(stopped)}")
    return ExitCode.INTERNAL if stopped.agents_left else ExitCode.OK


async def _ask_to_stop(
    options: CommandOptions, holder: LockOwner, agents: v1.AgentsAtStop.ValueType
) -> v1.StopDaemonResponse:
    """Request a stop and return what happened to the agents. An older daemon can only stop without them."""
    async with open_client(options.paths) as client:
        try:
            return await client.stop_daemon(holder.pid, agents)
        except Refused as refused:
            if agents == v1.AGENTS_AT_STOP_ALL_END or not refused.is_unimplemented:
                raise
    refuse_inside(options.paths, "agents may not stop the daemon")
    _terminate(holder)
    return v1.StopDaemonResponse()


def _fate(stopped: v1.StopDaemonResponse) -> str:
    ended = f"{stopped.agents_ended} agent{'' if stopped.agents_ended == 1 else 's'} ended"
    continuing = f"{stopped.agents_left} continue{'s' if stopped.agents_left == 1 else ''}"
    return f"{ended}, {continuing}"


def _terminate(holder: LockOwner) -> None:
    with suppress(ProcessLookupError):  # the process has already ended
        os.kill(holder.pid, signal.SIGTERM)


def _holder_soon(options: CommandOptions) -> LockOwner | None:
    """Return the owner of the lock; wait briefly for one that has just acquired it."""
    for _ in range(50):
        holder = read_holder(options.paths.lock)
        if holder is not None or not is_held(options.paths.lock):
            return holder
        time.sleep(_PAUSE_S)
    raise CommandFailed("The daemon did not report its process id; try again", ExitCode.NO_CONNECTION)


def _wait_until_gone(options: CommandOptions, holder: LockOwner, screen: Screen) -> None:
    begun = time.monotonic()
    is_reported = False
    while True:
        now = read_holder(options.paths.lock)
        if not is_held(options.paths.lock) or (now is not None and now.pid != holder.pid):
            return
        waited_s = time.monotonic() - begun
        if waited_s > _STOP_BOUND_S:
            raise CommandFailed(
                f"The daemon (pid {holder.pid}) has not stopped after {waited_s:.0f} s",
                ExitCode.INTERNAL,
            )
        if waited_s > 1 and not is_reported:
            screen.note(f"Waiting for the daemon (pid {holder.pid}) to stop")
            is_reported = True
        time.sleep(_PAUSE_S)
