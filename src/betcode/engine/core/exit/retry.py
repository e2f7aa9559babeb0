"""Decisions about the run that crashed and whose turn another agent is to continue."""

from __future__ import annotations

from dataclasses import replace

from betcode.domain.runs.state import RunStimulus, advance
from betcode.domain.store.changes import Change, SaveRun
from betcode.domain.store.rows import RunRow


def end_backoff(crashed: RunRow | None, why: RunStimulus) -> tuple[Change, ...]:
    """Return what is stored of the crashed run when the wait for another ends like this; nothing without one."""
    return () if crashed is None else (SaveRun(replace(crashed, state=advance(crashed.state, why))),)
