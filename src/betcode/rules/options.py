"""What is known of programs: options that make them run or write something else, and variables that change nothing."""

import re
from collections.abc import Mapping
from typing import Final

from betcode.rules.commands import Assignment, Command, Word, names

# A rule such as `git log *` was not meant for these: it covers them only where it spells them out.
RISKY: Final[Mapping[str, tuple[str, ...]]] = {
    "find": ("-delete", "-fprint", "-fprint0", "-fprintf", "-fls"),
    "fd": ("-x", "-X", "--exec", "--exec-batch"),
    "git": ("--exec-path", "--config-env", "--upload-pack", "--receive-pack", "--ext-diff", "--output", "--exec",
            "--open-files-in-pager", "--exec-batch", "--template", "--git-dir", "--work-tree"),
    "go": ("-exec", "-toolexec", "-vettool"),
    "hg": ("--config", "--debugger"),
    "man": ("-P", "--pager", "-H", "--html"),
    "printf": ("-v",),
    "rg": ("--pre", "--hostname-bin"),
    "rsync": ("-e", "--rsh", "--rsync-path"),
    "scp": ("-o", "-S", "-F", "-D"),
    "sed": ("-i", "--in-place"),
    "sftp": ("-o", "-S", "-F", "-D"),
    "sort": ("--compress-program", "-o", "--output"),
    "split": ("--filter",),
    "ssh": ("-o", "-F"),
    "tar": ("-I", "-F", "--checkpoint-action", "--to-command", "--use-compress-program", "--rsh-command",
            "--info-script", "--new-volume-script"),
    "tcpdump": ("-z",),
    "tree": ("-o",),
    "vim": ("-c", "--cmd", "-S"),
    "wget": ("--use-askpass", "-e", "--execute"),
    "zip": ("-TT", "--unzip-command"),
}  # fmt: skip
_GIT_TAKES_A_VALUE: Final = frozenset(
    {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"}
)
# Of its subcommands: the words behind them that run or write something else; none: they themselves do.
_GIT_RISKY: Final[Mapping[str, tuple[str, ...]]] = {
    "bisect": ("run",),
    "clone": ("-u", "-c", "--config"),
    "config": (),
    "daemon": (),
    "difftool": ("-x", "--extcmd"),
    "filter-branch": (),
    "grep": ("-O",),
    "hook": (),
    "rebase": ("-x",),
    "send-email": (),
    "submodule": ("foreach",),
}
_GIT_CONFIG_READS: Final = frozenset({"--get", "--get-all", "--get-regexp", "--list", "-l", "get", "list"})

SAFE_VARIABLES: Final = names(
    "CGO_ENABLED CI CLICOLOR CLICOLOR_FORCE COLORTERM COLUMNS DEBUG FORCE_COLOR GO111MODULE GOARCH GOOS "
    "LANG LANGUAGE LC_ALL LC_COLLATE LC_CTYPE LC_MESSAGES LC_NUMERIC LC_TIME LINES NODE_ENV NO_COLOR "
    "PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED RUST_BACKTRACE RUST_LOG TERM TZ VERBOSE"
)
_QUOTES = re.compile(r"[\"'\\]")
_EXPANDS = re.compile(r"[$`{*?\[]")
# A variable in small letters is the script's own, except for those that programs or zsh read.
_OWN_VARIABLE = re.compile(r"[a-z][a-z0-9_]*|_[a-z0-9_]+|[a-z]")
_READ_VARIABLES: Final = names(
    "all_proxy argv cdpath fignore fpath ftp_proxy histchars http_proxy https_proxy mailpath manpath "
    "module_path no_proxy path precmd preexec prompt psvar status watch zsh_eval_context"
)


def is_safe_for_a_program(name: str) -> bool:
    """May `NAME=value program` be taken for `program`?"""
    return name in SAFE_VARIABLES


def is_own_variable(name: str) -> bool:
    """May a script set it without changing what its programs do?"""
    return name in SAFE_VARIABLES or (bool(_OWN_VARIABLE.fullmatch(name)) and name not in _READ_VARIABLES)


def may_set_option(assigned: Assignment) -> bool:
    """Would a program take the variable's value for an option?"""
    return _QUOTES.sub("", assigned.written.partition("=")[2]).startswith("-")


def risky_words(command: Command) -> tuple[int, ...]:
    """Which words make a known program run or write something else."""
    name = (command.name or "").rpartition("/")[2]
    options = RISKY.get(name, ())
    found = [number for number, word in enumerate(command.words) if number and _may_be_one_of(word, options)]
    if name == "git":
        found += [number for number in git_globals(command) if (command.words[number].value or "").startswith("-c")]
        found += _risky_git_words(command)
    return tuple(sorted(set(found)))


def _risky_git_words(command: Command) -> list[int]:
    at = 1 + len(git_globals(command))
    values = [word.value or "" for word in command.words[at:]]
    options = _GIT_RISKY.get(values[0]) if values else None
    if options is None or (values[0] == "config" and values[1:2] and values[1] in _GIT_CONFIG_READS):
        return []
    if not options:
        return [at]
    return [at + number for number, word in enumerate(command.words[at:]) if number and _may_be_one_of(word, options)]


def _may_be_one_of(word: Word, options: tuple[str, ...]) -> bool:
    """Also where the shell has yet to put something into a word: what it begins with is told by how it is written."""
    if word.value is not None:
        return _is_one_of(word.value, options)
    known = _EXPANDS.split(_QUOTES.sub("", word.written), maxsplit=1)[0]
    if not known.startswith("-"):
        return bool(options) and word.written.startswith("{")
    return _is_one_of(known, options) or ("=" not in known and any(option.startswith(known) for option in options))


def _is_one_of(value: str, options: tuple[str, ...]) -> bool:
    for option in options:
        if value == option or value.startswith(option + "="):
            return True
        if not option.startswith("--") and len(option) == 2 and value.startswith(option):
            return True  # -ofile
        if (
            option.startswith("--")
            and value.startswith("--")
            and len(value) > 4
            and option.startswith(value.partition("=")[0])
        ):
            return True  # programs take a unique beginning for the whole
    return False


def git_globals(command: Command) -> tuple[int, ...]:
    """The words between `git` and its subcommand."""
    found: list[int] = []
    at = 1
    while at < len(command.words):
        value = command.words[at].value
        if value is None or not value.startswith("-"):
            break
        found.append(at)
        if value in _GIT_TAKES_A_VALUE and at + 1 < len(command.words):
            at += 1
            found.append(at)
        at += 1
    return tuple(found)
