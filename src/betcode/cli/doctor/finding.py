"""The findings of the doctor: one line each, with a fix."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from betcode.config.paths import Paths
from betcode.config.settings import Settings


class Level(StrEnum):
    OK = "ok"
    NOTE = "note"  # information; nothing must be done
    TROUBLE = "trouble"


@dataclass(frozen=True, slots=True)
class Finding:
    check: str
    level: Level
    says: str
    mend: str = ""


@dataclass(frozen=True, slots=True)
class Situation:
    """The input of the checks."""

    paths: Paths
    settings: Settings
    environ: Mapping[str, str]
    claude_bin: str
    now: float  # seconds since 1970


def ok(check: str, says: str) -> Finding:
    return Finding(check, Level.OK, says)


def note(check: str, says: str, mend: str = "") -> Finding:
    return Finding(check, Level.NOTE, says, mend)


def trouble(check: str, says: str, mend: str) -> Finding:
    return Finding(check, Level.TROUBLE, says, mend)
