"""What the smallest commands cost, and that they import nothing heavy."""

import subprocess
import sys
import time
from pathlib import Path

import anyio.to_thread

from bench.figure import Effort, Figure, Judged, median

_COMMANDS = {"--version": ["--version"], "--help": ["--help"], "completion": ["--complete", "session", ""]}
_HEAVY = ("grpc", "google.protobuf", "textual")


async def measure(effort: Effort) -> list[Figure]:
    runs = 5 if effort.quick else 21
    return await anyio.to_thread.run_sync(_measure, runs, effort)


def _measure(runs: int, effort: Effort) -> list[Figure]:
    betcode = str(Path(sys.executable).with_name("betcode"))
    figures: list[Figure] = []
    for name, arguments in _COMMANDS.items():
        effort.progress(f"betcode {name}")
        bare: list[float] = []
        ours: list[float] = []
        for _ in range(runs):
            bare.append(_took_ms([sys.executable, "-c", "pass"]))
            ours.append(_took_ms([betcode, *arguments]))
        heavy = _heavy_imports(betcode, arguments)
        note = f"imports {', '.join(heavy)}" if heavy else "imports nothing heavy"
        title = f"betcode {name}"
        figures.append(
            Figure(title, "python3 -c pass", median(bare), median(ours), 60, "ms", Judged.OVER_BASELINE, note)
        )
    return figures


def _took_ms(argv: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(argv, stdout=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - began) * 1e3


def _heavy_imports(betcode: str, arguments: list[str]) -> list[str]:
    told = subprocess.run(
        [sys.executable, "-X", "importtime", betcode, *arguments], capture_output=True, text=True, check=True
    ).stderr
    imported = {line.rsplit("|", 1)[-1].strip() for line in told.splitlines()}
    return [name for name in _HEAVY if name in imported]
