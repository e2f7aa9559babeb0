"""The files that a shell command touches. Used to deny, never to allow."""

import posixpath
from collections.abc import Iterator, Sequence
from typing import Final

from betcode.rules.lists import RuleList, Rules
from betcode.rules.programs.inline_code import mentioned_in_code
from betcode.rules.programs.program_files import arguments, changed_by, edited_by, is_known, mentioned_by, read_by
from betcode.rules.programs.recursive_commands import goes_below
from betcode.rules.programs.uncertain_denials import (
    PLACING,
    is_at_home,
    leading_elsewhere,
    may_touch_anything,
    starts_nothing,
)
from betcode.rules.protected_files import guarded_name
from betcode.rules.rule import Rule
from betcode.rules.session_paths import PathContext, expanded, is_by_process, normal, spellings, within
from betcode.rules.syntax.commands import CommandNode, Script, SimpleCommand, names

_MOVES: Final = frozenset({"cd", "chdir", "pushd"})
_BASES_AT_MOST: Final = 32
_PLACES_AT_MOST: Final = 8
_NAMES_AT_MOST: Final = 2000  # each requires a lookup on disk
_TOO_MANY: Final = "it names more files than can be checked, and there are rules about files"
# They run what the files of their directory define.
_BY_DIRECTORY: Final = names(
    "bun bundle cargo cmake composer deno git gmake go gradle gradlew just make mvn ninja nox npm npx nx pnpm poetry "
    "pre-commit pytest rake task tox turbo uv yarn"
)
_RELINKS: Final = names("bsdtar cp cpio link ln mount mv rsync tar unzip")
# Options that set the base directory of the other arguments.
_PLACES: Final = ("-C", "--directory", "--dir", "--cwd", "--chdir", "--work-tree", "--prefix")
_BEGINNING: Final = len("--pref")  # of an option that may abbreviate the whole


class TooManyNames(Exception):
    """A script names more files, in more directories, than can be checked in time."""


class TouchedFiles:
    """The files that a script reads and writes by name, and those that it may reach."""

    def __init__(self, script: Script, rules: Rules, cwd: str | None) -> None:
        self._script = script
        self._rules = rules  # their directories are looked up on disk, and therefore only on demand
        self._place = place = rules.place
        self._spelled: dict[tuple[str, str], tuple[str, ...]] = {}
        self.bases = tuple(_bases(script, place, cwd or place.directory))

    def forbidden(self, listed: RuleList) -> Rule | None:
        """A rule against a file that the script names."""
        try:
            for tool, path, bases in self._files():
                for base in bases:
                    if (rule := listed.forbidden_path(tool, self._spellings(path, base))) is not None:
                        return rule
        except TooManyNames:
            pass  # which is why it will be unsure
        return None

    def _spellings(self, path: str, base: str) -> tuple[str, ...]:
        found = self._spelled.get((path, base))
        if found is None:
            if len(self._spelled) >= _NAMES_AT_MOST:
                raise TooManyNames
            found = self._spelled[path, base] = spellings(path, self._place, base)
        return found

    def _files(self) -> Iterator[tuple[str, str, tuple[str, ...]]]:
        """Files that a command names for reading or writing, and where their names may begin."""
        for tool, words in (("Edit", self._script.writes), ("Read", self._script.reads)):
            for word in words:
                yield tool, word.value if word.value is not None else word.written, self.bases
        for part in self._script.all():
            edited, read = edited_by(part.command), read_by(part.command)
            if edited or read:
                bases = self._bases_of(part.command)
                yield from (("Edit", path, bases) for path in edited)
                yield from (("Read", path, bases) for path in read)

    def _bases_of(self, command: SimpleCommand) -> tuple[str, ...]:
        """Return the base directories of relative arguments: an option may set one, and a link has its own."""
        more = _places(command)
        if len(more) > _PLACES_AT_MOST:
            raise TooManyNames
        if command.base == "ln" and len(command.words) > 2:
            last = command.words[-1].value or ""
            more = [*more, last, posixpath.dirname(last)]
        return self.bases + tuple(
            found for path in more for base in self.bases if (found := expanded(path, self._place, base)) is not None
        )

    def unsure(self, lists: Sequence[RuleList]) -> str | None:
        """Return why it is uncertain whether one of the rules about files forbids this."""
        try:
            return self._unsure(lists)
        except TooManyNames:
            return _TOO_MANY

    def _unsure(self, lists: Sequence[RuleList]) -> str | None:
        script = self._script
        name = next((found.name for found in script.assignments if found.name in PLACING), leading_elsewhere(script))
        if name is not None:
            return f"it sets {name}, and there are rules about files"
        if len(self.bases) >= _BASES_AT_MOST or any(_moves_unseen(part.command) for part in script.all()):
            return "its directory is unknown, and there are rules about files"
        for word in script.writes + script.reads:
            if word.value is None and not is_at_home(word):
                return f"the file that {word.written[:60]} names is unknown, and there are rules about files"
        if any(self._is_by_process(path, base) for _, path, bases in self._files() for base in bases):
            return "the file that a name in /proc leads to is unknown, and there are rules about files"
        for part in script.all():
            if may_touch_anything(part) or self._mentions(part, lists):
                return f"the files that {short(part)} uses are unknown, and there are rules about files"
            if (rule := self._reaches(part, lists)) is not None:
                return f"{short(part)} goes through a directory with files that {rule.text} covers"
        return self._unsure_code(lists)

    def _is_by_process(self, path: str, base: str) -> bool:
        return any(map(is_by_process, self._spellings(path, base)[:1]))

    def _mentions(self, part: CommandNode, lists: Sequence[RuleList]) -> bool:
        """Is a file that a rule is about among the arguments of a program that may do anything to it?"""
        mentioned = mentioned_by(part.command)
        return bool(mentioned) and any(
            self._is_by_process(path, base) or any(listed.forbidden_path("Edit", paths) for listed in lists)
            for base in self._bases_of(part.command)
            for path in mentioned
            if (paths := self._spellings(path, base))
        )

    def _reaches(self, part: CommandNode, lists: Sequence[RuleList]) -> Rule | None:
        """Return a rule for a path below a directory that the command may traverse."""
        command = part.command
        below = goes_below(command, is_known=is_known(command) or starts_nothing(command))
        if below is None:
            return None
        bases = self._bases_of(command)
        if below.writes_here:
            for base in bases:
                for listed in lists:
                    if (rule := listed.forbidden_to_write_below(self._spellings(base, base))) is not None:
                        return rule
        edited = edited_by(command)
        given = arguments(command) if is_known(command) else mentioned_by(command)
        for path in [*given, *(["."] if below.here else [])]:
            tool = "Edit" if below.edits or path in edited else "Read"
            for base in bases:
                paths = self._spellings(path, base)
                # Names are allowed in the session's directory, and so is the effect of an unknown program in it.
                if below.lists and within(paths, self._rules.directories):
                    continue
                for listed in lists:
                    if (rule := listed.forbidden_below(tool, paths, hidden=below.hidden)) is not None:
                        return rule
        return None

    def _unsure_code(self, lists: Sequence[RuleList]) -> str | None:
        name, words = mentioned_in_code(self._script)
        for word in words:
            absolute = expanded(word, self._place) if len(word) > 1 else None
            if absolute is not None and any(listed.forbidden_path("Edit", (normal(absolute),)) for listed in lists):
                return f"the code for {name} mentions {word[:60]}, and there are rules about files"
        return None

    def guarded(self) -> Iterator[tuple[str, CommandNode]]:
        """Return the names of files that control what runs or is allowed later, among those that a program changes.

        Raises:
            TooManyNames: not all of them could be checked.
        """
        for part in self._script.all():
            for path in changed_by(part.command):
                for base in self._bases_of(part.command):
                    name = guarded_name(self._spellings(path, base), self._place.guarded)
                    if name is not None:
                        yield name, part

    def away(self) -> Iterator[tuple[str, CommandNode]]:
        """Return commands that run what the files of their directory define, outside the session's directory, as
        written.

        Raises:
            TooManyNames: not all of them could be checked.
        """
        unseen = next((short(part) for part in self._script.all() if _moves_unseen(part.command)), None)
        for part in self._script.all():
            if part.command.base in _BY_DIRECTORY:
                if unseen is not None:
                    yield unseen, part
                for path in (self.bases[0], *_targets(self._script), *_places(part.command)):
                    for base in self.bases:
                        if path != self._place.directory and not within(
                            self._spellings(path, base), self._rules.directories
                        ):
                            yield path, part

    @property
    def relinks(self) -> bool:
        """May a name lead elsewhere once the script has begun?"""
        return any(part.command.base in _RELINKS for part in self._script.all())


def short(part: CommandNode) -> str:
    """Return an abbreviation of the command."""
    text = part.command.prefix + part.command.written
    return text if len(text) <= 60 else text[:59] + "…"


def _bases(script: Script, place: PathContext, start: str) -> Iterator[str]:
    """Return the possible base directories of a relative name: every change of directory may fail or be undone."""
    found = [start]
    yield start
    if not script.moves:
        return
    for target in _targets(script):
        more = [made for base in found if (made := expanded(target, place, base)) is not None]
        more = [made for made in dict.fromkeys(more) if made not in found]
        more = more[: _BASES_AT_MOST - len(found)]
        yield from more
        found += more


def _targets(script: Script) -> Iterator[str]:
    """Return the directories that the script changes to, as written."""
    for part in script.all() if script.moves else ():
        words = part.command.words
        if part.command.name in _MOVES:
            yield (words[-1].value or words[-1].written) if len(words) > 1 else "~"


def _moves_unseen(command: SimpleCommand) -> bool:
    """Return whether it changes to a directory that its words do not name."""
    if command.name == "popd":
        return True
    if command.name not in _MOVES:
        return False
    target = command.words[-1].value if len(command.words) > 1 else "~" if command.name != "pushd" else "-"
    return bool((target or "").startswith(("-", "+"))) or any(found.name in PLACING for found in command.assignments)


def _places(command: SimpleCommand) -> list[str]:
    """Return the directories that options name as the starting point."""
    found: list[str] = []
    for number, word in enumerate(command.words[1:], 1):
        value = word.value or word.written
        if not value.startswith("-"):
            continue
        name, equals, rest = value.partition("=")
        if equals and _says_where(name):
            found.append(rest)
        elif _says_where(name) and number + 1 < len(command.words):
            following = command.words[number + 1]
            found.append(following.value or following.written)
        elif value.startswith("-C") and len(value) > 2:
            found.append(value[2:])
    return found


def _says_where(option: str) -> bool:
    """Return whether it is one of the options for a directory, with one dash or two, or an abbreviation of one."""
    name = option if len(option) == 2 else "--" + option.lstrip("-")
    return name in _PLACES or (len(name) >= _BEGINNING and any(known.startswith(name) for known in _PLACES))
