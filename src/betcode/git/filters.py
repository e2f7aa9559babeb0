"""Overrides the filters that a repository's own settings define.

A filter (`filter.NAME.clean`, `smudge`, `process`) is a program that git runs on files. Anyone who may write
`.git/config` can define one, including an agent. So our calls use only the definitions of the user and of the machine,
where git-lfs is usually defined. A filter that the repository defines is not run, and its files are taken unchanged.
"""

from collections.abc import Mapping

LIST = ("config", "--null", "--show-scope", "--get-regexp", r"^filter\.")
_OWN_SCOPES = frozenset({"system", "global"})  # of the machine and the user
_DEFAULTS = {"clean": "", "smudge": "", "process": "", "required": "false"}
# Commands that use neither a worktree nor an index, and so run no filter. Writing an index does: entries as recent as
# the index are compared again.
_UNFILTERED = frozenset(
    {
        "--version",
        "branch",
        "cat-file",
        "commit-tree",
        "config",
        "for-each-ref",
        "ls-tree",
        "merge-base",
        "mktree",
        "reflog",
        "remote",
        "rev-list",
        "rev-parse",
        "symbolic-ref",
        "update-ref",
    }
)
_UNFILTERED_OF_WORKTREES = frozenset({"list", "lock", "prune", "unlock"})


def may_run_filters(command: str, *rest: str) -> bool:
    """Return whether git may run filters for a command."""
    if command == "worktree":
        return not rest or rest[0] not in _UNFILTERED_OF_WORKTREES
    return command not in _UNFILTERED


def overrides(listed: str) -> dict[str, str]:
    """Return settings that replace the repository's definitions by the user's; `listed` is the output of LIST."""
    own: dict[str, str] = {}
    theirs: set[str] = set()
    fields = listed.split("\0")
    for scope, entry in zip(fields[::2], fields[1::2], strict=False):
        key, _, value = entry.partition("\n")
        name, _, variable = key.removeprefix("filter.").rpartition(".")
        if scope not in _OWN_SCOPES:
            theirs.add(name)
        elif variable in _DEFAULTS:
            own[f"filter.{name}.{variable}"] = value
    return {
        key: own.get(key, default)
        for name in sorted(theirs)
        for variable, default in _DEFAULTS.items()
        for key in (f"filter.{name}.{variable}",)
    }


def with_settings(variables: Mapping[str, str], settings: Mapping[str, str]) -> dict[str, str]:
    """The variables of a call with further settings, which may be there already."""
    count = int(variables.get("GIT_CONFIG_COUNT", "0"))
    found = {**variables, "GIT_CONFIG_COUNT": str(count + len(settings))}
    for number, (name, value) in enumerate(settings.items(), count):
        found |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return found
