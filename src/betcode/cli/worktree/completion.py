"""Complete names of worktrees and branches from git's files, without a daemon or git."""

import argparse
import os
from collections.abc import Iterator
from contextlib import suppress

_HEADS = "refs/heads/"
_REMOTES = "refs/remotes/"
_MOST = 1000


class WorktreeArgument(argparse._StoreAction):
    """An argument that names a worktree, by its name or its branch."""

    @staticmethod
    def words() -> list[str]:
        return sorted(set(_checked_out(_common_directory(os.getcwd()))))  # noqa: PTH109 - quick


class BranchArgument(argparse._StoreAction):
    """An argument that names a local or remote branch that is not checked out."""

    @staticmethod
    def words() -> list[str]:
        common = _common_directory(os.getcwd())  # noqa: PTH109 - quick
        return sorted({*_branches(common)} - {*_checked_out(common)})[:_MOST]


def _common_directory(start: str) -> str:
    """Return git's directory of the surrounding repository; empty if there is none."""
    directory = start
    while True:
        git = f"{directory}/.git"
        if os.path.isdir(git):  # noqa: PTH112 - quick
            return git
        if text := _read(git):
            # A linked worktree: .git/worktrees/NAME of its repository.
            directory = os.path.join(directory, text.removeprefix("gitdir: "))  # noqa: PTH118 - quick
            return os.path.dirname(os.path.dirname(directory))  # noqa: PTH120 - quick
        parent = os.path.dirname(directory)  # noqa: PTH120 - quick
        if parent == directory:
            return ""
        directory = parent


def _checked_out(common: str) -> Iterator[str]:
    heads = [f"{common}/HEAD"]
    with suppress(OSError):  # there are no other worktrees
        heads += [f"{one.path}/HEAD" for one in os.scandir(f"{common}/worktrees")]
    for head in heads:
        text = _read(head)
        if text.startswith(f"ref: {_HEADS}"):
            yield text.removeprefix(f"ref: {_HEADS}")


def _branches(common: str) -> Iterator[str]:
    for line in _read(f"{common}/packed-refs").splitlines():
        yield from _branch(line.partition(" ")[2])
    for kind in (_HEADS, _REMOTES):
        for directory, _, files in os.walk(f"{common}/{kind}"):
            for file in files:
                yield from _branch(os.path.relpath(f"{directory}/{file}", common))


def _branch(ref: str) -> Iterator[str]:
    if ref.startswith(_HEADS):
        yield ref.removeprefix(_HEADS)
    elif ref.startswith(_REMOTES) and not ref.endswith("/HEAD"):
        yield ref.removeprefix(_REMOTES).partition("/")[2]


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace", opener=_at_once) as file:
            return file.read(4 * 1024 * 1024).rstrip("\n")
    except OSError:
        return ""


def _at_once(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)  # a named pipe would block until someone writes to it
