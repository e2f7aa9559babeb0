"""What a wide rule does not mean to cover: options that run or write something else, and words that may be one."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from betcode.rules.commands import Command, Word, names
from betcode.rules.git import is_operand, risky_in_git
from betcode.rules.sed import is_harmless, scripts
from betcode.rules.variables import is_own_variable

_AWK: Final = (
    *("-f", "--file", "-i", "--include", "-l", "--load", "-E", "--exec"),
    *("-o", "--pretty-print", "-d", "--dump-variables", "-p", "--profile", "-D", "--debug"),
)
_VIM: Final = ("-c", "--cmd", "-S", "-s", "-u", "-w", "-W", "+")
# A rule such as `git log *` was not meant for these: it covers them only where it spells them out.
RISKY: Final[Mapping[str, tuple[str, ...]]] = {
    "awk": _AWK, "gawk": _AWK, "mawk": _AWK, "nawk": _AWK,
    "ex": _VIM, "gvim": _VIM, "nvim": _VIM, "vi": _VIM, "view": _VIM, "vim": _VIM, "vimdiff": _VIM,
    "fd": ("-x", "-X", "--exec", "--exec-batch"),
    "fdfind": ("-x", "-X", "--exec", "--exec-batch"),
    "find": ("-delete", "-fprint", "-fprint0", "-fprintf", "-fls"),
    "git": ("--exec-path", "--config-env", "--upload-pack", "--receive-pack", "--ext-diff", "--output", "--exec",
            "--open-files-in-pager", "--exec-batch", "--template", "--git-dir", "--work-tree", "--output-directory",
            "--extcmd", "--config", "--unsafe-paths", "--prefix"),
    "go": ("-exec", "-toolexec", "-vettool", "--exec", "--toolexec", "--vettool", "-o", "--o"),
    "hg": ("--config", "--debugger"),
    "less": ("+", "-o", "-O", "-k", "--log-file", "--LOG-FILE", "--lesskey-file", "--lesskey-src"),
    "make": ("--eval", "-E", "-f", "--file", "--makefile", "-C", "--directory", "-I", "--include-dir", "SHELL",
             ".SHELLFLAGS", "MAKEFLAGS", "MAKEFILES"),
    "man": ("-P", "--pager", "-H", "--html"),
    "more": ("+",),
    "printf": ("-v",),
    "rg": ("--pre", "--hostname-bin"),
    "rsync": ("-e", "--rsh", "--rsync-path", "-M", "--remote-option", "--log-file", "--daemon", "--config"),
    "scp": ("-o", "-S", "-F", "-D"),
    "sed": ("-i", "--in-place", "-f", "--file"),
    "sftp": ("-o", "-S", "-F", "-D", "-b"),
    "sort": ("--compress-program", "-o", "--output"),
    "split": ("--filter",),
    "ssh": ("-o", "-F", "-E", "-I"),
    "tar": ("-I", "-F", "--checkpoint-action", "--to-command", "--use-compress-program", "--rsh-command",
            "--rmt-command", "--info-script", "--new-volume-script", "--index-file"),
    "tcpdump": ("-z", "-w"),
    "test": ("-v", "-R"),
    "tree": ("-o",),
    "wget": ("--use-askpass", "-e", "--execute"),
    "zip": ("-T", "-TT", "--unzip-command"),
}  # fmt: skip
_LONG_WITH_ONE_DASH: Final = frozenset({"find", "go"})  # their letters are never bundled
_LETTERS: Final = {
    name: frozenset(option[1] for option in options if len(option) == 2 and option[0] == "-")
    for name, options in RISKY.items()
    if name not in _LONG_WITH_ONE_DASH
}
# The shell's own words that set what they name, and evaluate a subscript in the name.
_NAMING: Final = names("declare export getopts let local read readonly typeset unset")
_NAMING_OPTIONS: Final = names("-r -x -g -p -f -F -s -rx -xr -gx")
# The beginning of a word that is no option, whatever globs and braces in it come to.
_PLAIN_BEGINNING = re.compile(r"[\w./~][^$`]*", re.DOTALL)
# In a program of awk: it runs something, reads what it makes the name of, or writes; also a comparison looks so.
_AWK_ACTS = re.compile(r"system|getline|[|>@]")
_QUOTED_BEGINNING = re.compile(r'"[\w./]')


def risky_words(command: Command) -> tuple[int, ...]:
    """Which words make a known program run or write something else, or may do so for all that can be told."""
    name = (command.name or "").rpartition("/")[2]
    if name in _NAMING:
        return tuple(number for number, word in enumerate(command.words) if number and not _names_its_own(word))
    options = RISKY.get(name)
    if options is None:
        return ()
    letters = _LETTERS.get(name, frozenset())
    found = {
        number
        for number, word in enumerate(command.words)
        if number
        and (
            _may_be_risky(command, number, name)
            if word.value is None
            else _is_one_of(word.value, options) or _bundles(word.value, letters)
        )
    }
    found.update(_by_meaning(command, name))
    return tuple(sorted(found))


def _by_meaning(command: Command, name: str) -> Iterator[int]:
    """The words that are risky by more than being an option."""
    values = [word.value or "" for word in command.words]
    if name == "git":
        yield from risky_in_git(command)
    elif name == "sed":
        yield from (number for number, script in scripts(values) if not is_harmless(script))
    elif name == "tar" and len(values) > 1 and not _LETTERS[name].isdisjoint(values[1]):
        yield 1  # the first word needs no dash
    elif RISKY[name] is _AWK:
        yield from (number for number, value in enumerate(values) if number and _AWK_ACTS.search(value))


def _may_be_risky(command: Command, number: int, name: str) -> bool:
    """Could a word of unknown value be one of the program's risky options?"""
    if name == "printf":
        return number == 1 and not _begins_plainly(command.words[1])
    if name in ("sed", "ssh", "test") or RISKY[name] is _AWK:
        return True  # any word can be the script or the command
    if name == "git" and is_operand(command, number):
        return False
    return not _begins_plainly(command.words[number]) or (name == "tar" and number == 1)


def _begins_plainly(word: Word) -> bool:
    beginning = _QUOTED_BEGINNING.match if word.single else _PLAIN_BEGINNING.fullmatch
    return beginning(word.written) is not None


def _names_its_own(word: Word) -> bool:
    """Does it set one of the script's own variables, or is it an option that changes nothing?"""
    if word.value in _NAMING_OPTIONS:
        return True
    name, equals, _ = (word.written if word.value is None else word.value).partition("=")
    return (word.value is not None or bool(equals)) and is_own_variable(name)


def _bundles(value: str, letters: frozenset[str]) -> bool:
    """Is it a bundle of short options, one of which may be among the letters? Their values count as letters too."""
    return value[:1] == "-" and value[1:2] != "-" and not letters.isdisjoint(value)


def _is_one_of(value: str, options: tuple[str, ...]) -> bool:
    name = value.partition("=")[0]
    for option in options:
        if value == option or value.startswith(option + "="):
            return True
        if not option.startswith("--") and len(option) <= 2 and value.startswith(option):
            return True  # -ofile
        if option.startswith("--") and len(name) > 2 and option.startswith(name):
            return True  # programs take a unique beginning for the whole
    return False
