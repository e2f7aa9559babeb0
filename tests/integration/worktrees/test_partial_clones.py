"""A clone whose files are elsewhere: making and restoring fetch what is checked out, looking and removing do not."""

import os
from pathlib import Path

import pytest

from betcode.worktrees import CreateRequest
from integration.worktrees.conftest import Bench
from support.git.repositories import commit, git, make_repository

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("without", ["blob:none", "tree:0"])
async def test_what_git_has_dropped_meanwhile_is_fetched_by_a_restore(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, without: str
) -> None:
    there = make_repository(tmp_path / "there", {"deep/a": "1\n", "b": "2\n"})
    commit(there, {"b": "3\n"})
    git(there, "config", "uploadpack.allowFilter", "true")
    git(there, "config", "uploadpack.allowAnySHA1InWant", "true")
    calls, ssh = tmp_path / "calls", tmp_path / "bin" / "ssh"
    ssh.parent.mkdir()
    ssh.write_text(f'#!/bin/sh\necho x >> {calls}\nfor last; do :; done\nexec sh -c "$last"\n')
    ssh.chmod(0o755)
    how = ("clone", "-q", "--no-checkout", f"--filter={without}")
    git(tmp_path, *how, f"ssh://localhost{there}", "shop", GIT_SSH_COMMAND=str(ssh), GIT_SSH_VARIANT="simple")
    monkeypatch.setattr(bench.worktrees._context.git, "_environment", {**_environment(bench), "PATH": _path(ssh)})
    packs = tmp_path / "shop" / ".git" / "objects" / "pack"
    first = {*packs.iterdir()}

    seen = await bench.worktrees.create(CreateRequest(str(tmp_path / "shop"), "fix", create_branch=True)).result()
    place = Path(seen.row.path)
    fetched = {*packs.iterdir()} - first
    (place / "mine").write_text("mine\n")
    calls.unlink()
    assert (await bench.worktrees.inspect(seen.row.id)).untracked == ("mine",)
    gone = await bench.worktrees.remove(seen.row.id, force=True)
    assert not calls.exists(), "nothing is fetched to remove it"

    for each in fetched:  # as git repack --filter does
        each.unlink()
    back = await bench.worktrees.restore(str(tmp_path / "shop"), gone.removed_id, "")
    assert (back.row.trouble, git(place, "status", "--porcelain")) == ("", "?? mine")
    assert [(place / name).read_text() for name in ("deep/a", "b", "mine")] == ["1\n", "3\n", "mine\n"]


def _environment(bench: Bench) -> dict[str, str]:
    return bench.worktrees._context.git._environment


def _path(program: Path) -> str:
    return f"{program.parent}:{os.environ['PATH']}"
