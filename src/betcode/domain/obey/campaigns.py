"""Campaigns: directories with an identity, in which sessions of the obey API run."""

import re
from dataclasses import dataclass
from pathlib import Path

from betcode.domain.values.text import is_valid

_PART_LENGTH = 1024
_IDENTIFIER = re.compile(r"[A-Za-z0-9_.:-]{1,256}")


@dataclass(frozen=True, slots=True)
class Campaign:
    """One that is registered, whose directory was seen to be a campaign's."""

    id: str
    name: str
    root: Path  # absolute, links followed
    type: str = ""  # product, research, tools, personal
    status: str = ""  # active, inactive, reference


def is_identifier(text: str) -> bool:
    """Whether programs of a campaign take it as an id: it stands in their environment and in file names."""
    return _IDENTIFIER.fullmatch(text) is not None


def is_name_of_a_part(text: str) -> bool:
    """Whether it may name a festival or a task: whatever a person can read in one line, so paths and nothing too."""
    return len(text) <= _PART_LENGTH and is_valid(text) and text.isprintable()
