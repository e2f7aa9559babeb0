"""Commands for which it is uncertain whether a deny rule applies."""

import re
import shlex
from collections.abc import Iterator
from typing import Final

from betcode.rules.programs.git import is_operand, strange_globals
from betcode.rules.programs.options import risky_words
from betcode.rules.programs.program_files import TOUCHES_NO_FILES
from betcode.rules.syntax.commands import Assignment, CommandKind, CommandNode, Script, SimpleCommand, Word, names
from betcode.rules.syntax.variables import leads_elsewhere

# They start no other program, whatever their arguments are.
_STARTS_NOTHING: Final = names(
    "[ base64 basename cat cd chmod chown cksum cmp comm cp cut date df diff dirname du echo egrep expr false fgrep "
    "file grep head hexdump jq ln ls md5sum mkdir mv nl od paste printf pwd readlink realpath rm rmdir seq sha1sum "
    "sha256sum sleep stat strings tac tail tee test touch tr true uniq wc which xxd"
)
_SETTING: Final = names("declare export local read readonly typeset unset")
_SET = re.compile(r"-[rxgpfF]+|[A-Za-z_]\w*(?:=.*)?", re.DOTALL)  # nothing in it is evaluated
_WORDS_AT_MOST = 12  # of a command that may be started
# Variables that names depend on.
PLACING: Final = names("CDPATH HOME OLDPWD PWD")
_HARMLESS: Final = frozenset({"", ":", "cat", "less", "more", "true"})  # as a pager or an editor
_AT_HOME = re.compile(r"~(?:/[\w./+-]*)?")


def may_start_anything(part: CommandNode) -> bool:
    """May the command start another program, or be another one than it seems?"""
    command = part.command
    if command.name is None or part.kind is CommandKind.OPAQUE:
        return True
    if command.name in _SETTING:
        return not all(_SET.fullmatch(word.value or "") for word in command.words[1:])
    if risky_words(command):
        return True
    base = command.name.rpartition("/")[2]
    return (base == "git" and strange_globals(command)) or (not starts_nothing(command) and has_unknown(command))


def starts_nothing(command: SimpleCommand) -> bool:
    """Return whether it is a program that starts no other, whatever its arguments are."""
    return (command.name or "").rpartition("/")[2] in _STARTS_NOTHING


def leading_elsewhere(script: Script) -> str | None:
    """A variable set in the script that makes programs start others, or decides which program a name is."""
    for assigned in (*script.assignments, *(found for part in script.all() for found in part.command.assignments)):
        if leads_elsewhere(assigned.name) and _plain_value(assigned) not in _HARMLESS:
            return assigned.name
    for part in script.all():
        if part.command.name in _SETTING:
            for word in part.command.words[1:]:
                name, equals, value = (word.value or word.written).partition("=")
                if equals and leads_elsewhere(name) and value not in _HARMLESS:
                    return name
    return None


def _plain_value(assigned: Assignment) -> str | None:
    """Return the value of a variable as one text; None if unknown."""
    try:
        return " ".join(shlex.split(assigned.written.partition("=")[2])) if assigned.known else None
    except ValueError:
        return None


def possibly_started(command: SimpleCommand) -> Iterator[SimpleCommand | str]:
    """Return commands that an unknown program would start, if its arguments are a command."""
    for assigned in command.assignments:
        yield _plain_value(assigned) or ""
    if command.name is None or command.name == "git" or starts_nothing(command):
        return
    words = command.words
    for number in range(1, len(words)):
        yield SimpleCommand(words[number : number + _WORDS_AT_MOST])
        value = words[number].value or ""
        if " " in value:
            yield value
        if "=" in value:  # --call='…'
            yield value.partition("=")[2]


def may_touch_anything(part: CommandNode) -> bool:
    """May the command read or change a file that it does not name?"""
    command = part.command
    if command.name is None or part.kind is CommandKind.OPAQUE:
        return True
    if command.name in _SETTING:
        return may_start_anything(part) or any(
            (word.value or "").partition("=")[0] in PLACING for word in command.words
        )
    if command.name in TOUCHES_NO_FILES:
        return False
    return has_unknown(command) or bool(risky_words(command))


def has_unknown(command: SimpleCommand) -> bool:
    """Return whether any word has an unknown value, other than the text of a message."""
    return any(
        word.value is None and not is_at_home(word) and not (command.name == "git" and _is_message(command, number))
        for number, word in enumerate(command.words)
    )


def is_at_home(word: Word) -> bool:
    """Is it a plain path below the user's home?"""
    return bool(_AT_HOME.fullmatch(word.written))


def _is_message(command: SimpleCommand, number: int) -> bool:
    return command.words[number].single and command.words[number - 1].value != "--" and is_operand(command, number)
