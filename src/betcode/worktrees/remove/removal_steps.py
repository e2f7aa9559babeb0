"""The progress of a removal or restore, written into the row before each step that a crash could interrupt."""

import json
from dataclasses import asdict, dataclass
from enum import StrEnum


class RemovalStep(StrEnum):
    BEGUN = "begun"  # nothing is deleted yet: it is rolled back
    GOING = "going"  # everything necessary is saved: it is finished
    RESTORING = "restoring"  # it is finished; until then the saved state remains


@dataclass(frozen=True, slots=True)
class Removal:
    id: str  # of the saved state
    step: RemovalStep
    aside: str = ""  # where the directory is moved before it is deleted
    has_kept: bool = False  # there is something to restore

    def written(self) -> str:
        return json.dumps(asdict(self))


def removal_of(text: str) -> Removal | None:
    """Return the step; None if there is none, or it cannot be read."""
    try:
        facts = json.loads(text)
        return Removal(facts["id"], RemovalStep(facts["step"]), facts["aside"], facts["has_kept"])
    except (ValueError, KeyError, TypeError):
        return None
