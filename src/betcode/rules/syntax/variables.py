"""Environment variables that can be set without changing what programs do."""

import re
from typing import Final

from betcode.rules.syntax.commands import names

SAFE_VARIABLES: Final = names(
    "CGO_ENABLED CI CLICOLOR CLICOLOR_FORCE COLORTERM COLUMNS DEBUG FORCE_COLOR GO111MODULE GOARCH GOOS "
    "LANG LANGUAGE LC_ALL LC_COLLATE LC_CTYPE LC_MESSAGES LC_NUMERIC LC_TIME LINES NODE_ENV NO_COLOR "
    "PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED RUST_BACKTRACE RUST_LOG TERM TZ VERBOSE"
)
# A variable in small letters is the script's own, except for those that programs or zsh read.
_OWN_VARIABLE = re.compile(r"[a-z][a-z0-9_]*|_[a-z0-9_]+|[a-z]")
_READ_VARIABLES: Final = names(
    "all_proxy argv cdpath fignore fpath ftp_proxy histchars http_proxy https_proxy mailpath manpath "
    "module_path no_proxy path precmd preexec prompt psvar status watch zsh_eval_context"
)
# They make a program start what they name, or another program than its name says.
_LEADING = re.compile(
    r"F?PATH|IFS|(?:BASH_)?ENV|SHELL|SHELLOPTS|BASHOPTS|PROMPT_COMMAND|PS[0-4]|(?:LD|DYLD)_\w+|VISUAL|TAR_OPTIONS"
    r"|MAKE(?:FLAGS|FILES)|LESS(?:OPEN|CLOSE)|\w*(?:PAGER|EDITOR|ASKPASS|BROWSER)|\w+_(?:COMMAND|RSH|SSH|WRAPPER)"
    r"|GIT_(?!AUTHOR_|COMMITTER_|TERMINAL_PROMPT|OPTIONAL_LOCKS|MERGE_AUTOEDIT)\w+"
)


def is_safe_for_a_program(name: str) -> bool:
    """May `NAME=value program` be taken for `program`?"""
    return name in SAFE_VARIABLES


def is_own_variable(name: str) -> bool:
    """May a script set it without changing what its programs do?"""
    return name in SAFE_VARIABLES or (bool(_OWN_VARIABLE.fullmatch(name)) and name not in _READ_VARIABLES)


def leads_elsewhere(name: str) -> bool:
    """Does it make programs start others, or decide which program a name is?"""
    return _LEADING.fullmatch(name.upper()) is not None
