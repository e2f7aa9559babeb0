"""The branch of a directory."""

import subprocess
from pathlib import Path

from betcode.tui.branch import branch_of


def test_a_branch_is_read_in_a_repository_below_it_and_in_a_worktree(tmp_path: Path) -> None:
    main, other = tmp_path / "main", tmp_path / "other"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C", str(main)]
    subprocess.run(["git", "init", "-q", "-b", "trunk", str(main)], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    subprocess.run([*git, "worktree", "add", "-q", "-b", "feature/one", str(other)], check=True)
    (main / "below").mkdir()
    assert branch_of(str(main / "below")) == "trunk"
    assert branch_of(str(other)) == "feature/one"
    subprocess.run([*git, "checkout", "-q", "--detach"], check=True)
    assert len(branch_of(str(main))) == 8


def test_a_directory_without_git_has_no_branch(tmp_path: Path) -> None:
    assert branch_of(str(tmp_path)) == ""
    (tmp_path / ".git").write_text("gitdir: nowhere\n")
    assert branch_of(str(tmp_path)) == ""
