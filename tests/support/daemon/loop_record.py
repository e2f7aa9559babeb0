"""The calls that a daemon made on its event loop and that may block; see loop_calls/sitecustomize.py."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

_HOOK = Path(__file__).parent / "loop_calls"


@dataclass(frozen=True, slots=True)
class LoopCall:
    """One call, with the innermost frames of its stack first."""

    event: str
    subject: str
    stack: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.event} {self.subject}\n    " + "\n    ".join(self.stack)

    def is_below(self, *places: str) -> bool:
        """Whether a frame of its stack begins with one of these: a file, or a file and a function."""
        return any(frame.startswith(place) for frame in self.stack for place in places)


Allowed = Mapping[str, Callable[[LoopCall], bool]]


def recording_environment(record: Path) -> dict[str, str]:
    """What a daemon must be started with."""
    return {"PYTHONPATH": str(_HOOK), "BETCODE_TEST_LOOP_CALLS": str(record)}


def recorded_calls(record: Path, allowed: Allowed) -> list[LoopCall]:
    """The recorded calls that no entry of `allowed` covers."""
    lines = (json.loads(line) for line in record.read_text().splitlines())
    calls = (LoopCall(line["event"], line["subject"], tuple(line["stack"])) for line in lines)
    return [call for call in calls if not any(covers(call) for covers in allowed.values())]
