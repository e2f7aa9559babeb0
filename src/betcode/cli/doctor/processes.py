"""Check processes: git, agents without a daemon, the daemon itself."""

import resource
import shutil
from collections.abc import Iterator
from pathlib import Path

from betcode._version import __version__
from betcode.cli.daemon.log_path import log_path
from betcode.cli.doctor import runs as doctor_runs
from betcode.cli.doctor.finding import Finding, Situation, note, ok, trouble
from betcode.client import ClientError, open_client
from betcode.config.lockfile import is_held, read_holder
from betcode.config.paths import Paths
from betcode.domain.errors import DatabaseUnusable
from betcode.git.environment import environment_of
from betcode.git.version import ADVICE, unfit, version_of
from betcode.holder.launch import held_runs, holder_pids
from betcode.holder.platform import all_marked
from betcode.providers.versions import read_version
from betcode.util.state_files import names_in
from betcode.v1.health_pb2 import ServingStatus

_VERSION_WITHIN_S = 5.0
_LEAST_OPEN_FILES = 1024


def git(situation: Situation) -> Iterator[Finding]:
    """Check that git is installed and recent enough; only worktrees need it."""
    environment = environment_of(situation.environ)
    program = shutil.which("git", path=environment["PATH"])
    if program is None:
        found_version, why = "", f"git is not installed: {ADVICE}"
    else:
        found_version = f"git version {read_version(Path(program), environment, _VERSION_WITHIN_S)}"
        why = unfit(found_version)
    yield (
        note("git", why, "required for worktrees and for the changes of a turn")
        if why
        else ok("git", version_of(found_version))
    )


def orphans(situation: Situation) -> Iterator[Finding]:
    """Find agents without a daemon, and remains of agents whose holder has ended."""
    paths = situation.paths
    held = held_runs(paths.runs)
    ours = set(names_in(paths.runs))
    leftover_pids = sorted(one.pid for run, one in all_marked() if run in ours and run not in held)
    if leftover_pids:
        pids = " ".join(str(pid) for pid in leftover_pids)
        yield trouble(
            "processes",
            f"{len(leftover_pids)} processes remain of an agent whose holder has ended: {pids}",
            "betcode daemon restart",
        )
    if held and not is_held(paths.lock):
        count = len(holder_pids(paths.runs))
        yield note("processes", f"{count} agents are running without a daemon", "betcode daemon start takes them over")
    elif unknown := sorted(held - _known(paths.database)):
        yield trouble("processes", f"agents without a session: {', '.join(unknown)}", "betcode daemon restart")
    elif not leftover_pids:
        yield ok("processes", f"{len(held)} agent{'' if len(held) == 1 else 's'} running, no leftover processes")


def _known(database: Path) -> frozenset[str]:
    from betcode.storage.sqlite.probe import glance

    try:
        return glance(database, within_s=0.0).live_runs
    except DatabaseUnusable:
        return frozenset()  # another check reports it


def open_files(_: Situation) -> Iterator[Finding]:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard != resource.RLIM_INFINITY and hard < _LEAST_OPEN_FILES:
        words = f"a process may open {hard}"
        yield trouble(
            "open files", words, f"raise the hard limit to {_LEAST_OPEN_FILES} or more: ulimit -Hn, limits.conf"
        )
    else:
        yield ok("open files", "no limit" if hard == resource.RLIM_INFINITY else f"limit {hard}")


async def daemon(paths: Paths) -> list[Finding]:
    """Return the findings that the daemon reports about itself."""
    if not is_held(paths.lock):
        return [note("daemon", "none is running", "nothing to do: a command that needs one starts it")]
    holder = read_holder(paths.lock)
    pid = holder.pid if holder else "?"
    try:
        async with open_client(paths) as client:
            details = await client.health()
    except ClientError:
        words = f"the daemon (pid {pid}) is running but does not answer at {paths.socket}"
        return [trouble("daemon", words, f"see {log_path(paths)}, then: betcode daemon restart")]
    found = [
        trouble("daemon", f"{one.name} is not healthy: {one.message}", "it recovers by itself when this is fixed")
        for one in details.components
        if one.status != ServingStatus.SERVING
    ]
    found += doctor_runs.reported(details.unusable_runs, paths)
    if details.degraded and not found:
        found.append(note("daemon", f"{details.degraded_reason}. {details.metadata.get('degraded_impact', '')}."))
    if holder is not None and holder.version != __version__:
        found.append(
            note("daemon", f"it is betcode {holder.version}, and this is {__version__}", "betcode daemon restart")
        )
    return found or [ok("daemon", f"pid {pid} is serving at {paths.socket}")]
