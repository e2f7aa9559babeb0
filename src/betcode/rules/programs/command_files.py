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
_NAMES_AT_MOST: Final = 2000  # each is looked up on disk
_TOO_MANY: Final = "it names more files than can be looked at, and there are rules about files"
# They do what the files of their directory say.
_BY_DIRECTORY: Final = names(
    "bun bundle cargo cmake composer deno git gmake go gradle gradlew just make mvn ninja nox npm npx nx pnpm poetry "
    "pre-commit pytest rake task tox turbo uv yarn"
)
_RELINKS: Final = names("bsdtar cp cpio link ln mount mv rsync tar unzip")
# Options that say where the other arguments begin.
_PLACES: Final = ("-C", "--directory", "--dir", "--cwd", "--chdir", "--work-tree", "--prefix")
_BEGINNING: Final = len("--pref")  # of an option that may stand for the whole


class TooManyNames(Exception):
    """A script names more files, in more places, than can be looked at in time."""


class Touched:
    """What a script reads and writes by name, and what it may reach."""

    def __init__(self, script: Script, rules: Rules, cwd: str | None) -> None:
        self._script = script
        self._rules = rules  # whose directories are looked up on disk, and so not before they are needed
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
        """Where relative names among the arguments may begin: an option may say so, and a link begins where it is."""
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
        """Why it cannot be told whether one of the rules about files forbids this."""
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
            return "it cannot be told in which directory it is, and there are rules about files"
        for word in script.writes + script.reads:
            if word.value is None and not is_at_home(word):
                return f"it cannot be told which file {word.written[:60]} is, and there are rules about files"
        if any(self._is_by_process(path, base) for _, path, bases in self._files() for base in bases):
            return "it cannot be told which file a name in /proc is, and there are rules about files"
        for part in script.all():
            if may_touch_anything(part) or self._mentions(part, lists):
                return f"it cannot be told which files {short(part)} is about, and there are rules about files"
            if (rule := self._reaches(part, lists)) is not None:
                return f"{short(part)} goes through a directory with what {rule.text} is about"
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
        """A rule for something below a directory that the command may go through."""
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
                # Names alone are free in the session's directory, and so is what a program not known here does in it.
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
                return f"what {name} is given mentions {word[:60]}, and there are rules about files"
        return None

    def guarded(self) -> Iterator[tuple[str, CommandNode]]:
        """Names of files that say what runs later or what is allowed, among those that a program is told to change.

        Raises:
            TooManyNames: not all of them could be looked at.
        """
        for part in self._script.all():
            for path in changed_by(part.command):
                for base in self._bases_of(part.command):
                    name = guarded_name(self._spellings(path, base), self._place.guarded)
                    if name is not None:
                        yield name, part

    def away(self) -> Iterator[tuple[str, CommandNode]]:
        """Commands that do what the files of their directory say, and one that is not the session's, as written.

        Raises:
            TooManyNames: not all of them could be looked at.
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
    """The command in a few words."""
    text = part.command.prefix + part.command.written
    return text if len(text) <= 60 else text[:59] + "…"


def _bases(script: Script, place: PathContext, start: str) -> Iterator[str]:
    """The directories that a relative name may be meant from: every change of directory may fail, or be left again."""
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
    """Where the script changes to, as written."""
    for part in script.all() if script.moves else ():
        words = part.command.words
        if part.command.name in _MOVES:
            yield (words[-1].value or words[-1].written) if len(words) > 1 else "~"


def _moves_unseen(command: SimpleCommand) -> bool:
    """Does it change to a directory that its words do not name?"""
    if command.name == "popd":
        return True
    if command.name not in _MOVES:
        return False
    target = command.words[-1].value if len(command.words) > 1 else "~" if command.name != "pushd" else "-"
    return bool((target or "").startswith(("-", "+"))) or any(found.name in PLACING for found in command.assignments)


def _places(command: SimpleCommand) -> list[str]:
    """Directories that options name as the place to begin at."""
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
    """Is it one of the options for a place, with one dash or two, or the beginning of one?"""
    name = option if len(option) == 2 else "--" + option.lstrip("-")
    return name in _PLACES or (len(name) >= _BEGINNING and any(known.startswith(name) for known in _PLACES))
