"""Checks the directory of runs: which entries are unusable, and why. For daemon and doctor."""

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from betcode.holder.journal import SEGMENT_PREFIX
from betcode.holder.launch import LOCK_LIMIT_BYTES
from betcode.holder.segments import SEGMENT_LIMIT_BYTES
from betcode.util.state_files import SET_ASIDE, UnusableEntry, mode_of, names_in, read_file, shown, type_of

_LOCK = re.compile(rb"(?:\d{1,9} \d{1,20}\n|barred\n)?")


@dataclass(frozen=True, slots=True)
class RunFault:
    """An entry of the directory of runs that cannot be used, or that directory itself."""

    name: str  # of the entry; may hold characters that cannot be printed
    problem: str  # a clause: "`lock` is a FIFO, not a regular file"
    is_run: bool = True  # False: not even a directory, so that no agent can have run there
    is_outside: bool = False  # it is the directory of runs itself, or next to it
    can_be_set_aside: bool = True

    @property
    def shown(self) -> str:
        """The entry's name for people."""
        return shown(self.name)

    def path(self, runs_dir: Path) -> Path:
        return runs_dir.with_name(self.name) if self.is_outside else runs_dir / self.name

    def place(self, runs_dir: Path) -> str:
        """The path for people, relative to the state directory."""
        return self.shown if self.is_outside else f"{runs_dir.name}/{self.shown}"


def run_faults(runs_dir: Path) -> Iterator[RunFault]:
    """Every entry that cannot be used, by name; blocks while files are examined. The directory itself comes first."""
    yield from faults_outside(runs_dir)
    try:
        names = sorted(names_in(runs_dir))
    except OSError:
        return  # a fault of the directory itself
    for name in names:
        fault = fault_of(runs_dir / name)
        if fault is not None:
            yield fault


def faults_outside(runs_dir: Path) -> Iterator[RunFault]:
    """The fault of the directory itself, and the entries that the daemon renamed at start."""
    try:
        mode = mode_of(runs_dir)
        if mode and not runs_dir.is_dir():
            problem = f"it is {type_of(mode)}, not a directory"
            yield RunFault(runs_dir.name, problem, is_run=False, is_outside=True)
        else:
            names_in(runs_dir)
    except OSError as error:
        yield RunFault(runs_dir.name, str(error), is_run=False, is_outside=True, can_be_set_aside=False)
    try:
        renamed = sorted(name for name in names_in(runs_dir.parent) if name.startswith(runs_dir.name + SET_ASIDE))
        modes = {name: mode_of(runs_dir.with_name(name)) for name in renamed}
    except OSError:
        return  # the state directory has other checks
    for name, mode in modes.items():
        what = "a directory that cannot be listed" if stat.S_ISDIR(mode) else f"{type_of(mode)}, not a directory"
        problem = f"it is {what}; the daemon found it as `{shown(runs_dir)}` and renamed it"
        yield RunFault(name, problem, is_run=False, is_outside=True)


def fault_of(run_dir: Path) -> RunFault | None:
    """Return the problem of one run; None if there is none, or no such entry."""
    try:
        mode = mode_of(run_dir)
        if mode and not stat.S_ISDIR(mode):
            return RunFault(run_dir.name, f"it is {type_of(mode)}, not a directory", is_run=False)
        problem = _problem(run_dir) if mode else ""
    except OSError as error:
        problem = str(error)
    return RunFault(run_dir.name, problem) if problem else None


def _problem(run_dir: Path) -> str:
    names = names_in(run_dir)
    if not os.access(run_dir, os.R_OK | os.W_OK | os.X_OK):
        return "its directory cannot be written: Permission denied"
    if "lock" in names and not _LOCK.fullmatch(read_file(run_dir / "lock", LOCK_LIMIT_BYTES)):
        return "`lock` does not hold the pid of a holder"
    if "socket" in names and not stat.S_ISSOCK(mode := mode_of(run_dir / "socket")) and mode:
        return f"`socket` is {type_of(mode)}, not a socket"
    for name in sorted(names):
        if name.startswith(SEGMENT_PREFIX):
            _check_segment(run_dir / name)
    return ""


def _check_segment(path: Path) -> None:
    """Raises: UnusableEntry."""
    try:
        facts = path.lstat()
    except FileNotFoundError:
        return  # compressed meanwhile
    if not stat.S_ISREG(facts.st_mode):
        raise UnusableEntry(f"`{shown(path)}` is {type_of(facts.st_mode)}, not a regular file")
    if facts.st_size > SEGMENT_LIMIT_BYTES:
        raise UnusableEntry(f"`{shown(path)}` is longer than {SEGMENT_LIMIT_BYTES} bytes")
    if not os.access(path, os.R_OK):
        raise UnusableEntry(f"`{shown(path)}` cannot be used: Permission denied")
