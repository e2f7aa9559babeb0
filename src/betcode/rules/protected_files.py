"""Files that control what runs or is allowed later: a rule covers a change only if it names the file."""

import re
from collections.abc import Iterable
from typing import Final

from betcode.rules.globs import folded
from betcode.rules.rule import Rule
from betcode.rules.syntax.commands import names

_DIRECTORIES: Final = names(".git .claude .betcode .vscode .idea .husky .devcontainer")
_FILES: Final = names(
    ".bashrc .bash_profile .bash_login .bash_logout .profile .zshrc .zshenv .zprofile .zlogin .kshrc .inputrc "
    ".gitconfig .gitmodules .ripgreprc .npmrc .yarnrc .envrc .mcp.json .claude.json"
)
# Characters that Windows file systems, which others mount, ignore at the end of a name, and their short name for .git.
_TAIL = re.compile(r"(?:(?<=[^/.])[. ]+|:[^/]*)(?=/|$)")
_SHORT_NAMES: Final = {"git~1": ".git", "claude~1": ".claude"}
_OPEN: Final = names("commands agents skills worktrees")  # below .claude, where agents write files on request


def guarded_name(paths: Iterable[str], directories: Iterable[str] = ()) -> str | None:
    """The name that keeps a file from being changed under a rule that does not mention it."""
    directories = tuple(directories)
    for path in paths:
        for top in directories:
            if path == top or path.startswith(top.rstrip("/") + "/"):
                return top
        parts = [_SHORT_NAMES.get(part, part) for part in _TAIL.sub("", folded(path)).split("/")]
        for number, part in enumerate(parts[:-1]):
            if part in _DIRECTORIES and not (
                part == ".claude" and parts[number + 1] in _OPEN and number + 2 < len(parts)
            ):
                return part
        if parts[-1] in _FILES | _DIRECTORIES:
            return parts[-1]
    return None


def mentions(rule: Rule, name: str) -> bool:
    return name in (rule.specifier or "").casefold() or name in (rule.specifier or "")
