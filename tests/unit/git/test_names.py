"""Names of branches are judged as git judges them, and before it hears of them."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from betcode.domain.errors import InvalidRequest
from betcode.git.names import check_branch, check_commit_words, check_worktree_name, is_branch_name, name_of_branch

_REFUSED = [
    "--upload-pack=x",
    "../x",
    "a/../../b",
    "x y",
    "-",
    "",
    "HEAD",
    "@{-1}",
    "a@{b",
    "a.lock",
    "a.lock/b",
    "a/.b",
    ".a",
    "a.",
    "a/",
    "/a",
    "a//b",
    "a\nb",
    "a\tb",
    "a\x7f",
    "a~1",
    "a^",
    "a:b",
    "a?",
    "a*",
    "a[b",
    "a\\b",
    "a..b",
]
_TAKEN = [
    "main",
    "feature/auth",
    "refs/heads/x",
    "a@",
    "@a",
    "a/-b",
    "a./b",
    "a{b}",
    "caf\u00e9",  # composed
    "cafe\u0301",  # and not
    "日本",
    "a\u202eb",
    "a\u00a0b",
    "$(id)",
    "a;b",
    "a'b\"c",
    "a.lockb",
    "HEAD/x",
]
# Two in three characters mean something to git.
_NASTY = st.text(st.sampled_from("ab/.@{}-~^:?*[\\ \t\n\x01\x7f\u00e9\u0301😀\u2028"), min_size=1, max_size=8)
_PIECES = st.sampled_from(["a", ".lock", "..", "@{", "/", "HEAD", "@", "-", ".", "refs/heads/", "{-1}", "\u00df"])
_NAMES = st.lists(st.one_of(_NASTY, st.lists(_PIECES, min_size=1, max_size=4).map("".join)), min_size=40, max_size=60)


def _as_git_sees(names: Sequence[str], at: Path) -> list[bool]:
    """One process for each, all of them at once."""
    quiet = {"cwd": at, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    asked = [subprocess.Popen(["git", "check-ref-format", "--branch", name], **quiet) for name in names]  # type: ignore[call-overload]
    return [process.wait() == 0 for process in asked]


@settings(max_examples=12, deadline=None)
@given(names=_NAMES)
def test_a_branch_is_what_git_takes_for_one(names: list[str]) -> None:
    # At the root, since @{-1} means something in a repository. A branch @ could be made and never be named again.
    expected = [taken and name != "@" for name, taken in zip(names, _as_git_sees(names, Path("/")), strict=True)]
    assert list(zip(names, map(is_branch_name, names), strict=True)) == list(zip(names, expected, strict=True))


def test_the_names_of_the_tables_are_what_git_says(tmp_path: Path) -> None:
    assert _as_git_sees(_TAKEN, tmp_path) == [True] * len(_TAKEN)
    assert _as_git_sees(_REFUSED, tmp_path) == [False] * len(_REFUSED)


@pytest.mark.parametrize("name", [*_REFUSED, "@", "a\0b", "a\udc80", "a" * 300, "é" * 101])
def test_what_is_no_branch_is_refused_in_a_sentence(name: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        check_branch(name)
    assert os.linesep not in refused.value.message
    assert len(refused.value.message) < 300
    refused.value.message.encode()  # it can be sent


@pytest.mark.parametrize("name", _TAKEN)
def test_a_branch_is_handed_on_as_it_is(name: str) -> None:
    assert check_branch(name) == name


@pytest.mark.parametrize(
    "name", ["a/b", "..", ".", "", "-x", ".hidden", "a b", "a\0", "a\n", "x" * 101, "a.lock", "a\udc80", "a\u202eb"]
)
def test_a_worktree_has_a_plain_name(name: str) -> None:
    with pytest.raises(InvalidRequest):
        check_worktree_name(name)


@pytest.mark.parametrize("branch", ["feature/auth", "a/b/c", "fix-1", "日本"])
def test_a_branch_gives_a_name_for_its_worktree(branch: str) -> None:
    assert check_worktree_name(name_of_branch(branch)) == branch.replace("/", "-")


@pytest.mark.parametrize(
    "words",
    ["", "-x", "--all", "a b", "a..b", "a...b", "HEAD:file", ":/fix", "^main", "a\nb", "a\0", "a\udc80", "x" * 300],
)
def test_a_base_is_one_commit_and_no_option(words: str) -> None:
    with pytest.raises(InvalidRequest):
        check_commit_words(words)


@pytest.mark.parametrize("words", ["main", "v1.2", "HEAD~3", "main^{commit}", "@{u}", "origin/main", "0" * 40])
def test_steps_from_a_commit_are_taken(words: str) -> None:
    assert check_commit_words(words) == words
