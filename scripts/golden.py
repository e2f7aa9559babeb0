"""Write down the events that every recording gives now. Read what changed before you believe it.

python scripts/golden.py [NAME ...]
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from betcode.providers.claude import ClaudeProvider
from support.recordings import GOLDEN, SESSION, recordings, records_of, shown


def main(names: list[str]) -> None:
    GOLDEN.mkdir(parents=True, exist_ok=True)
    for path in recordings():
        if names and path.stem not in names:
            continue
        dialogue = ClaudeProvider().dialogue(SESSION, "")
        events = [shown(event) for record in records_of(path) for event in dialogue.receive(record)]
        rows = ",\n".join(json.dumps(event, ensure_ascii=False, sort_keys=True) for event in events)
        target = GOLDEN / f"{path.stem}.json"
        text = f"[\n{rows}\n]\n" if rows else "[]\n"
        if not target.exists() or target.read_text() != text:
            target.write_text(text)
            print(f"written: {target.relative_to(GOLDEN.parent.parent)}")


if __name__ == "__main__":
    main(sys.argv[1:])
