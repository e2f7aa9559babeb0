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
    written: str  # as written in the command
    value: str | None  # its value in the shell; None: known only when it runs
    single: bool = True  # it is one word, whatever its value

    @property
    def plain(self) -> str:
        """Return the word with minimal quoting, so that `gi""t` and `git` are equal."""
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
    PLAIN = "plain"  # the command itself matters
    THROUGH = "through"  # only what it starts matters: timeout, env, bash -c
    BOTH = "both"  # itself and what it starts: sudo, find -exec
    OPAQUE = "opaque"  # it starts something unknown


@dataclass(frozen=True, slots=True)
class CommandNode:
    """A command and the commands that it starts in turn."""

    command: SimpleCommand
    kind: CommandKind = CommandKind.PLAIN
    inner: tuple["CommandNode", ...] = ()
    named: int = 0  # the number of leading words that determine what is started

    def all(self) -> Iterator["CommandNode"]:
        yield self
        for part in self.inner:
            yield from part.all()


@dataclass(frozen=True, slots=True)
class Script:
    """Everything a shell command would run, read and write."""

    parts: tuple[CommandNode, ...] = ()
    assignments: tuple[Assignment, ...] = ()  # without a command, so that they apply to what follows
    writes: tuple[Word, ...] = ()  # targets of redirections
    reads: tuple[Word, ...] = ()
    moves: bool = False  # it changes directory, so that relative names refer to other files
    texts: tuple[str, ...] = ()  # here-documents and here-strings, which a program may take for code

    def all(self) -> Iterator[CommandNode]:
        for part in self.parts:
            yield from part.all()


@dataclass(frozen=True, slots=True)
class Unclear:
    """A shell command that could not be taken apart, and why."""

    reason: str
