"""Random sessions under random faults: whatever happens, the promises hold.

A round is a plan that its seed alone decides. `BETCODE_SEED=17` runs that one; `python -m support.rounds 17` (with
`tests` on the path) runs it and shows its plan. `make soak` runs BETCODE_ROUNDS of them, BETCODE_JOBS at a time, from
BETCODE_SEED on, with agents of the kind BETCODE_KIND (claude, acp).
"""

import os
import random
import shutil
import sys
import time
from pathlib import Path

import anyio
import anyio.abc
import pytest

from support.plugins.wide import representative
from support.providers.ledger import ACP, CLAUDE, Kind, chosen_kind
from support.rounds.plan import Kill, Plan, Say, Target, Watch, Way, make_plan
from support.rounds.rounds import run_round

pytestmark = pytest.mark.anyio

SOAK = os.environ.get("BETCODE_SOAK") == "1"
ROUNDS = int(os.environ.get("BETCODE_ROUNDS", "1000"))
JOBS = int(os.environ.get("BETCODE_JOBS", str(os.cpu_count() or 1)))
SEED = os.environ.get("BETCODE_SEED", "")
FIXED = (1, 2, 7, 20)
BOUND_S = 240.0
SUPPORT = Path(__file__).parents[1]


def any_seed() -> int:
    """One that nobody has seen before."""
    return random.SystemRandom().randrange(1_000_000, 1 << 31)


# Chosen when the test runs, so that its name is the same in every process that collects it.
UNSEEN = 0
CHOSEN = [(chosen_kind(), int(SEED or 0))]
EACH = [*((CLAUDE, seed) for seed in (*FIXED, UNSEEN)), (ACP, 1), (ACP, 2), (ACP, UNSEEN)]


@pytest.mark.skipif(SOAK, reason="many rounds run instead")
# Representatives: of each kind of agent, a seed that is always the same and one that nobody has seen.
@pytest.mark.parametrize(
    "case",
    representative(
        CHOSEN if SEED else EACH,
        lambda case: (case[0].name, case[1] == UNSEEN),
        lambda case: f"{case[0].name}-{case[1]}",
    ),
)
@pytest.mark.behaviour("reconcile.sessions.adopted")
async def test_a_round_of_random_faults_breaks_no_promise(case: tuple[Kind, int], tmp_path: Path) -> None:
    kind, seed = case[0], case[1] or any_seed()
    with anyio.fail_after(BOUND_S):
        verdict = await run_round(seed, tmp_path, kind)
    assert not verdict.faults, f"BETCODE_KIND={kind.name} BETCODE_SEED={seed} shows it again\n{verdict}"


@pytest.mark.skipif(not SOAK, reason="many rounds take long: make soak")
async def test_many_rounds_of_random_faults_break_no_promise(tmp_path_factory: pytest.TempPathFactory) -> None:
    root = tmp_path_factory.mktemp("r")  # short: the path of a socket may have 107 characters
    first = int(SEED) if SEED else any_seed()
    print(f"\nrounds {first} to {first + ROUNDS - 1}, {JOBS} at a time")
    broken: dict[int, str] = {}
    left = iter(range(first, first + ROUNDS))
    done = 0
    began = time.monotonic()

    async def work() -> None:
        nonlocal done
        for seed in left:
            said = await one_round(seed, root / str(seed))
            done += 1
            if said:
                broken[seed] = said
                print(f"round {seed} is broken:\n{said}", flush=True)
            if done % 50 == 0:
                print(f"{done} rounds, {len(broken)} broken, {time.monotonic() - began:.0f} s", flush=True)

    async with anyio.create_task_group() as tasks:
        for _ in range(JOBS):
            tasks.start_soon(work)
    assert not broken, f"BETCODE_SEED={min(broken)} shows the first again; all that broke: {sorted(broken)}"


async def one_round(seed: int, root: Path) -> str:
    """A process for each round, so that rounds use all cores; what it said where a promise was broken."""
    environment = os.environ | {"PYTHONPATH": str(SUPPORT), "TMPDIR": str(root)}
    root.mkdir()
    with anyio.fail_after(BOUND_S * 2):
        command = [sys.executable, "-m", "support.rounds", str(seed)]
        ended = await anyio.run_process(command, env=environment, check=False, stderr=-2)
    if ended.returncode == 0:
        shutil.rmtree(root)
        return ""
    return ended.stdout.decode(errors="replace")


def test_a_seed_alone_decides_a_plan_and_plans_have_everything_in_them() -> None:
    plans = [make_plan(seed) for seed in range(300)]
    assert plans == [make_plan(seed) for seed in range(300)]
    assert len({str(plan) for plan in plans}) == len(plans)
    kinds = {type(step).__name__ for plan in plans for step in plan.steps}
    assert kinds >= {
        "Say",
        "Answer",
        "Cancel",
        "Close",
        "Compact",
        "Fork",
        "Watch",
        "Cut",
        "Kill",
        "Pause",
        "Hang",
        "DieEarly",
        "Stop",
        "DieAt",
        "FillDisk",
        "LockDatabase",
    }
    assert {step.target for plan in plans for step in plan.steps if isinstance(step, Kill)} == set(Target)
    assert {step.way for plan in plans for step in plan.steps if isinstance(step, Watch)} == set(Way)
    assert any(_says_twice(plan) for plan in plans)


def _says_twice(plan: Plan) -> bool:
    said = [step.message_id for step in plan.steps if isinstance(step, Say)]
    return len(said) > len(set(said))
