"""Campaigns: directories with an identity, in which sessions of the obey API run."""

import re
from dataclasses import dataclass
from pathlib import Path

from betcode.domain.values.text import is_valid

_PART_LENGTH = 1024
_IDENTIFIER = re.compile(r"[A-Za-z0-9_.:-]{1,256}")


@dataclass(frozen=True, slots=True)
class Campaign:
    """A registered campaign whose directory was verified."""

    id: str
    name: str
    root: Path  # absolute, links followed
    type: str = ""  # product, research, tools, personal
    status: str = ""  # active, inactive, reference


def is_identifier(text: str) -> bool:
    """Return whether programs of a campaign accept it as an id: it is used in environments and file names."""
    return _IDENTIFIER.fullmatch(text) is not None


def is_name_of_a_part(text: str) -> bool:
    """Return whether it may name a festival or a task: any printable text on one line, including paths and the empty
    text.
    """
    return len(text) <= _PART_LENGTH and is_valid(text) and text.isprintable()
