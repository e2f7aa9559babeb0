"""Write down the events that recordings give now. Read what changed before you believe it.

python scripts/golden.py

Writes each golden file that exists, and the outline of every recording.
"""

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import anyio

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from betcode.v1.agent_pb2 import AgentEvent
from support.recordings import acp, claude, codex, openai, openclaw
from support.recordings.outline import FILE, outline


def main() -> None:
    write_all(claude.GOLDEN, claude.recordings(), claude.replay)
    write_all(codex.GOLDEN, codex.recordings(), codex.replay)
    write_all(acp.GOLDEN, acp.recordings(), acp.replay)
    write_openai()
    write_openclaw()


def write_all(golden: Path, recordings: list[Path], replay: Callable[[Path], Iterable[AgentEvent]]) -> None:
    outlines = {}
    for path in recordings:
        events = list(replay(path))
        outlines[path.stem] = outline(events)
        if (target := golden / f"{path.stem}.json").exists():
            rows = ",\n".join(json.dumps(claude.shown(event), ensure_ascii=False, sort_keys=True) for event in events)
            write(target, f"[\n{rows}\n]\n" if rows else "[]\n")
    write_outlines(golden, outlines)


def write_openai() -> None:
    answers = {path.stem: anyio.run(openai.answers_of, path) for path in openai.recordings()}
    for path in claude.golden_files(openai.GOLDEN):
        write(path, json.dumps(answers[path.stem], indent=1) + "\n")
    write_outlines(openai.GOLDEN, {name: openai.outline_of(parts) for name, parts in answers.items()})


def write_openclaw() -> None:
    news = {path.stem: openclaw.news_of(path) for path in openclaw.RECORDINGS}
    for path in openclaw.GOLDEN.glob("*.jsonl"):
        write(path, openclaw.golden_text(news[path.stem]))
    write_outlines(openclaw.GOLDEN, {name: openclaw.outline_of(each) for name, each in news.items()})


def write_outlines(golden: Path, outlines: Mapping[str, Sequence[str]]) -> None:
    entries = ",\n".join(f"{json.dumps(name)}: {json.dumps(steps)}" for name, steps in sorted(outlines.items()))
    write(golden / FILE, f"{{\n{entries}\n}}\n")


def write(target: Path, text: str) -> None:
    if not target.exists() or target.read_text() != text:
        target.write_text(text)
        print(f"written: {target.parent.name}/{target.name}")


if __name__ == "__main__":
    main()
