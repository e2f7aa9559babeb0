"""Detects git options that run or write something else."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from betcode.rules.syntax.commands import SimpleCommand, names

_TAKES_A_VALUE: Final = names(
    "-C -c --git-dir --work-tree --namespace --exec-path --config-env --attr-source --super-prefix"
)
_FLAGS: Final = names(
    "-p -P -h -v --paginate --no-pager --bare --no-replace-objects --no-lazy-fetch --no-optional-locks --no-advice "
    "--literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs --version --help --html-path --man-path"
)
# They start programs that their arguments or the configuration name, or write to a path that they are given.
_SUBCOMMANDS: Final = names(
    "archimport bundle citool config credential credential-cache credential-cache--daemon credential-store "
    "cvsexportcommit cvsimport cvsserver daemon difftool fast-export fast-import filter-branch filter-repo "
    "for-each-repo gui hook http-backend imap-send instaweb mailinfo mailsplit maintenance merge-file merge-index "
    "mergetool p4 receive-pack remote-ext remote-fd send-email shell submodule--helper svn upload-archive "
    "upload-pack web--browse"
)
_WORDS: Final[Mapping[str, frozenset[str]]] = {"bisect": frozenset({"run"}), "submodule": frozenset({"foreach"})}
_LETTERS: Final[Mapping[str, str]] = {
    "archive": "o", "bugreport": "o", "diagnose": "o", "clone": "cu", "difftool": "x",
    "format-patch": "o", "grep": "O", "rebase": "x",
}  # fmt: skip
_TRANSPORT = re.compile(r"(?:--[\w-]+=)?(?:ext|fd)::")  # an address that is a command
_LOOKS: Final = names("--get --get-all --get-regexp --list -l get list")  # what config does without changing anything
_WORDS_AT_MOST = 200  # that are treated as operands
_WITH_A_MESSAGE: Final = frozenset({"commit", "tag"})
_MESSAGE: Final = frozenset({"-m", "-am", "--message"})


def git_globals(command: SimpleCommand) -> tuple[int, ...]:
    """Return the words between `git` and its subcommand."""
    found: list[int] = []
    at = 1
    while at < len(command.words):
        value = command.words[at].value
        if value is None or not value.startswith("-"):
            break
        found.append(at)
        if value in _TAKES_A_VALUE and at + 1 < len(command.words):
            at += 1
            found.append(at)
        at += 1
    return tuple(found)


def strange_globals(command: SimpleCommand) -> bool:
    """Return whether an option before the subcommand takes an unknown number of words."""
    taken = False
    for number in git_globals(command):
        value = command.words[number].value or ""
        known = value in _FLAGS or value.partition("=")[0] in _TAKES_A_VALUE or value.startswith(("-c", "-C"))
        if not taken and not known:
            return True
        taken = not taken and value in _TAKES_A_VALUE
    return False


def risky_in_git(command: SimpleCommand) -> Iterator[int]:
    """Return the words of a git command that its options do not prove to be harmless."""
    before = git_globals(command)
    # A word with an unknown value may become several words, and the second of them the subcommand.
    yield from (number for number in before if (command.words[number].value or "-c").startswith("-c"))
    at = len(before) + 1
    if at >= len(command.words):
        return
    subcommand = command.words[at].value
    if subcommand is None:
        yield at
        return
    rest = [word.value or "" for word in command.words[at + 1 :]]
    if subcommand in _SUBCOMMANDS and not (subcommand == "config" and rest and rest[0] in _LOOKS):
        yield at
    letters, said = _LETTERS.get(subcommand, ""), _WORDS.get(subcommand, ())
    for number, value in enumerate(rest, at + 1):
        bundled = value.startswith("-") and not value.startswith("--") and any(letter in value for letter in letters)
        if bundled or _TRANSPORT.match(value) or value in said or (said and command.words[number].value is None):
            yield number


def is_operand(command: SimpleCommand, number: int) -> bool:
    """Return whether this word is no option, whatever its value: a path after `--`, or the message of a commit."""
    words = command.words
    at = len(git_globals(command)) + 1
    if number <= at or number > _WORDS_AT_MOST or words[at].value is None:
        return False
    before = words[number - 1].value
    if words[at].value in _WITH_A_MESSAGE and before in _MESSAGE and words[number].single:
        return True
    # After an option -- may be its value.
    return any(
        words[end].value == "--" and not (words[end - 1].value or "-").startswith("-") for end in range(at + 1, number)
    )
