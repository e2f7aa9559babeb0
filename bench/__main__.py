"""`python -m bench [names...] [--quick] [--json]`: measure, and print the table."""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio
from rich.console import Console
from rich.table import Table

from bench import (
    asking,
    backlog,
    bursts,
    cancel,
    commands,
    deliveries,
    holding,
    intake,
    kinds,
    latency,
    memory,
    noting,
    paging,
    replay,
    restart,
    ruling,
    screen,
    searching,
    single,
    start,
    worktrees,
)
from bench.figure import Bench, Effort, Figure, Judged

BENCHES: Mapping[str, Bench] = {
    "latency": latency.measure,
    "intake": intake.measure,
    "deliveries": deliveries.measure,
    "replay": replay.measure,
    "single": single.measure,
    "start": start.measure,
    "holding": holding.measure,
    "restart": restart.measure,
    "cancel": cancel.measure,
    "memory": memory.measure,
    "backlog": backlog.measure,
    "commands": commands.measure,
    "searching": searching.measure,
    "rules": ruling.measure,
    "asking": asking.measure,
    "bursts": bursts.measure,
    "worktrees": worktrees.measure,
    "noting": noting.measure,
    "screen": screen.measure,
    "paging": paging.measure,
    "kinds": kinds.measure,
}
_WIDTH = 150  # where nobody says how wide it may be
_progress = Console(stderr=True, highlight=False)


def main(arguments: Sequence[str] | None = None) -> int:
    """0 unless a bench broke: how good the figures are is for people to judge."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which of: {', '.join(BENCHES)} (all)")
    parser.add_argument("--quick", action="store_true", help="a tenth of the work, once: does everything still run?")
    parser.add_argument("--json", action="store_true", help="one JSON object a line instead of the table")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in BENCHES]
    if unknown:
        parser.error(f"there is no {', '.join(unknown)}; there are {', '.join(BENCHES)}")
    load = os.getloadavg()[0]  # other work on the machine is the first thing to suspect
    figures: list[Figure] = []
    broken = 0
    for name in options.names or BENCHES:
        try:
            figures += anyio.run(_measured, name, options.quick)
        except Exception:  # noqa: BLE001 - the others are still worth having
            _progress.print_exception()
            broken += 1
    if options.json:
        for figure in figures:
            print(json.dumps(_as_json(figure)))
    else:
        console = Console()
        console = console if console.is_terminal else Console(width=_WIDTH)
        console.print(_table(figures, load))
    return 1 if broken else 0


async def _measured(name: str, quick: bool) -> list[Figure]:
    root = Path(tempfile.mkdtemp(prefix=f"bench-{name}-"))
    began = time.monotonic()
    _progress.print(f"{name} ...")
    try:
        effort = Effort(quick, root, lambda text: _progress.print(f"  {name}: {text}"))
        figures = await BENCHES[name](effort)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    _progress.print(f"  {name}: {time.monotonic() - began:.0f} s")
    return figures


def _table(figures: Sequence[Figure], load: float) -> Table:
    caption = f"medians of several runs, on {os.cpu_count()} cores; before the first the load was {load:.1f}"
    table = Table(title="What it costs", caption=caption, title_justify="left", caption_justify="left")
    for heading in ("what", "baseline", "measured", "ratio", "target", "reached"):
        table.add_column(heading, justify="left" if heading in ("what", "target", "reached") else "right")
    for figure in figures:
        table.add_row(
            figure.name + (f" ({figure.note})" if figure.note else ""),
            f"{_number(figure.baseline)} {figure.unit}\n[dim]{figure.baseline_is}[/dim]",
            f"{_number(figure.measured)} {figure.unit}",
            f"{figure.ratio:.2f}" if figure.ratio is not None else "-",
            _target(figure),
            "[green]yes[/green]" if figure.reached else "[red]no[/red]",
        )
    return table


def _target(figure: Figure) -> str:
    match figure.judged:
        case Judged.OVER_BASELINE:
            return f"at most {_number(figure.target)} {figure.unit} over the baseline"
        case Judged.SHARE_OF_BASELINE:
            return f"at least {figure.target:.0%} of the baseline"
        case Judged.AT_MOST | Judged.AT_LEAST:
            return f"{figure.judged.value} {_number(figure.target)} {figure.unit}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.3g}"


def _as_json(figure: Figure) -> dict[str, object]:
    return {
        "name": figure.name,
        "unit": figure.unit,
        "baseline": figure.baseline,
        "baseline_is": figure.baseline_is,
        "measured": figure.measured,
        "ratio": figure.ratio,
        "target": _target(figure),
        "reached": figure.reached,
        "note": figure.note,
    }


if __name__ == "__main__":
    sys.exit(main())
