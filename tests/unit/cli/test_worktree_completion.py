"""Names of worktrees and branches are completed from files."""

from pathlib import Path

import pytest

from betcode.cli.candidates import candidates
from betcode.cli.parser import build_parser
from support.repositories import git, make_repository


def test_worktrees_and_branches_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = make_repository(tmp_path / "shop")
    for branch in ("fix/login", "packed", "free"):
        git(shop, "branch", branch)
    git(shop, "update-ref", "refs/remotes/origin/far/packed", "main")
    git(shop, "pack-refs", "--all")
    git(shop, "update-ref", "refs/remotes/origin/far/loose", "main")
    git(shop, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    git(shop, "branch", "loose/one")
    git(shop, "worktree", "add", "-q", "../shop-fix", "fix/login")
    for place in (shop, tmp_path / "shop-fix"):
        monkeypatch.chdir(place)
        parser = build_parser()
        assert candidates(parser, ["worktree", "switch", ""]) == ["fix/login", "main"]
        assert candidates(parser, ["run", "--worktree", "f"]) == ["fix/login"]
        assert candidates(parser, ["--worktree", "m"]) == ["main"]
        assert candidates(parser, ["worktree", "create", ""]) == [
            "far/loose",
            "far/packed",
            "free",
            "loose/one",
            "packed",
        ]
        assert candidates(parser, ["worktree", "create", "--ba"]) == ["--base"]
    monkeypatch.chdir(tmp_path)
    assert candidates(build_parser(), ["worktree", "switch", ""]) == []
