"""Value types of worktree setup settings."""

import re
import shlex
from pathlib import PurePosixPath

from betcode.config.units import NotUnderstood
from betcode.config.value_types import ValueType

_MANY = 100
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FOR_A_SHELL = re.compile(r"[|&;<>$`()*?\n]|~/")
_ASK_A_SCRIPT = "without shell syntax: put that into .betcode/worktree-setup.sh"


def setup_commands() -> ValueType:
    """Parse commands, each a text without shell syntax or a list of words."""
    allowed = 'a list of commands such as ["npm install", ["make", "dev deps"]], ' + _ASK_A_SCRIPT

    def read(value: object) -> tuple[tuple[str, ...], ...]:
        if not isinstance(value, list) or len(value) > _MANY:
            raise NotUnderstood(allowed)
        return tuple(_words(command, allowed) for command in value)

    return ValueType(allowed, read, write=lambda value: [list(command) for command in value])


def _words(command: object, allowed: str) -> tuple[str, ...]:
    if isinstance(command, str):
        if _FOR_A_SHELL.search(command):
            raise NotUnderstood(allowed)
        try:
            words: list[object] = [*shlex.split(command)]
        except ValueError:  # a quotation mark that is not closed
            raise NotUnderstood(allowed) from None
    elif isinstance(command, list):
        words = command
    else:
        raise NotUnderstood(allowed)
    found = tuple(word for word in words if isinstance(word, str) and "\0" not in word)
    if not found or not found[0] or len(found) != len(words):
        raise NotUnderstood(allowed)
    return found


def variable_names() -> ValueType:
    allowed = 'a list of names of variables such as ["NVM_DIR"]'

    def read(value: object) -> tuple[str, ...]:
        if not isinstance(value, list) or len(value) > _MANY:
            raise NotUnderstood(allowed)
        if not all(isinstance(name, str) and _NAME.fullmatch(name) for name in value):
            raise NotUnderstood(allowed)
        return tuple(value)

    return ValueType(allowed, read, write=list)


def file_patterns() -> ValueType:
    """Patterns below a directory: relative, and never out of it."""
    allowed = 'a list of files below the repository such as [".env", "config/*.local.json"]'

    def read(value: object) -> tuple[str, ...]:
        if not isinstance(value, list) or len(value) > _MANY:
            raise NotUnderstood(allowed)
        if not all(isinstance(pattern, str) and _stays_below(pattern) for pattern in value):
            raise NotUnderstood(allowed)
        return tuple(value)

    return ValueType(allowed, read, write=list)


def _stays_below(pattern: str) -> bool:
    if not pattern or "\0" in pattern or pattern.startswith("~"):
        return False
    path = PurePosixPath(pattern)
    return not path.is_absolute() and ".." not in path.parts and ".git" not in path.parts and bool(path.parts)
