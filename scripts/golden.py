"""Write down the events that recordings give now. Read what changed before you believe it.

python scripts/golden.py

Writes each golden file that exists, and the outline of every recording.
"""

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from betcode.v1.agent_pb2 import AgentEvent
from support.recordings import acp, claude, codex
from support.recordings.outline import FILE, outline


def main() -> None:
    write_all(claude.GOLDEN, claude.recordings(), claude.replay)
    write_all(codex.GOLDEN, codex.recordings(), codex.replay)
    write_all(acp.GOLDEN, acp.recordings(), acp.replay)


def write_all(golden: Path, recordings: list[Path], replay: Callable[[Path], Iterable[AgentEvent]]) -> None:
    outlines = {}
    for path in recordings:
        events = list(replay(path))
        outlines[path.stem] = outline(events)
        if (target := golden / f"{path.stem}.json").exists():
            rows = ",\n".join(json.dumps(claude.shown(event), ensure_ascii=False, sort_keys=True) for event in events)
            write(target, f"[\n{rows}\n]\n" if rows else "[]\n")
    entries = ",\n".join(f"{json.dumps(name)}: {json.dumps(steps)}" for name, steps in sorted(outlines.items()))
    write(golden / FILE, f"{{\n{entries}\n}}\n")


def write(target: Path, text: str) -> None:
    if not target.exists() or target.read_text() != text:
        target.write_text(text)
        print(f"written: {target.parent.name}/{target.name}")


if __name__ == "__main__":
    main()
