"""Check the runs directory for unusable entries, with and without a daemon."""

from collections.abc import Iterable, Iterator
from itertools import islice

from betcode.cli.doctor.finding import Finding, Situation, ok, trouble
from betcode.config.paths import Paths
from betcode.holder.run_check import fault_of, run_faults
from betcode.util.state_files import names_in
from betcode.v1.health_pb2 import UnusableRun

_MOST = 50  # maximum number of findings, for a directory full of foreign entries


def runs(situation: Situation) -> Iterator[Finding]:
    paths = situation.paths
    faults = list(islice(run_faults(paths.runs), _MOST))
    for fault in faults:
        yield trouble("runs", f"{paths.runs.name}/{fault.shown}: {fault.problem}", remedy(paths))
    if not faults:
        count = len(names_in(paths.runs))
        yield ok("runs", f"{count} run{'' if count == 1 else 's'} on disk, all usable")


def remedy(paths: Paths) -> str:
    return f"betcode doctor --repair moves it to {paths.set_aside}"


def reported(found: Iterable[UnusableRun], paths: Paths) -> list[Finding]:
    """Return the faults that only the daemon can find, such as a holder that violates the protocol."""
    return [
        trouble("runs", f"{paths.runs.name}/{one.name}: {one.problem}", one.remedy)
        for one in found
        if fault_of(paths.runs / one.name) is None
    ]
