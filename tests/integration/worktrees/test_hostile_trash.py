"""Refs below refs/betcode/trash that somebody else wrote: any repository may have them, and they may say anything."""

import json
import stat
from contextlib import suppress
from pathlib import Path

import pytest

from betcode.config.settings import Settings, WorktreeSettings
from betcode.domain.errors import GitFailed, InvalidRequest
from betcode.domain.repositories.worktrees import WorktreeState
from betcode.worktrees import CreateRequest
from betcode.worktrees.remove.expiry import expire
from integration.worktrees.conftest import Bench
from support.git.repositories import git, make_repository

pytestmark = pytest.mark.anyio
_ID = "01920000-0000-7000-8000-000000000001"


def foreign(repository: Path, identifier: str, message: str, tree: str = "HEAD^{tree}") -> str:
    """A ref like ours; its commit."""
    made = git(repository, "commit-tree", git(repository, "rev-parse", tree), "-m", f"betcode\n\n{message}")
    git(repository, "update-ref", f"refs/betcode/trash/{identifier}", made)
    return made


async def removed_with_a_key(bench: Bench, repository: Path) -> str:
    """A worktree that had a key was removed by force; the id of what was kept."""
    (repository / ".env").write_text("key")
    bench.worktrees.use(Settings(worktree=WorktreeSettings(bring_along=(".env",))))
    seen = await bench.worktrees.create(CreateRequest(str(repository), "fix", create_branch=True)).result()
    (Path(seen.row.path) / "notes").write_text("mine\n")
    return (await bench.worktrees.remove(seen.row.id, force=True, by="me")).removed_id


@pytest.mark.parametrize("message", ["", "x", "[]", "3", "[" * 100_000, '{"removed_at_ns": "x", "name": "\\ud800"}'])
async def test_whatever_such_a_ref_says_the_others_are_listed(bench: Bench, repository: Path, message: str) -> None:
    kept = await removed_with_a_key(bench, repository)
    foreign(repository, _ID, message)
    for name in ("x", f"{_ID}x", "a/b"):
        foreign(repository, name, '{"name": "x"}')
    found = await bench.worktrees.removed("")
    assert [each.id for each in found if each.id != _ID] == [kept]
    for each in found:
        each.text("name").encode()
    assert await expire(bench.worktrees._context, bench.worktrees._trash, 1) == 0


async def test_where_it_was_is_not_believed_and_what_it_names_is_checked(
    bench: Bench, repository: Path, tmp_path: Path
) -> None:
    free = tmp_path / "autostart"
    facts = {"name": "hostile", "path": str(free), "head": "--upload-pack=x", "removed_at_ns": 1, "worktree": "x" * 999}
    foreign(repository, _ID, json.dumps(facts))
    with pytest.raises(InvalidRequest, match="give its path"):
        await bench.worktrees.restore(str(repository), _ID, "")
    with pytest.raises(GitFailed, match="does not name the commit"):
        await bench.worktrees.restore(str(repository), _ID, str(tmp_path / "y"))
    assert not free.exists()
    assert not (tmp_path / "y").exists()
    assert "hostile" not in [each.row.name for each in await bench.worktrees.listed("")]


async def test_what_is_kept_privately_of_another_repository_is_neither_given_nor_dropped(
    bench: Bench, repository: Path, tmp_path: Path
) -> None:
    kept = await removed_with_a_key(bench, repository)
    hostile = make_repository(tmp_path / "hostile")
    git(hostile, "fetch", "-q", str(repository), "refs/betcode/trash/*:refs/betcode/trash/*")
    back = await bench.worktrees.restore(str(hostile), kept, str(tmp_path / "stolen"))
    assert back.row.state is WorktreeState.READY
    assert not (tmp_path / "stolen" / ".env").exists()
    foreign(hostile, kept, '{"removed_at_ns": 1}')
    await expire(bench.worktrees._context, bench.worktrees._trash, 2 + bench.worktrees._trash.keep_ns)
    assert git(hostile, "for-each-ref", "refs/betcode") == ""
    back = await bench.worktrees.restore(str(repository), kept, "")
    assert (Path(back.row.path) / ".env").read_text() == "key"


@pytest.mark.parametrize(
    "notes",
    ['{"modes": {"VICTIM": 511, "../../victim": 511, "../victim": 511}, "skipped": []}', "[]", "{", '{"modes": 3}'],
)
async def test_no_file_outside_gets_other_permissions(
    bench: Bench, repository: Path, tmp_path: Path, notes: str
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("key")
    victim.chmod(0o600)
    (tmp_path / "notes").write_text(notes.replace("VICTIM", str(victim)))
    blob = git(repository, "hash-object", "-w", str(tmp_path / "notes"))
    git(repository, "read-tree", "--empty", GIT_INDEX_FILE=str(tmp_path / "i"))
    git(repository, "update-index", "--add", "--cacheinfo", f"100644,{blob},notes", GIT_INDEX_FILE=str(tmp_path / "i"))
    tree = git(repository, "write-tree", GIT_INDEX_FILE=str(tmp_path / "i"))
    rest = git(repository, "commit-tree", tree, "-m", "x")
    head = git(repository, "rev-parse", "HEAD")
    foreign(repository, _ID, json.dumps({"name": "x", "head": head, "index": head, "rest": rest}))
    with suppress(GitFailed):
        await bench.worktrees.restore(str(repository), _ID, str(tmp_path / "new"))
    assert stat.S_IMODE(victim.stat().st_mode) == 0o600
