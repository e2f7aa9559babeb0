"""The environment of git and its children, independent of the repository's own settings.

A repository's settings may name programs, and an agent that may write a file may write those settings. So every call
overrides each setting that would start a program, disables hooks, and fetches nothing. Filters that the user or the
machine defines still run, because files would differ without them (git-lfs); they see none of our variables. Filters
that a repository defines do not run (`filters.py`).
"""

import os
from collections.abc import Mapping
from types import MappingProxyType

# Variables that git needs to find itself, its user and that user's settings. Nothing from a client, no keys, and no
# GIT_* of the daemon's parent: GIT_DIR or GIT_INDEX_FILE would make it work on another repository.
_PASSED_ON = ("HOME", "USER", "LOGNAME", "XDG_CONFIG_HOME", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR")
_FIXED = {
    "LC_ALL": "C.UTF-8",  # its messages are parsed, and shown
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "/bin/false",
    "SSH_ASKPASS": "/bin/false",
    "GIT_SSH_COMMAND": "/bin/false",
    "GIT_OPTIONAL_LOCKS": "0",  # reading takes no lock that would disturb a person's work
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "/bin/false",
    "GIT_SEQUENCE_EDITOR": "/bin/false",
    # A partial clone fetches missing objects by a command in its settings. Old versions know only the second variable.
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
}
# For a checkout in a partial clone, whose files are remote: by protocols for which no setting names a program.
MAY_FETCH: Mapping[str, str] = MappingProxyType(
    {"GIT_NO_LAZY_FETCH": "0", "GIT_ALLOW_PROTOCOL": "https:ssh", "GIT_SSH_COMMAND": "ssh -oBatchMode=yes"}
)
_HOOKS = ("post-checkout", "post-index-change", "reference-transaction", "pre-commit", "post-commit", "pre-auto-gc")
SETTINGS = (
    # Programs.
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    # Hooks that are settings (git 2.54) are turned off by what would start them (a later git), not one by one.
    *(f"hook.{event}.enabled=false" for event in _HOOKS),
    "core.pager=cat",
    "core.alternateRefsCommand=/bin/false",
    "credential.helper=",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "log.showSignature=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    # Files of the user's that a private index would touch.
    "core.splitIndex=false",
    # Settings that would change the output that is parsed.
    "core.quotePath=false",
    "advice.detachedHead=false",
    "color.ui=false",
    "color.diff=false",
    "color.status=false",
    "color.branch=false",
    "column.ui=never",
    "status.showUntrackedFiles=normal",
    "diff.ignoreSubmodules=none",
    "diff.relative=false",
    "diff.noprefix=false",
    "diff.mnemonicPrefix=false",
    "diff.orderFile=/dev/null",
    # Repositories are addressed by their git directory; with everything above that is safe.
    "safe.bareRepository=all",
)
# Programs that no setting turns off, by the command that would run them.
_QUIET = ("--no-ext-diff", "--no-textconv")
WORDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    dict.fromkeys(("diff", "diff-tree", "diff-index", "diff-files", "log", "show"), _QUIET)
)


def settings_of_a_call(settings: Mapping[str, str]) -> dict[str, str]:
    """Return settings as variables of one call; as arguments they would have to precede the command."""
    found = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (name, value) in enumerate(settings.items()):
        found |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return found


def environment_of(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables of every call, from those of the daemon."""
    passed = {name: environ[name] for name in _PASSED_ON if name in environ}
    return passed | {"PATH": _path(environ.get("PATH") or os.defpath)} | _FIXED


def _path(path: str) -> str:
    """Return PATH without relative entries: `git` could be a file of the repository."""
    return os.pathsep.join(part for part in path.split(os.pathsep) if part.startswith("/"))
