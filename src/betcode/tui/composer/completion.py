"""Completion candidates for the word at the cursor: files, commands and sent messages. No I/O."""

import heapq
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol

from betcode.wording.terminal_text import clean, one_line

SHOWN = 50  # candidates; the list shows a few of them at a time
_PLAIN = re.compile(r"[\w./+\-=%@:~,]+")
_MENTION = re.compile(r'(?:^|(?<=[\s(\[]))@(?:"(?P<quoted>[^"\n]*)|(?P<bare>[^\s"]*))$')
_COMMAND = re.compile(r"(?P<slashes>//?)(?P<name>[^\s/]*)$")
_DESCRIBED = 120


class CompletionKind(Enum):
    FILE = auto()
    COMMAND = auto()
    HISTORY = auto()


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """The part of the draft from `start` to `end` that is completed, and the text to search for."""

    kind: CompletionKind
    query: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """One line of the list, and the text that it inserts."""

    shown: str
    inserted: str
    note: str = ""


class AgentCommand(Protocol):
    """A command of an agent; its name has no slash."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def argument_hint(self) -> str: ...


@dataclass(frozen=True, slots=True)
class ScreenCommand:
    """A command of the screen itself."""

    name: str
    description: str = ""
    argument_hint: str = ""


OWN_COMMANDS = (
    ScreenCommand("help", "all keys and commands"),
    ScreenCommand("sessions", "all sessions"),
    ScreenCommand("inbox", "all prompts that wait for you"),
    ScreenCommand("new", "a new session here"),
    ScreenCommand("rename", "give the session a name", "NAME"),
    ScreenCommand("fork", "a new session that continues from here"),
    ScreenCommand("export", "write the conversation to a file", "FILE"),
    ScreenCommand("compact", "have the agent summarize the conversation"),
    ScreenCommand("cancel", "interrupt the turn"),
    ScreenCommand("lock", "request the input lock, or hand it over"),
    ScreenCommand("attach", "attach a file to the next message", "FILE"),
    ScreenCommand("theme", "next theme"),
    ScreenCommand("quit", "quit; the agent keeps running"),
)
_OWN_NAMES = frozenset(command.name for command in OWN_COMMANDS)


def completion_at(text: str, cursor: int) -> CompletionRequest | None:
    """Return what can be completed at the cursor; None if nothing can."""
    before = text[:cursor]
    if command := _COMMAND.fullmatch(before):
        return (
            CompletionRequest(CompletionKind.COMMAND, before, 0, len(before)) if "\n" not in command["name"] else None
        )
    line_start = before.rfind("\n") + 1
    mention = _MENTION.search(before, line_start)
    if mention is None:
        return None
    query = mention["quoted"] if mention["quoted"] is not None else mention["bare"]
    return CompletionRequest(CompletionKind.FILE, query, mention.start(), cursor)


def own_command(text: str, agent_commands: Iterable[str]) -> tuple[str, str] | None:
    """Return the screen command in the draft and its argument; None if the draft is for the agent.

    If agent and screen have a command of the same name, `/name` is the agent's and `//name` the screen's.
    """
    first, newline, _ = text.strip().partition("\n")
    if newline or not first.startswith("/"):
        return None
    word, _, rest = first.partition(" ")
    name = word.lstrip("/")
    slashes = len(word) - len(name)
    if name not in _OWN_NAMES or slashes > 2 or (slashes == 1 and name in agent_commands):
        return None
    return name, rest.strip()


def command_candidates(query: str, agent_commands: Sequence[AgentCommand]) -> list[Candidate]:
    """Return the commands whose names begin with or contain the query, the agent's first."""
    slashes, name = ("//", query[2:]) if query.startswith("//") else ("/", query[1:])
    theirs = {command.name for command in agent_commands}
    offered: list[tuple[str, AgentCommand, str]] = [("/", command, "") for command in agent_commands if slashes == "/"]
    for command in OWN_COMMANDS:
        doubled = slashes == "//" or command.name in theirs
        offered.append(("//" if doubled else "/", command, "betcode: "))
    ranked = [
        (rank, number)
        for number, (_, command, _) in enumerate(offered)
        if (rank := _rank(name.lower(), command.name.lower())) is not None
    ]
    return [_command_candidate(*offered[number]) for _, number in sorted(ranked)[:SHOWN]]


def file_candidates(query: str, paths: Sequence[str]) -> list[Candidate]:
    """Return the matching paths, best first: file name, then any part, then single letters in order."""
    low = query.lower()
    letters = re.compile(".*?".join(map(re.escape, low)))
    ranked = ((rank, len(path), path) for path in paths if (rank := _file_rank(low, letters, path.lower())) is not None)
    return [Candidate(path, mention(path)) for _, _, path in heapq.nsmallest(SHOWN, ranked)]


def history_candidates(query: str, texts: Sequence[str]) -> list[Candidate]:
    """Return the sent messages that contain the query, in the given order."""
    low = query.strip().lower()
    found = (text for text in texts if low in text.lower())
    return [Candidate(one_line(text, 500), text) for text, _ in zip(found, range(SHOWN), strict=False)]


def mention(path: str) -> str:
    """Return the text that mentions the path; a directory stays open for more letters."""
    written = f"@{path}" if _PLAIN.fullmatch(path) else f'@"{path}"'
    return written.removesuffix('"') if path.endswith("/") else written + " "


def can_be_mentioned(path: str) -> bool:
    """Whether a name can be written into a message: no control characters, no quotes, valid text."""
    return '"' not in path and "\n" not in path and "\t" not in path and clean(path) == path


def _rank(typed: str, name: str) -> int | None:
    if name.startswith(typed):
        return 0
    return 1 if typed in name else None


def _file_rank(low: str, letters: "re.Pattern[str]", path: str) -> int | None:
    name = path.rstrip("/").rpartition("/")[2]
    if name.startswith(low):
        return 0
    if low in name:
        return 1
    if low in path:
        return 2
    if letters.search(name):
        return 3
    return 4 if letters.search(path) else None


def _command_candidate(mark: str, command: AgentCommand, owner: str) -> Candidate:
    hint = f" {one_line(command.argument_hint, 40)}" if command.argument_hint else ""
    note = owner + one_line(command.description, _DESCRIBED)
    return Candidate(f"{mark}{one_line(command.name, 60)}{hint}", f"{mark}{one_line(command.name, 200)} ", note)
