"""How often git is called: not once per worktree, and not at all where files and rows tell."""

import os
from pathlib import Path

import pytest

from integration.worktrees.conftest import Bench
from support.git.counted import CountedGit
from support.git.repositories import git
from support.git.worktree_sessions import a_new

pytestmark = pytest.mark.anyio


@pytest.fixture
def counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CountedGit:
    git_program = CountedGit(tmp_path / "programs")
    monkeypatch.setenv("PATH", f"{git_program.directory}:{os.environ['PATH']}")
    return git_program


async def test_git_is_not_called_once_per_worktree(
    counted: CountedGit, bench: Bench, repository: Path, tmp_path: Path
) -> None:
    for number in range(20):
        git(repository, "worktree", "add", "-q", "-b", f"b{number}", str(tmp_path / f"w{number}"))
    counted.calls()

    seen = await bench.worktrees.listed(str(repository))
    assert len(seen) == 21
    counted.calls()
    await bench.worktrees.listed(str(repository))
    assert counted.calls() == ["worktree list"]
    await bench.worktrees.listed("")
    assert counted.calls() == ["worktree list"]
    await bench.worktrees.switch(seen[3].row.id, a_new)
    assert counted.calls() == ["worktree list"]

    await bench.engine.create(a_new(tmp_path / "w7"))
    await bench.engine.create(a_new(worktree=seen[5].row.id))
    await bench.engine.create(a_new(repository), in_active_worktree=True)
    await bench.worktrees.repositories()
    assert counted.calls() == [], "files and rows tell"
    await bench.worktrees.branches(str(repository), remote=True)
    assert [call.split()[0] for call in counted.calls()] == ["for-each-ref"]
