"""The parts of a shell command that rules use: words, commands, wrappers and redirected files."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum


def names(text: str) -> frozenset[str]:
    """A set of names from one text."""
    return frozenset(text.split())


@dataclass(frozen=True, slots=True)
class Word:
    written: str  # as it stands in the command
    value: str | None  # what the shell makes of it; None: only running it tells
    single: bool = True  # whatever its value, it is one word

    @property
    def plain(self) -> str:
        """The word with no more quoting than it needs, so that `gi""t` and `git` are one."""
        return self.written if self.value is None else shlex.quote(self.value)


def literal(value: str) -> Word:
    return Word(shlex.quote(value), value)


@dataclass(frozen=True, slots=True)
class Assignment:
    name: str
    written: str
    known: bool  # the value is plain text


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """One program and its arguments."""

    words: tuple[Word, ...]
    assignments: tuple[Assignment, ...] = ()

    @property
    def name(self) -> str | None:
        return self.words[0].value

    @property
    def base(self) -> str:
        """The program's name without its directory, and in small letters."""
        return (self.name or "").rpartition("/")[2].lower()

    @property
    def written(self) -> str:
        return " ".join([word.written for word in self.words])

    @property
    def plain(self) -> str:
        return " ".join([word.plain for word in self.words])

    @property
    def prefix(self) -> str:
        return "".join([assignment.written + " " for assignment in self.assignments])


class CommandKind(Enum):
    PLAIN = "plain"  # it is what it does
    THROUGH = "through"  # only what it starts matters: timeout, env, bash -c
    BOTH = "both"  # itself and what it starts: sudo, find -exec
    OPAQUE = "opaque"  # it starts something that cannot be told


@dataclass(frozen=True, slots=True)
class CommandNode:
    """A command and the commands that it starts in turn."""

    command: SimpleCommand
    kind: CommandKind = CommandKind.PLAIN
    inner: tuple["CommandNode", ...] = ()
    named: int = 0  # so many words, from the first, say what is started

    def all(self) -> Iterator["CommandNode"]:
        yield self
        for part in self.inner:
            yield from part.all()


@dataclass(frozen=True, slots=True)
class Script:
    """Everything a shell command would run, read and write."""

    parts: tuple[CommandNode, ...] = ()
    assignments: tuple[Assignment, ...] = ()  # that stand alone, and so hold for what follows
    writes: tuple[Word, ...] = ()  # targets of redirections
    reads: tuple[Word, ...] = ()
    moves: bool = False  # it changes directory, so that relative names mean something else
    texts: tuple[str, ...] = ()  # here-documents and here-strings, which a program may take for code

    def all(self) -> Iterator[CommandNode]:
        for part in self.parts:
            yield from part.all()


@dataclass(frozen=True, slots=True)
class Unclear:
    """A shell command that could not be taken apart, and why."""

    reason: str
