"""Everybody at once at the same worktrees, and daemons killed meanwhile: nothing is lost, and everything agrees.

`BETCODE_SOAK=1 BETCODE_ROUNDS=200 BETCODE_SEED=17` runs so many rounds, from that seed on.
"""

import os
import random
import shutil
from pathlib import Path

import pytest

from support.daemon.process import Daemon
from support.git.repositories import make_repository
from support.git.worktree_storm import Storm
from support.git.worktree_users import People

pytestmark = pytest.mark.anyio

SOAK = os.environ.get("BETCODE_SOAK") == "1"
ROUNDS = int(os.environ.get("BETCODE_ROUNDS", "50")) if SOAK else 1
SEED = int(os.environ.get("BETCODE_SEED", "1"))
OPERATIONS = int(os.environ.get("BETCODE_OPERATIONS", "25" if SOAK else "12"))

# It succeeds or fails by chance, and leaves something behind that is to be ended with it.
_HOOK = "sleep 1000 & test $(( $(cat README | wc -c) + $$ )) -ge 0; test $(($$ % 3)) -ne 0"
SETTINGS = {"worktree": {"setup_commands": [["sh", "-c", _HOOK]]}}


async def test_a_storm_over_worktrees_loses_nothing(tmp_path: Path) -> None:
    for seed in range(SEED, SEED + ROUNDS):
        root = tmp_path / str(seed)
        faults = await one_round(seed, root)
        assert not faults, f"BETCODE_SEED={seed} may show it again\n" + "\n".join(faults)
        shutil.rmtree(root)


async def one_round(seed: int, root: Path) -> list[str]:
    repositories = [make_repository(root / "w" / name) for name in ("shop", "mill")]
    daemon = Daemon(root / "d", settings=SETTINGS)
    chance = random.Random(seed)
    people = People(root / "w", repositories, chance)
    storm = Storm(daemon, people, chance)
    try:
        await daemon.start()
        await storm.run(OPERATIONS)
        await storm.look()
    finally:
        daemon.end_everything()
    if SOAK:
        print(seed, dict(sorted(people.counts.items())), flush=True)
    if storm.faults:
        print("\n".join([*people.told, daemon.log]))
    return storm.faults
