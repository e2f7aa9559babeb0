"""`betcode doctor --repair`: move unusable entries out of the runs directory. Nothing is deleted."""

import os
import stat
import time
from dataclasses import dataclass
from pathlib import Path

import anyio

from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.cli.core.options import CommandOptions
from betcode.cli.terminal.console import standard_screen
from betcode.cli.terminal.keyboard import can_ask, confirm
from betcode.client import ClientError, open_client
from betcode.config.lockfile import is_held
from betcode.config.paths import Paths
from betcode.domain.values.identifiers import is_uuid
from betcode.holder.launch import end_leftovers
from betcode.holder.run_check import RunFault, run_faults
from betcode.util.state_files import mode_of, names_in

_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class SetAside:
    """One entry that was moved."""

    name: str
    problem: str
    moved_to: str
    processes_ended: int


def repair(options: CommandOptions) -> list[SetAside]:
    """Move every unusable entry, once a person or `--yes` agrees, and return the moved entries.

    Raises:
        CommandFailed: an entry cannot be moved, or there is no terminal to ask on.
    """
    paths, screen = options.paths, standard_screen()
    faults = anyio.run(_faults, paths)
    if not faults:
        screen.note(f"Nothing to repair: all entries of {paths.runs} are usable")
        return []
    for fault in faults:
        screen.note(f"Unusable: {fault.place(paths.runs)}: {fault.problem}")
    if not options.flag("yes"):
        if not can_ask():
            raise CommandFailed("No terminal to ask on: add --yes to move them", ExitCode.INVALID_ARGUMENTS)
        question = f"End their processes and move {_count(faults)} to {paths.set_aside}? [y/N] "
        if not confirm(screen, question, otherwise=False):
            raise CommandFailed("No entry was moved", ExitCode.INVALID_ARGUMENTS)
    moved = [_set_aside(paths, fault) for fault in faults]
    for one in moved:
        ended = f"; ended {one.processes_ended} of its processes" if one.processes_ended else ""
        screen.note(f"Moved {one.name} to {one.moved_to}{ended}")
    screen.note("Sessions that used them start a new agent with their next message and report the lost turn")
    return moved


async def _faults(paths: Paths) -> list[RunFault]:
    """Return the faults that the entries show, and those that the daemon has found."""
    faults = {fault.name: fault for fault in run_faults(paths.runs)}
    for fault in faults.values():
        if not fault.can_be_set_aside:
            raise CommandFailed(
                f"{fault.path(paths.runs)} is not moved, because it is the directory of the runs: {fault.problem}. "
                "As its owner or as root, allow the daemon's user to list it (chmod 700)",
                ExitCode.INTERNAL,
            )
    if paths.runs.name not in faults and is_held(paths.lock):
        try:
            async with open_client(paths) as client:
                details = await client.health()
        except ClientError:
            return list(faults.values())  # another finding reports that it does not answer
        there = set(names_in(paths.runs))
        found = [one for one in details.unusable_runs if one.can_be_set_aside and one.name in there]
        faults = {one.name: RunFault(one.name, one.problem) for one in found} | faults
    return [faults[name] for name in sorted(faults)]


def _set_aside(paths: Paths, fault: RunFault) -> SetAside:
    """Move one entry. Raises CommandFailed if it cannot be moved."""
    # Its agent would continue with no reader for its output. The daemon notices and records the end.
    ended = end_leftovers(fault.name, 0, 0) if is_uuid(fault.name) else 0
    source, target = fault.path(paths.runs), paths.set_aside / _free_name(paths.set_aside, fault)
    try:
        paths.set_aside.mkdir(mode=0o700, exist_ok=True)
        _move(source, target)
        if source == paths.runs:
            paths.runs.mkdir(mode=0o700, exist_ok=True)  # for the agents that a running daemon starts next
    except OSError as error:
        raise CommandFailed(
            f"{fault.place(paths.runs)} cannot be moved ({error.strerror or error}): "
            f"as its owner or as root, move it to {paths.set_aside}",
            ExitCode.INTERNAL,
        ) from error
    return SetAside(fault.shown, fault.problem, str(paths.set_aside / target.name), ended)


def _move(source: Path, target: Path) -> None:
    try:
        source.rename(target)
    except PermissionError:
        if not stat.S_ISDIR(mode_of(source)):
            raise
        source.chmod(0o700)  # a directory must be writable to be moved, because its `..` changes
        source.rename(target)


def _free_name(directory: Path, fault: RunFault) -> str:
    name = fault.name if len(os.fsencode(fault.name)) <= _LONGEST_NAME else fault.shown
    return f"{name}.{time.time_ns()}" if mode_of(directory / name) else name


def _count(faults: list[RunFault]) -> str:
    return "it" if len(faults) == 1 else f"the {len(faults)} entries"
