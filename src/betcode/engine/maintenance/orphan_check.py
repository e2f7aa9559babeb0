"""Find processes without a run row, and running rows without a process."""

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from betcode.holder.launch import held_runs
from betcode.holder.platform import all_marked
from betcode.util.state_files import mode_of


def orphan_runs(rows: Iterable[str], runs_dir: Path) -> dict[str, int]:
    """Runs of this directory that have processes and no running row, and how many these are. Blocks for a moment."""
    known = frozenset(rows)
    found = dict.fromkeys(held_runs(runs_dir) - known, 0)
    marked = all_marked()
    ours = {run_id for run_id, one in marked if one.pid == os.getpid()}  # whoever started us is no stray
    for run_id, _ in marked:
        if run_id not in known | ours and (run_id in found or _is_run_of(runs_dir, run_id)):
            found[run_id] = found.get(run_id, 0) + 1
    return found


def _is_run_of(runs_dir: Path, run_id: str) -> bool:
    """Whether the run is one of ours; other daemons of the same user have their own."""
    try:
        return bool(run_id) and "/" not in run_id and stat.S_ISDIR(mode_of(runs_dir / run_id))
    except (OSError, ValueError):  # the environment of a process may name anything
        return False


def violations(rows: Iterable[str], runs_dir: Path) -> list[str]:
    """What contradicts the rule, one sentence each; `rows` are the runs that are stored as alive."""
    known = frozenset(rows)
    held = held_runs(runs_dir)
    return [
        *(
            f"run {run_id} has {count} processes and no running row"
            for run_id, count in orphan_runs(known, runs_dir).items()
        ),
        *(f"run {run_id} is stored as running and has no process" for run_id in sorted(known - held)),
    ]
