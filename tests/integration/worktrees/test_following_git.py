"""Whatever is done to worktrees with git or by hand, our list agrees with git's, and ids stay with their worktrees."""

import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from betcode.config.settings import EngineSettings
from betcode.domain.repositories.worktrees import WorktreeState
from betcode.engine import open_engine
from betcode.providers.demo.provider import DemoProvider
from betcode.worktrees import SeenWorktree, Worktrees
from integration.worktrees.conftest import Bench
from support.git.repositories import git, make_repository
from support.git.worktree_context import worktrees_of
from support.storage.rows import store_at

pytestmark = pytest.mark.anyio

_NAMES = ("a", "b", "c d")
_PLACES = (*_NAMES, "a/inner")


@dataclass
class World:
    """A repository, and which of our ids each path should have."""

    root: Path
    repository: Path
    ids: dict[Path, str] = field(default_factory=dict)  # of those that were there when somebody looked last
    moves: list[tuple[Path, Path]] = field(default_factory=list)  # since then; where it did not go anywhere, it is gone

    @property
    def listed(self) -> dict[Path, str]:
        """The worktrees that git has and that are there, with the branch of each."""
        found = {}
        for record in git(self.repository, "worktree", "list", "--porcelain", "-z").split("\0\0"):
            facts = dict(line.partition(" ")[::2] for line in record.split("\0") if line)
            if facts and Path(facts["worktree"]).joinpath(".git").exists():
                found[Path(facts["worktree"])] = facts.get("branch", "").removeprefix("refs/heads/")
        return found

    def chosen(self, step: Callable[["World", Path, str], None], place: str) -> Path:
        """Where a step is done: what is not made is one of those that are there, if any is."""
        there = sorted(each for each in self.listed if each != self.repository)
        if step is _add or not there:
            return self.root / place
        return there[_PLACES.index(place) % len(there)]


def _add(world: World, place: Path, branch: str) -> None:
    git(world.repository, "worktree", "add", "-q", "-f", "-B", branch, str(place))


def _remove(world: World, place: Path, _: str) -> None:
    git(world.repository, "worktree", "remove", "--force", str(place))
    world.moves.append((place, place))


def _delete(world: World, place: Path, _: str) -> None:
    shutil.rmtree(place)
    world.moves.append((place, place))


def _prune(world: World, _: Path, __: str) -> None:
    git(world.repository, "worktree", "prune")


def _move(world: World, place: Path, branch: str) -> None:
    target = world.root / f"moved-{branch}"
    if target.exists():
        return  # git would move it into that one
    git(world.repository, "worktree", "move", str(place), str(target))
    world.moves.append((place, target))


def _swap(world: World, place: Path, branch: str) -> None:
    other = next((each for each in world.listed if each not in (place, world.repository)), None)
    if other is None or other in place.parents or place in other.parents:
        return
    aside = world.root / "aside"
    if aside.exists():
        return
    for source, target in ((place, aside), (other, place), (aside, other)):
        git(world.repository, "worktree", "move", str(source), str(target))
        world.moves.append((source, target))


def _lock(world: World, place: Path, _: str) -> None:
    git(world.repository, "worktree", "lock", str(place))


def _look(_: World, __: Path, ___: str) -> None:
    pass


_STEPS: tuple[Callable[[World, Path, str], None], ...] = (
    _add, _add, _remove, _delete, _prune, _move, _swap, _lock, _look, _look
)  # fmt: skip
_steps = st.lists(
    st.tuples(st.sampled_from(_STEPS), st.sampled_from(_PLACES), st.sampled_from(_NAMES)), min_size=4, max_size=12
)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@example([(_swap, "a", "a"), (_remove, "a", "a"), (_add, "a", "a")])
@given(_steps)
async def test_the_list_agrees_with_git_and_ids_are_stable(
    steps: list[tuple[Callable[[World, Path, str], None], str, str]],
) -> None:
    with tempfile.TemporaryDirectory(prefix="following-") as root:
        await _play(Path(root).resolve(), steps)


async def _play(root: Path, steps: list[tuple[Callable[[World, Path, str], None], str, str]]) -> None:
    world = World(root, make_repository(root / "shop"))
    async with (
        store_at(root / "log.db") as store,
        open_engine(store, {"demo": DemoProvider()}, EngineSettings(), root / "runs") as engine,
        worktrees_of(store, engine, root) as worktrees,
    ):
        for name in _NAMES[:2]:
            _add(world, root / name, name)
        await _check(world, worktrees)
        for step, place, name in steps:
            try:
                step(world, world.chosen(step, place), f"branch-{name.replace(' ', '')}")
            except (OSError, subprocess.CalledProcessError):
                continue  # git does not do that either
            if step is _look:
                await _check(world, worktrees)
        await _check(world, worktrees)


async def _check(world: World, worktrees: Worktrees) -> None:
    seen = await worktrees.listed(str(world.repository))
    ready = {Path(each.row.path): each for each in seen if each.row.state is WorktreeState.READY}
    assert {path: each.row.branch for path, each in ready.items()} == world.listed
    assert len({each.row.name for each in seen}) == len(seen)
    assert len({each.row.id for each in seen}) == len(seen)
    _check_ids(world, ready)
    world.ids = {path: each.row.id for path, each in ready.items()}
    world.moves.clear()


def _check_ids(world: World, ready: dict[Path, SeenWorktree]) -> None:
    """Who was moved has kept its id, and who is where it was as well, unless another came to its place."""
    now = dict(world.ids)
    made_anew: set[Path] = set()  # since the last look: nobody can know where it went afterwards
    for source, target in world.moves:
        made_anew |= {path for path in now if source in path.parents}
        if source == target:
            made_anew.add(source)
            if now.get(source) != world.ids.get(source):
                now.pop(source, None)  # it came there since the last look and is gone: a new one there is not it
        elif source in now:
            identifier = now.pop(source)
            if source not in made_anew:
                now[target] = identifier
    for path, identifier in now.items():
        if path in ready:
            assert ready[path].row.id == identifier, path


@pytest.mark.parametrize("bare", [False, True], ids=["with-files", "bare"])
async def test_a_moved_repository_is_the_same_one(bench: Bench, repository: Path, tmp_path: Path, bare: bool) -> None:
    if bare:
        git(tmp_path, "clone", "-q", "--bare", "shop", "shop.git")
        repository = tmp_path / "shop.git"
    git(repository, "worktree", "add", "-q", "-b", "fix", str(tmp_path / "fix"))
    before = await bench.worktrees.listed(str(repository))
    moved = repository.rename(tmp_path / "moved")
    git(moved, "worktree", "repair", str(tmp_path / "fix"))
    after = await bench.worktrees.listed(str(moved))
    assert [each.row.id for each in after] == [each.row.id for each in before]
    assert after[0].repository.id == before[0].repository.id
    assert {each.row.state for each in after} == {WorktreeState.READY}
    shutil.copytree(moved, tmp_path / "copy", symlinks=True)
    copied = await bench.worktrees.listed(str(tmp_path / "copy"))
    assert not {each.repository.id for each in copied} & {each.repository.id for each in after}
