"""Command rules: `git status` matches exactly, `git *` and `git:*` match git with any arguments."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from betcode.rules.programs.git import git_globals
from betcode.rules.programs.options import risky_words
from betcode.rules.programs.wrappers import runs_nothing
from betcode.rules.rule import Rule
from betcode.rules.syntax.commands import CommandKind, CommandNode, Script, SimpleCommand
from betcode.rules.syntax.variables import is_safe_for_a_program
from betcode.rules.wildcards import starred

_STAR = re.compile(r"(?<!\\)\*")


@dataclass(frozen=True, slots=True)
class CommandPattern:
    rule: Rule
    literal: str  # the text before the first star, which is the fixed part of a rule
    expression: re.Pattern[str] | None  # None: exactly the literal

    def matches(self, form: str) -> bool:
        if not form.startswith(self.literal):
            return False
        return len(form) == len(self.literal) if self.expression is None else bool(self.expression.fullmatch(form))


def command_pattern(rule: Rule) -> CommandPattern:
    """Compile a command rule."""
    text = rule.specifier or "*"
    if text.endswith(":*"):
        text = text[:-2].rstrip() + " *"
    if not re.search(r"[\"'\\]", text):
        text = re.sub(r" +", " ", text)  # joined like the words of a command
    pieces = [piece.replace("\\*", "*") for piece in _STAR.split(text)]
    if len(pieces) == 1:
        return CommandPattern(rule, pieces[0], None)
    if len(pieces) == 2 and not pieces[1] and pieces[0].endswith(" "):
        literal = pieces[0].rstrip(" ")
        return CommandPattern(rule, literal, re.compile(re.escape(literal) + r"(?: .*)?", re.DOTALL))
    expression = starred([re.escape(piece) for piece in pieces], ".")
    return CommandPattern(rule, pieces[0], re.compile(expression, re.DOTALL))


def forbidden_forms(command: SimpleCommand) -> Iterator[str]:
    """Return the spellings of a command under which a deny or ask rule may match it."""
    yield command.written
    yield command.prefix + command.written
    plain = command.plain
    yield plain
    name = command.name
    if name is None:
        return
    base = name.rpartition("/")[2]
    rest = "".join([" " + word.plain for word in command.words[1:]])
    if base != name:
        yield base + rest
    if base.lower() != base:
        yield base.lower() + rest  # the same program where file names have no case
    if base == "git" and (skipped := git_globals(command)):
        kept = [word.plain for number, word in enumerate(command.words) if number and number not in skipped]
        yield " ".join(["git", *kept])


class CommandIndex:
    """Finds the rules for a command among many: exact ones by their text, others by their first word."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._exact: dict[str, CommandPattern] = {}
        self._by_word: dict[str, list[CommandPattern]] = {}
        self._others: list[CommandPattern] = []
        self._programs: set[str] = set()
        for rule in rules:
            pattern = command_pattern(rule)
            word, blank, _ = pattern.literal.partition(" ")
            self._programs.add(word.rpartition("/")[2].lower())
            if pattern.expression is None:
                self._exact.setdefault(pattern.literal, pattern)
            elif blank or pattern.expression.pattern.endswith("(?: .*)?"):
                self._by_word.setdefault(word, []).append(pattern)
            else:
                self._others.append(pattern)

    def __bool__(self) -> bool:
        return bool(self._exact or self._by_word or self._others)

    def matching(self, form: str) -> Iterator[CommandPattern]:
        if (exact := self._exact.get(form)) is not None:
            yield exact
        for pattern in self._by_word.get(form.partition(" ")[0], ()):
            if pattern.matches(form):
                yield pattern
        for pattern in self._others:
            if pattern.matches(form):
                yield pattern

    def may_know(self, command: SimpleCommand) -> bool:
        """May there be a rule for this program with some arguments?"""
        return bool(self._others) or (command.name or "").rpartition("/")[2].lower() in self._programs

    def exact(self, text: str) -> Rule | None:
        found = self._exact.get(text)
        return found.rule if found is not None else None

    def forbids(self, command: SimpleCommand) -> Rule | None:
        """A rule for the command in any of its forms."""
        for form in forbidden_forms(command):
            for pattern in self.matching(form):
                return pattern.rule
        return None

    def forbids_text(self, text: str) -> Rule | None:
        return next((pattern.rule for pattern in self.matching(text)), None)


def speaking_of(script: Script, indices: Sequence[CommandIndex]) -> list[Rule]:
    """Every rule that some command of the script matches."""
    forms = [form for part in script.all() for form in forbidden_forms(part.command)]
    return [pattern.rule for form in forms for index in indices for pattern in index.matching(form)]


def covering(part: CommandNode, indices: Sequence[CommandIndex]) -> tuple[Rule, ...] | None:
    """Return the rules that cover a command and everything that it starts; None if something is not covered."""
    if runs_nothing(part.command):
        return ()
    risky = any(risky_words(inner.command) for inner in part.all() if inner is not part)
    whole = _rule_for(part.command, None if risky or part.kind is CommandKind.OPAQUE else part.named, indices)
    if whole is not None or part.kind in (CommandKind.PLAIN, CommandKind.OPAQUE):
        return None if whole is None else (whole,)
    found: tuple[Rule, ...] = ()
    if part.kind is CommandKind.BOTH:
        outer = _rule_for(part.command, 0, indices)
        if outer is None:
            return None
        found = (outer,)
    for inner in part.inner:
        covered = covering(inner, indices)
        if covered is None:
            return None
        found += covered
    return found


def _rule_for(command: SimpleCommand, named: int | None, indices: Sequence[CommandIndex]) -> Rule | None:
    """Return a rule for the command that spells out its first `named` words (None: all) and its risky words."""
    words = max([named or 0, *(number + 1 for number in risky_words(command))])
    safe = all(assigned.known and is_safe_for_a_program(assigned.name) for assigned in command.assignments)
    prefixes = {"", command.prefix} if safe else {command.prefix}
    for prefix in sorted(prefixes):
        for form, spelled in _forms(command, prefix, max(words, 1 if prefix else 0)):
            for index in indices:
                for pattern in index.matching(form):
                    if pattern.expression is None or (named is not None and len(pattern.literal) >= spelled):
                        return pattern.rule
    return None


def _forms(command: SimpleCommand, prefix: str, words: int) -> Iterator[tuple[str, int]]:
    """Return the command as written and plainly quoted, each with the length of its first `words` words."""
    written, plain = command.written, command.plain
    first = " ".join([word.written for word in command.words[:words]])
    yield prefix + written, len(prefix) + len(first)
    if plain != written:
        first = " ".join([word.plain for word in command.words[:words]])
        yield prefix + plain, len(prefix) + len(first)
