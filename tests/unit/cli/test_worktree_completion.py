"""Completion of worktrees and branches from files."""

import argparse
import os
from pathlib import Path

import pytest

from betcode.cli.completion.candidates import candidates
from betcode.cli.completion.scripts import complete
from betcode.cli.core.parser import build_parser
from support.git.repositories import git, make_repository


def words(parser: argparse.ArgumentParser, typed: list[str]) -> list[str]:
    return [word for word, _ in candidates(parser, typed)]


def test_names_in_gits_files_are_one_line_and_never_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shop = tmp_path / "shop"
    for name in ("two\nlines", "tab\there", "\x1b[31mred", os.fsdecode(b"\xff")):
        (shop / ".git" / "worktrees" / name).mkdir(parents=True)
        (shop / ".git" / "worktrees" / name / "HEAD").write_bytes(b"ref: refs/heads/" + os.fsencode(name))
    (shop / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    os.mkfifo(shop / ".git" / "packed-refs")
    monkeypatch.chdir(shop)
    assert complete(["worktree", "switch", ""]) == 0
    assert complete(["worktree", "create", ""]) == 0
    assert capsys.readouterr().out.splitlines() == ["main", "\ufffd"]


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
        assert words(parser, ["worktree", "switch", ""]) == ["fix/login", "main"]
        assert words(parser, ["run", "--worktree", "f"]) == ["fix/login"]
        assert words(parser, ["--worktree", "m"]) == ["main"]
        assert words(parser, ["worktree", "create", ""]) == [
            "far/loose",
            "far/packed",
            "free",
            "loose/one",
            "packed",
        ]
        assert words(parser, ["worktree", "create", "--ba"]) == ["--base"]
    monkeypatch.chdir(tmp_path)
    assert words(build_parser(), ["worktree", "switch", ""]) == []
