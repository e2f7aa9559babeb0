"""Check the runs directory for unusable entries, with and without a daemon."""

from collections.abc import Iterable, Iterator
from itertools import islice

from betcode.cli.doctor.finding import Finding, Situation, ok, trouble
from betcode.config.paths import Paths
from betcode.holder.run_check import RunFault, fault_of, faults_outside, run_faults
from betcode.util.state_files import names_in
from betcode.v1.health_pb2 import UnusableRun

_MOST = 50  # maximum number of findings, for a directory full of foreign entries


def runs(situation: Situation) -> Iterator[Finding]:
    paths = situation.paths
    faults = list(islice(run_faults(paths.runs), _MOST))
    for fault in faults:
        yield trouble("runs", f"{fault.place(paths.runs)}: {fault.problem}", remedy(paths, fault))
    if not faults:
        count = len(names_in(paths.runs))
        yield ok("runs", f"{count} run{'' if count == 1 else 's'} on disk, all usable")


def remedy(paths: Paths, fault: RunFault) -> str:
    if not fault.can_be_set_aside:
        return f"allow the daemon's user to list it: chmod 700 {fault.path(paths.runs)}"
    return f"betcode doctor --repair moves it to {paths.set_aside}"


def reported(found: Iterable[UnusableRun], paths: Paths) -> list[Finding]:
    """Return the faults that only the daemon can find, such as a holder that violates the protocol."""
    outside = {fault.shown for fault in faults_outside(paths.runs)}
    return [
        trouble("runs", f"{paths.runs.name}/{one.name}: {one.problem}", one.remedy)
        for one in found
        if one.name not in outside and fault_of(paths.runs / one.name) is None
    ]
