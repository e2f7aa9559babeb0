"""Commands that process everything below a directory, from their arguments. Used to deny only."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from betcode.rules.syntax.commands import SimpleCommand, names


@dataclass(frozen=True, slots=True)
class _Descent:
    """Describes when a program descends into the directories among its arguments."""

    letters: str | None = None  # with one of these short options; None: always
    long: tuple[str, ...] = ()  # or with one of these
    takes: str = ""  # short options that take a value
    takes_long: frozenset[str] = frozenset()
    before: int | None = None  # so many operands are no directory, and with no more it begins where it is
    instead: tuple[str, ...] = ()  # with one of these options it has no such operand
    lists: bool = False  # it prints only names
    edits: bool = False
    writes: bool = False  # into the directory where it is
    hidden: tuple[str, ...] | None = None  # it skips names with a leading dot, unless one of these is given


_CONTEXT: Final = "--regexp --file --max-count --after-context --before-context --context"
_GREP: Final = _Descent(
    "rR",
    ("--recursive", "--dereference-recursive", "--directories=recurse", "recurse"),
    takes="ABCDdefm",
    takes_long=names(f"{_CONTEXT} --include --exclude --exclude-dir --exclude-from --label --devices --directories"),
    before=1,
    instead=("-e", "-f", "--regexp", "--file"),
)
_RG: Final = _Descent(
    takes="ABCEMTdfgjmrte",
    takes_long=names(
        f"{_CONTEXT} --glob --iglob --type --type-not --type-add --max-depth --sort --sortr --replace --threads "
        "--encoding --max-columns --max-filesize --engine --color --colors --ignore-file --path-separator"
    ),
    before=1,
    instead=("-e", "-f", "--regexp", "--file", "--files"),
    hidden=("-.", "--hidden", "-u", "--unrestricted", "-g", "--glob", "--iglob", "-uu", "-uuu"),
)
_GIT: Final = _Descent("", ("--no-index", "--untracked"), takes="ABCefm", takes_long=names(_CONTEXT), before=2)
_SEARCH: Final = _Descent(before=1)
_PACK: Final = _Descent()
_LIST: Final = _Descent(before=0, lists=True)
_CHANGE: Final = _Descent("R", ("--recursive",), edits=True)
_DESCENTS: Final[Mapping[str, _Descent]] = {
    **dict.fromkeys(("grep", "egrep", "fgrep", "zgrep"), _GREP),
    **dict.fromkeys(("ack", "ag", "ug", "ugrep"), _SEARCH),
    **dict.fromkeys(("7z", "7za", "7zr", "bsdtar", "rar", "rsync", "tar"), _PACK),
    **dict.fromkeys(("du", "fd", "fdfind", "find", "tree"), _LIST),
    **dict.fromkeys(("chgrp", "chmod", "chown"), _CHANGE),
    "cp": _Descent("rRa", ("--recursive", "--archive")),
    "cpio": _Descent(before=0),
    "diff": _Descent("r", ("--recursive",)),
    "git": _GIT,
    "ln": _Descent(edits=True),  # by another name
    "ls": _Descent("R", ("--recursive",), before=0, lists=True),
    "mv": _Descent(edits=True),
    "patch": _Descent(writes=True),
    "rg": _RG,
    "rm": _Descent("rR", ("--recursive",), edits=True),
    "scp": _Descent("r"),
    "unzip": _Descent(writes=True),
    "zip": _Descent("rR", ("--recurse-paths", "--recurse-patterns")),
}
# They take directories, but read only the directory itself.
_STAYS: Final = names(
    "cd chdir cksum cmp comm cut date df dirs expr file hash install jq mkdir nl od paste popd printf pushd "
    "readlink realpath rmdir sha1sum stat tac touch tr type umask unset wait which xxd"
)


@dataclass(frozen=True, slots=True)
class Below:
    """How a command descends into the directories among its arguments."""

    here: bool  # it begins where it is
    lists: bool
    edits: bool
    writes_here: bool
    hidden: bool  # names with a dot count


_ANYTHING: Final = Below(here=False, lists=True, edits=True, writes_here=False, hidden=True)


def goes_below(command: SimpleCommand, *, is_known: bool) -> Below | None:
    """Return how the command descends into directories; None if it does not. An unknown program may do anything."""
    descent = _DESCENTS.get(command.base)
    if descent is None:
        return None if is_known or command.base in _STAYS else _ANYTHING
    values = [word.value or "" for word in command.words[1:]]
    if descent is _GIT and "grep" not in values:
        return _ANYTHING
    if descent.letters is not None and not any(_has(value, descent.letters, descent.long) for value in values):
        return None
    here = descent.before is not None and len(_operands(values, descent)) <= (
        0 if any(_is_given(value, descent.instead) for value in values) else descent.before
    )
    hidden = descent.hidden is None or any(_is_given(value, descent.hidden) for value in values)
    return Below(here, descent.lists, descent.edits, descent.writes or _extracts(command.base, values), hidden)


def _extracts(base: str, values: list[str]) -> bool:
    first = values[0] if values else ""
    return base in ("bsdtar", "tar") and (
        (not first.startswith("--") and "x" in first)
        or any(len(value) > 3 and "--extract".startswith(value) for value in values)
        or any(value.startswith("-") and not value.startswith("--") and "x" in value for value in values)
    )


def _has(value: str, letters: str, long: tuple[str, ...]) -> bool:
    if value.startswith("--"):
        return any(option.startswith(value) and len(value) > 3 for option in long)
    return value in long or (value.startswith("-") and any(letter in value for letter in letters))


def _is_given(value: str, options: tuple[str, ...]) -> bool:
    """Return whether one of the options is given: by itself, with its value, or as a short one in a bundle."""
    if value.startswith("--"):
        return value.partition("=")[0] in options
    letters = [option[1] for option in options if len(option) == 2]
    return value.startswith("-") and any(letter in value for letter in letters)


def _operands(values: list[str], descent: _Descent) -> list[str]:
    found: list[str] = []
    skip = False
    for value in values:
        if skip:
            skip = False
        elif value.startswith("--"):
            skip = value in descent.takes_long
        elif value.startswith("-") and len(value) > 1:
            skip = value[-1] in descent.takes and not any(letter in descent.takes for letter in value[1:-1])
        else:
            found.append(value)
    return found
