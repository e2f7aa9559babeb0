"""Runs the rounds of some seeds, for somebody who wants to see one again: python -m support.rounds 17 18"""

import sys
import tempfile
from pathlib import Path

import anyio

from support.providers.ledger import chosen_kind
from support.rounds.rounds import run_round


async def main(seeds: list[int]) -> int:
    broken = 0
    for seed in seeds:
        root = Path(tempfile.mkdtemp(prefix=f"round-{seed}-"))
        verdict = await run_round(seed, root, chosen_kind())
        broken += bool(verdict.faults)
        print(verdict if verdict.faults else f"round {seed}: kept ({verdict.starts} restarts, {verdict.events} events)")
        print(f"  {root}", flush=True)
    return broken


if __name__ == "__main__":
    sys.exit(anyio.run(main, [int(argument) for argument in sys.argv[1:]]))
