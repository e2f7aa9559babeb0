"""Files of a project that make an agent run code, change its environment or ask less often."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum, auto


class Program(StrEnum):
    """The programs whose project files are known."""

    CLAUDE = auto()
    CODEX = auto()
    OPENCODE = auto()
    GEMINI = auto()


ALL_PROGRAMS = frozenset(Program)


class ProjectFiles(StrEnum):
    """How an agent treats the files of its project."""

    LOADED = "loaded"  # as the program does by default: nothing needs trust
    TRUSTED = "trusted"  # a person trusts the project
    IGNORED = "ignored"


@dataclass(frozen=True, slots=True)
class ProjectItem:
    """One file or directory of a project, and its effect on an agent."""

    program: Program
    path: str
    brings: str  # such as "hooks (Stop), environment (PATH)"
    can_be_ignored: bool = True  # the program can be started without it
    details: tuple[str, ...] = ()  # what would run, such as "hook Stop: make lint"; without secrets, at most 50
    detail_count: int = 0  # with those that are not in `details`
    content: str = ""  # a digest of its content

    def __str__(self) -> str:
        return f"{self.path}: {self.brings}"


def digest(items: Iterable[ProjectItem]) -> str:
    """Return a digest that changes when the project gets other items or a content changes; the order is irrelevant."""
    texts = sorted(f"{item}\0{item.content}" for item in items)
    return hashlib.sha256("\0".join(texts).encode("utf-8", "replace")).hexdigest()[:32]
