"""Write down the events that every recording gives now. Read what changed before you believe it.

python scripts/golden.py [NAME ...]
"""

import json
import sys
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from betcode.providers.claude import ClaudeProvider
from betcode.v1.agent_pb2 import AgentEvent
from support import acp_recordings as acp
from support import codex_recordings as codex
from support.recordings import GOLDEN, SESSION, recordings, records_of, shown


def main(names: list[str]) -> None:
    for path in recordings():
        if not names or path.stem in names:
            dialogue = ClaudeProvider().dialogue(SESSION, "")
            write(GOLDEN / f"{path.stem}.json", (e for record in records_of(path) for e in dialogue.receive(record)))
    for path in codex.recordings():
        if not names or path.stem in names:
            write(codex.GOLDEN / f"{path.stem}.json", codex.replay(path))
    for path in acp.recordings():
        if not names or path.stem in names:
            write(acp.GOLDEN / f"{path.stem}.json", acp.replay(path))


def write(target: Path, events: Iterable[AgentEvent]) -> None:
    rows = ",\n".join(json.dumps(shown(event), ensure_ascii=False, sort_keys=True) for event in events)
    text = f"[\n{rows}\n]\n" if rows else "[]\n"
    if not target.exists() or target.read_text() != text:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        print(f"written: {target.parent.name}/{target.name}")


if __name__ == "__main__":
    main(sys.argv[1:])
