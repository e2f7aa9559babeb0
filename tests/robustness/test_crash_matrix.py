"""Daemon, holder or agent killed at each step of a tool's use: the tool does its work once, or at most once.

`make test` plays SHORT with each kind of agent, and `make test-wide` the whole matrix. `make soak` plays all of it
BETCODE_MATRIX times (3), with the kind BETCODE_KIND.
"""

import os
import time
from pathlib import Path

import pytest

from betcode.client.errors import ClientError
from support.providers.ledger import KINDS, Kind, chosen_kind
from support.rounds.crash_matrix import Case, Step, Who, all_cases, open_matrix

pytestmark = pytest.mark.anyio

SOAK = os.environ.get("BETCODE_SOAK") == "1"
TIMES = int(os.environ.get("BETCODE_MATRIX", "3")) if SOAK else 1
SHORT = (
    Case(Who.DAEMON, Step.ASKED),
    Case(Who.DAEMON, Step.ANSWERED, "Bash"),
    Case(Who.DAEMON, Step.HANDED_OVER, allow=False),
    Case(Who.DAEMON, Step.ASKED, fault="after-commit:4"),
    Case(Who.AGENT, Step.ASKED),
    Case(Who.AGENT, Step.ANSWERED),
    Case(Who.AGENT, Step.ANSWERED, "Bash", allow=False),
    Case(Who.AGENT, Step.HEARD),
    Case(Who.HOLDER, Step.ASKED, "Bash"),
    Case(Who.HOLDER, Step.RAN, "Bash"),
)


@pytest.mark.behaviour(
    "permission.pending.none-lost", "permission.restart.still-open", "permission.replay.in-flight-answer"
)
@pytest.mark.skipif(SOAK, reason="all of the matrix is played instead")
@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
async def test_a_tool_does_its_work_once_whoever_is_killed_meanwhile(kind: Kind, tmp_path: Path) -> None:
    async with open_matrix(tmp_path, kind) as matrix:
        for case in SHORT:
            try:
                await matrix.play(case)
            except Exception as broken:
                raise AssertionError(str(case)) from broken


@pytest.mark.wide
@pytest.mark.parametrize("kind", [chosen_kind()] if SOAK else KINDS.values(), ids=lambda kind: kind.name)
async def test_the_whole_matrix_breaks_no_promise(kind: Kind, tmp_path_factory: pytest.TempPathFactory) -> None:
    broken: list[str] = []
    began = time.monotonic()
    for number in range(TIMES):
        async with open_matrix(tmp_path_factory.mktemp(f"m{number}"), kind) as matrix:
            for case in all_cases():
                try:
                    await matrix.play(case)
                except (AssertionError, TimeoutError, ClientError, ExceptionGroup) as trouble:
                    broken.append(f"{case}: {trouble!r}")
                    print(broken[-1], flush=True)
            print(f"{matrix.rounds} rounds, {len(broken)} broken, {time.monotonic() - began:.0f} s", flush=True)
    assert not broken
