"""A clone whose files are elsewhere: a checkout fetches them, a look does not."""

import os
from pathlib import Path

import pytest

from betcode.domain.errors import GitFailed
from betcode.git.command import Git
from betcode.git.environment import MAY_FETCH
from support.git.repositories import git, make_repository

pytestmark = pytest.mark.anyio


async def test_only_a_checkout_fetches_what_is_missing(tmp_path: Path) -> None:
    there = make_repository(tmp_path / "there")
    git(there, "config", "uploadpack.allowFilter", "true")
    ssh = tmp_path / "bin" / "ssh"
    ssh.parent.mkdir()
    ssh.write_text(f'#!/bin/sh\necho x >> {tmp_path}/calls\nfor last; do :; done\nexec sh -c "$last"\n')
    ssh.chmod(0o755)
    how = ("clone", "-q", "--no-checkout", "--filter=blob:none")
    git(tmp_path, *how, f"ssh://localhost{there}", "shop", GIT_SSH_COMMAND=str(ssh), GIT_SSH_VARIANT="simple")
    (tmp_path / "calls").unlink()

    ours = Git({**os.environ, "HOME": str(tmp_path), "PATH": f"{ssh.parent}:{os.environ['PATH']}"})
    with pytest.raises(GitFailed):
        await ours.run("show", "HEAD:README", at=tmp_path / "shop")
    add = ("worktree", "add", "--detach", str(tmp_path / "new"))
    with pytest.raises(GitFailed):
        await ours.run(*add, at=tmp_path / "shop")
    assert not (tmp_path / "calls").exists()
    await ours.run("worktree", "prune", at=tmp_path / "shop")
    await ours.run(*add, at=tmp_path / "shop", variables=MAY_FETCH)
    assert (tmp_path / "new" / "README").read_text() == "hello\n"
