"""Who trusts a repository trusts its worktrees; and a link that only one side has gains nothing."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from betcode.domain.repositories.worktrees import SetupState
from betcode.engine.permissions.trust import Trust, claude_config
from betcode.git.links import repository_of_linked
from betcode.rules import ScreenOutcome, ToolUse, screen
from betcode.worktrees import CreateRequest
from integration.worktrees.conftest import Bench
from support.git.repositories import git, make_repository
from support.patience import PATIENCE_S
from support.rules.files import write_rules

pytestmark = pytest.mark.anyio


@pytest.fixture
def linked(repository: Path, tmp_path: Path) -> Path:
    git(repository, "worktree", "add", "-q", "-b", "fix", str(tmp_path / "fix ü\nplace"))
    return tmp_path / "fix ü\nplace"


async def test_rules_and_hooks_of_a_worktree_count_once_its_repository_is_trusted(
    bench: Bench, repository: Path, linked: Path, tmp_path: Path
) -> None:
    policy = bench.engine.policy
    write_rules(linked / ".claude" / "settings.json", allow=["Bash(make *)"])
    (linked / "deep").mkdir()
    use = ToolUse("Bash", {"command": "make it"})

    async def outcome() -> ScreenOutcome:
        book = await policy.rule_book(str(linked), {"HOME": str(tmp_path)})
        return (await book.file_io.inline_or_run(lambda: screen(use, book.rules))).outcome

    assert await outcome() is ScreenOutcome.ASK
    assert not await policy.is_trusted(str(linked))
    await policy.trust(str(repository), trusted=True, client="me")
    assert await outcome() is ScreenOutcome.ALLOW
    assert await policy.is_trusted(str(linked))
    assert await policy.is_trusted(str(linked / "deep"))
    await policy.trust(str(repository), trusted=False, client="me")
    assert await outcome() is ScreenOutcome.ASK
    assert not await policy.is_trusted(str(linked))


async def test_who_trusts_a_worktree_trusts_its_repository(bench: Bench, repository: Path, linked: Path) -> None:
    policy = bench.engine.policy
    assert await policy.trust(str(linked), trusted=True, client="me")
    assert [project.directory for project in await policy.trusted()] == [str(repository)]
    assert not await policy.trust(str(repository), trusted=True, client="me")
    assert await policy.is_trusted(str(repository))
    assert await policy.trust(str(linked), trusted=False, client="me")
    assert await policy.trusted() == []
    # One that was trusted by its own name, before it was a worktree, is no longer when somebody says so.
    (linked / ".git").rename(linked / "away")
    await policy.trust(str(linked), trusted=True, client="me")
    (linked / "away").rename(linked / ".git")
    assert await policy.project_of(str(linked), trusted=False) == str(linked)
    assert await policy.trust(str(linked), trusted=False, client="me")
    assert await policy.trusted() == []


def test_what_claude_code_was_told_of_a_repository_holds_for_its_worktrees(
    repository: Path, linked: Path, tmp_path: Path
) -> None:
    told = {"projects": {str(repository): {"hasTrustDialogAccepted": True}}}
    (tmp_path / ".claude.json").write_text(json.dumps(told))
    assert Trust(str(linked), None, claude_config({}, str(tmp_path))).read()
    assert not Trust(str(tmp_path), None, claude_config({}, str(tmp_path))).read()


def test_the_repository_of_a_worktree_is_found_by_files(repository: Path, linked: Path, tmp_path: Path) -> None:
    assert repository_of_linked(str(linked)) == str(repository)
    assert repository_of_linked(str(repository)) == ""
    assert repository_of_linked(str(tmp_path / "nowhere")) == ""
    # Through a link to either.
    (tmp_path / "way").symlink_to(linked)
    assert repository_of_linked(str(tmp_path / "way")) == str(repository)
    # Links as git 2.48 can write them, from one to the other.
    of_git = next((repository / ".git" / "worktrees").iterdir())
    (linked / ".git").write_text(f"gitdir: {os.path.relpath(of_git, linked)}\n")
    (of_git / "gitdir").write_text(f"{os.path.relpath(linked / '.git', of_git)}\n")
    assert repository_of_linked(str(linked)) == str(repository)
    # Of a bare repository it is git's directory.
    git(tmp_path, "clone", "-q", "--bare", str(repository), "shop.git")
    git(tmp_path / "shop.git", "worktree", "add", "-q", str(tmp_path / "of-bare"), "main")
    assert repository_of_linked(str(tmp_path / "of-bare")) == str(tmp_path / "shop.git")


def _to_the_git_directory(stranger: Path, repository: Path, linked: Path) -> None:
    (stranger / ".git").write_text(f"gitdir: {repository}/.git\n")


def _to_a_worktree_of_somebody_else(stranger: Path, repository: Path, linked: Path) -> None:
    (stranger / ".git").write_text((linked / ".git").read_text())


def _by_a_symlink_to_the_git_file(stranger: Path, repository: Path, linked: Path) -> None:
    (stranger / ".git").symlink_to(linked / ".git")


def _with_a_directory_of_its_own(stranger: Path, repository: Path, linked: Path) -> None:
    own = stranger / "own"
    own.mkdir()
    (stranger / ".git").write_text("gitdir: own\n")
    (own / "commondir").write_text(f"{repository}/.git\n")
    (own / "gitdir").write_text(f"{stranger}/.git\n")


def _with_worktrees_of_its_own(stranger: Path, repository: Path, linked: Path) -> None:
    own = stranger / "x" / ".git" / "worktrees" / "own"
    own.mkdir(parents=True)
    (stranger / ".git").write_text("gitdir: x/.git/worktrees/own\n")
    (own / "commondir").write_text(f"{repository}/.git\n")
    (own / "gitdir").write_text(f"{stranger}/.git\n")


def _with_worktrees_that_are_a_link(stranger: Path, repository: Path, linked: Path) -> None:
    (stranger / "x").mkdir()
    (stranger / "x" / "worktrees").symlink_to(repository / ".git" / "worktrees")
    name = next((repository / ".git" / "worktrees").iterdir()).name
    (stranger / ".git").write_text(f"gitdir: x/worktrees/{name}\n")


def _as_a_pipe(stranger: Path, repository: Path, linked: Path) -> None:
    os.mkfifo(stranger / ".git")


def _to_itself(stranger: Path, repository: Path, linked: Path) -> None:
    (stranger / ".git").write_text("gitdir: .git\n")


def _as_a_loop(stranger: Path, repository: Path, linked: Path) -> None:
    (stranger / ".git").symlink_to(".git")


def _with_a_nul(stranger: Path, repository: Path, linked: Path) -> None:
    (stranger / ".git").write_bytes(b"gitdir: \0\xff\n")


@pytest.mark.parametrize(
    "lie",
    [
        _to_the_git_directory,
        _to_a_worktree_of_somebody_else,
        _by_a_symlink_to_the_git_file,
        _with_a_directory_of_its_own,
        _with_worktrees_of_its_own,
        _with_worktrees_that_are_a_link,
        _as_a_pipe,
        _to_itself,
        _as_a_loop,
        _with_a_nul,
    ],
)
async def test_a_stranger_that_names_a_trusted_repository_gains_nothing(
    bench: Bench, repository: Path, linked: Path, tmp_path: Path, lie: Callable[[Path, Path, Path], None]
) -> None:
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    lie(stranger, repository, linked)
    policy = bench.engine.policy
    await policy.trust(str(repository), trusted=True, client="me")
    assert not await policy.is_trusted(str(stranger))
    assert await policy.trust(str(stranger), trusted=True, client="me")
    assert {project.directory for project in await policy.trusted()} == {str(repository), str(stranger)}


async def test_a_submodule_is_a_project_of_its_own(bench: Bench, repository: Path, tmp_path: Path) -> None:
    inner = make_repository(tmp_path / "inner")
    git(repository, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "module")
    await bench.engine.policy.trust(str(repository), trusted=True, client="me")
    assert not await bench.engine.policy.is_trusted(str(repository / "module"))


async def test_a_repository_that_names_a_trusted_place_as_its_own_has_no_setup_run(
    bench: Bench, repository: Path, tmp_path: Path
) -> None:
    """Whatever is taken for its main worktree: that of somebody else is trusted, this repository is not."""
    await bench.engine.policy.trust(str(repository), trusted=True, client="me")
    hostile = make_repository(
        tmp_path / "hostile", {".betcode/worktree-setup.sh": f"#!/bin/sh\ntouch {tmp_path}/ran\n"}
    )
    git(hostile, "config", "core.worktree", str(repository))
    wanted = CreateRequest(str(hostile / ".git"), "fix", create_branch=True, path=str(tmp_path / "new"))
    with anyio.fail_after(PATIENCE_S):
        seen = await bench.worktrees.create(wanted).result()
    [kept] = await bench.store.worktrees.repositories()
    await bench.store.worktrees.save_repository(replace(kept, path=str(repository)))
    with anyio.fail_after(PATIENCE_S):
        seen = await bench.worktrees.set_up(seen.row.id).result()
    assert seen.row.setup is SetupState.UNTRUSTED
    assert f"betcode policy trust {tmp_path / 'new'}" in seen.row.setup_note
    assert not (tmp_path / "ran").exists()
    await bench.engine.policy.trust(str(tmp_path / "new"), trusted=True, client="me")
    with anyio.fail_after(PATIENCE_S):
        assert (await bench.worktrees.set_up(seen.row.id).result()).row.setup is SetupState.DONE
    assert (tmp_path / "ran").exists()
