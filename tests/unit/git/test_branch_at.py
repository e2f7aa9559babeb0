"""The branch that is checked out somewhere, as git's files say it."""

from pathlib import Path

import pytest

from betcode.git.worktree_files import branch_at


def test_a_linked_worktree_has_a_branch_of_its_own(tmp_path: Path) -> None:
    git_dir = tmp_path / "main" / ".git" / "worktrees" / "one"
    git_dir.mkdir(parents=True)
    (git_dir / "HEAD").write_text("ref: refs/heads/one\n")
    (tmp_path / "main" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    below = tmp_path / "linked" / "below"
    below.mkdir(parents=True)
    (tmp_path / "linked" / ".git").write_text(f"gitdir: {git_dir}\n")
    assert (branch_at(str(below)), branch_at(str(tmp_path / "main"))) == ("one", "main")


@pytest.mark.parametrize(
    "head", ["", "ref: refs/heads/.invalid", "ref: refs/tags/x", "0123", "ref: refs/heads/" + "x" * 9999]
)
def test_what_names_no_branch_is_none(tmp_path: Path, head: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text(head)
    assert branch_at(str(tmp_path)) == branch_at(str(tmp_path), or_commit=True) == ""


def test_a_commit_that_is_checked_out_by_itself_is_told_on_wish(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text(f"{'0123456789' * 4}\n")
    assert (branch_at(str(tmp_path)), branch_at(str(tmp_path), or_commit=True)) == ("", "01234567")


def test_a_name_that_is_no_text_can_be_told_all_the_same(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_bytes(b"ref: refs/heads/caf\xe9\n")
    assert branch_at(str(tmp_path)) == "caf�"


def test_a_directory_that_is_gone_has_none(tmp_path: Path) -> None:
    assert branch_at(str(tmp_path / "gone")) == ""
