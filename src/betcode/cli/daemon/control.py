"""Find the daemon and start it if needed. A slow daemon is never taken for a dead one."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import dataclass

import anyio

from betcode._version import __version__
from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.cli.core.options import CommandOptions
from betcode.cli.core.remote_options import why_silent
from betcode.cli.daemon.service_managers import start_by_service
from betcode.client import ClientError, Unreachable, open_client
from betcode.config.lockfile import LockOwner, is_held, read_holder
from betcode.config.paths import Paths, Remote
from betcode.util.start_signals import blocked_signals
from betcode.util.state_files import UnusableEntry, open_file

Say = Callable[[str], None]

_PROBE_S = 1.0  # time limit of one probe; a daemon that does not answer in time is probed again
_REMOTE_PROBE_S = 10.0
_PATIENCE_S = 120.0
_FIRST_WORD_S = 1.0  # after this time the person is told why the command waits
_FIRST_WORD_IN_SCRIPTS_S = 5.0
_FURTHER_WORD_S = 10.0
_PAUSE_S = 0.03
_LOG_LINES = 12


async def serves(paths: Paths) -> bool:
    """Whether a daemon at the socket reports that it serves."""
    if paths.remote is None and not paths.socket.exists():
        return False
    async with open_client(paths) as client:
        try:
            return await client.is_serving(timeout_s=_PROBE_S)
        except ClientError:
            return False


async def ensure_daemon(options: CommandOptions, say: Say, *, announce: bool, asked_for: bool = False) -> bool:
    """Return once a daemon serves, and whether it was started for that. Only a missing daemon is started.

    With `announce` a start is printed; without it, only a long wait. A start that the person has not `asked_for`
    follows the setting daemon.autostart.

    Raises:
        CommandFailed: no daemon runs, and it cannot or must not be started.
    """
    if options.paths.remote is not None:
        await _refuse_silent(options.paths, options.paths.remote)
        return False
    if await serves(options.paths):
        if options.text("claude_bin"):
            say("--claude-bin has no effect: the daemon is already running")
        holder = read_holder(options.paths.lock)
        if announce and holder is not None and holder.version != __version__:
            say(
                f"The daemon{_pid(holder)} is betcode {holder.version}, and this is {__version__}. To update it: "
                "betcode daemon restart (working agents continue)"
            )
        if announce:  # a service may have started it without asking
            _offer_import(options, hint=False)
        return False
    first_word_s = _FIRST_WORD_S if announce else _FIRST_WORD_IN_SCRIPTS_S
    if is_held(options.paths.lock) and await _wait_until_serving(options.paths, None, say, first_word_s):
        return False  # the daemon that was found has stopped since
    if not options.may_start:
        raise CommandFailed(
            f"No daemon answers at {options.paths.socket}. Start it with: betcode daemon start",
            ExitCode.NO_CONNECTION,
        )
    # Imported here: most commands find a running daemon.
    from betcode.cli.core.autostart import refuse_unwanted_start

    refuse_unwanted_start(options, asked_for=asked_for)
    _offer_import(options, hint=True)
    if announce:
        say("Starting the daemon (stop it with: betcode daemon stop)")
    await _wait_until_serving(options.paths, launch(options), say, first_word_s)
    return True


def _offer_import(options: CommandOptions, *, hint: bool) -> None:
    """Offer to import the settings of Claude Code at the first run; later runs import nothing for it."""
    if not os.path.lexists(options.paths.config_dir):
        from betcode.cli.config.import_offer import offer_import

        offer_import(options, hint=hint)


async def _refuse_silent(paths: Paths, remote: Remote) -> None:
    """Raise CommandFailed for a remote daemon that does not answer; it cannot be started from here."""
    async with open_client(paths) as client:
        try:
            is_serving = await client.is_serving(timeout_s=_REMOTE_PROBE_S)
        except Unreachable as error:
            why = why_silent(remote, error.details.get("reason", error.message))
            raise CommandFailed(f"No daemon answers at {remote.address}: {why}", ExitCode.NO_CONNECTION) from None
    if not is_serving:
        raise CommandFailed(f"The daemon at {remote.address} reports that it is not serving", ExitCode.NO_CONNECTION)


def daemon_argv(options: CommandOptions) -> list[str]:
    """Return the command of the daemon process. -P: modules must not come from the current directory."""
    paths = options.paths
    argv = [sys.executable, "-P", "-m", "betcode.daemon", "--state-dir", str(paths.state_dir)]
    argv += ["--config-dir", str(paths.config_dir), "--socket", str(paths.socket)]
    argv += [f"--set={each}" for each in options.texts("set")]
    return [*argv, "--claude-bin", options.claude_bin] if options.claude_bin else argv


def refuse_flags_of_services(options: CommandOptions) -> None:
    """Raises CommandFailed if values are given for one daemon that a service would not pass on."""
    if options.texts("set") and start_by_service(options.paths.state_dir):
        raise CommandFailed(
            "The daemon runs as a service, which ignores --set: use betcode config set",
            ExitCode.INVALID_ARGUMENTS,
        )


@dataclass(frozen=True, slots=True)
class LaunchedDaemon:
    """A daemon process that this command started, and its position in the log at the start."""

    process: subprocess.Popen[bytes]
    log_offset: int


def launch(options: CommandOptions) -> LaunchedDaemon:
    """Start the daemon detached from this terminal. It outlives this command and the terminal.

    Raises:
        CommandFailed: its state directory cannot be created.
    """
    paths = options.paths
    try:
        paths.state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        log = _open_log(paths)
    except OSError as error:
        raise CommandFailed(f"The daemon's state directory cannot be used: {error}", ExitCode.NO_CONNECTION) from error
    try:
        service = start_by_service(paths.state_dir)
        with nullcontext() if service else blocked_signals():
            process = subprocess.Popen(
                service or daemon_argv(options),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                start_new_session=True,
            )
        return LaunchedDaemon(process, os.fstat(log).st_size)
    finally:
        os.close(log)


def _open_log(paths: Paths) -> int:
    """Open the log for appending. If it is not a regular file, the daemon starts anyway and reports it."""
    try:
        return open_file(paths.daemon_log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    except UnusableEntry:
        return os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)


async def _wait_until_serving(paths: Paths, launched: LaunchedDaemon | None, say: Say, first_word_s: float) -> bool:
    """Wait until the daemon serves. Return False if a daemon that someone else started has stopped instead."""
    begun = time.monotonic()
    next_word_s = first_word_s
    while not await serves(paths):
        holder = read_holder(paths.lock)
        _refuse_another_socket(paths, holder)
        if launched is not None and launched.process.poll() is not None and not is_held(paths.lock):
            # In this order: another daemon that started faster may hold the lock by now.
            raise CommandFailed(_why_it_ended(paths, launched), ExitCode.NO_CONNECTION)
        if launched is None and not is_held(paths.lock):
            return False
        waited_s = time.monotonic() - begun
        if waited_s > _PATIENCE_S:
            raise CommandFailed(
                f"The daemon{_pid(holder)} is alive but has not answered for {waited_s:.0f} s; its log is "
                f"{paths.daemon_log}",
                ExitCode.NO_CONNECTION,
            )
        if waited_s >= next_word_s:
            say(f"Waiting for the daemon{_pid(holder)} to become ready")
            next_word_s = waited_s + _FURTHER_WORD_S
        await anyio.sleep(_PAUSE_S)
    return True


def _pid(holder: LockOwner | None) -> str:
    return f" (pid {holder.pid})" if holder else ""


def _refuse_another_socket(paths: Paths, holder: LockOwner | None) -> None:
    if holder is not None and holder.socket and holder.socket != str(paths.socket):
        raise CommandFailed(
            f"The daemon of {paths.state_dir} (pid {holder.pid}) listens on another socket: "
            f"use --socket {holder.socket}",
            ExitCode.NO_CONNECTION,
        )


def _why_it_ended(paths: Paths, launched: LaunchedDaemon) -> str:
    words: list[str] = []
    with suppress(OSError), os.fdopen(open_file(paths.daemon_log), "rb") as log:
        log.seek(launched.log_offset)
        words = [plain(line) for line in log.read().decode(errors="replace").splitlines()]
    output = "; ".join(word for word in words[-_LOG_LINES:] if word)
    return f"The daemon exited at once with code {launched.process.returncode}: {output or 'no output'}"


def plain(line: str) -> str:
    """Return a line of the daemon's log without details for developers; empty if nothing remains."""
    try:
        entry = json.loads(line)
        message, level, trace = str(entry["message"]), str(entry["level"]), str(entry.get("exception", ""))
    except (ValueError, KeyError, TypeError):
        return line.strip()
    if level not in ("warn", "error", "critical"):
        return ""
    causes = [text for part in trace.splitlines() if (text := part.strip(" |+-"))]
    return f"{message} ({causes[-1]})" if causes else message
