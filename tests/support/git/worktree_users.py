"""People who work in worktrees with their own git, whatever else goes on there.

What they write is told from everything else by its name and its words, so that it can be looked for afterwards.
"""

import random
import shutil
import subprocess
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import anyio
import anyio.to_thread

from support.patience import PATIENCE_S

BRANCHES = 4  # for each repository: few, so that all meet


@dataclass
class Written:
    """Something that somebody wrote and that must be somewhere."""

    text: str
    repository: Path
    place: Path  # the worktree
    is_staged: bool = False
    is_committed: bool = False


@dataclass
class People:
    """On some repositories, whose worktrees are all in `root`."""

    root: Path
    repositories: list[Path]
    chance: random.Random
    written: dict[str, Written] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    told: list[str] = field(default_factory=list)
    number: int = 0

    def __post_init__(self) -> None:
        self._locks = {repository: threading.Lock() for repository in self.repositories}

    def tell(self, words: str) -> None:
        self.told.append(f"{datetime.now(UTC):%H:%M:%S.%f} {words}")

    def any_repository(self) -> Path:
        return self.chance.choice(self.repositories)

    async def work(self) -> None:
        choices = [
            (8, self._write),
            (5, self._stage),
            (5, self._commit),
            (1, self._detach),
            (1, self._remove_files),
            (1, self._remove_by_git),
            (1, self._add_by_git),
            (1, self._move_by_git),
            (2, self._collect),
            (1, self._leave_a_lock),
            (1, self._in_the_way),
        ]
        while True:
            work = self.chance.choices([each for _, each in choices], [weight for weight, _ in choices])[0]
            repository = self.any_repository()
            await anyio.to_thread.run_sync(self._alone, work, repository)
            self.counts[work.__name__] += 1
            await anyio.sleep(self.chance.uniform(0, 0.02))

    def _alone(self, work: Callable[[Path], None], repository: Path) -> None:
        """People keep out of each other's way: git itself breaks where a commit meets a `gc --prune=now`."""
        with self._locks[repository]:
            work(repository)

    def _places(self, repository: Path) -> list[Path]:
        """Those that are whole: while git fills one, it sets the branch back over a commit."""
        return [each for each in sorted(self.root.glob(f"{repository.name}-*")) if _is_whole(each)]

    def _put(self, repository: Path) -> tuple[str, Path] | None:
        """A new file, whole in one step in a worktree that is there, or nowhere."""
        places = self._places(repository)
        if not places:
            return None
        place = self.chance.choice(places)
        self.number += 1
        name, text = f"f{self.number}", f"words of {self.number} in {repository.name}\n"
        draft = self.root / "drafts" / name
        draft.parent.mkdir(exist_ok=True)
        draft.write_text(text)
        try:
            draft.rename(place / name)
        except OSError:
            return None
        self.written[name] = Written(text, repository, place)
        self.tell(f"{name} in {place.name}")
        return name, place

    def _write(self, repository: Path) -> None:
        self._put(repository)

    def _stage(self, repository: Path) -> None:
        if put := self._put(repository):
            name, place = put
            is_staged = self._git(place, "add", "--", name)
            if name in self.written:
                self.written[name].is_staged = is_staged

    def _commit(self, repository: Path) -> None:
        if put := self._put(repository):
            name, place = put
            done = self._git(place, "add", "--", name) and self._git(place, "commit", "-q", "-m", name)
            if done and name in self.written:  # what is on no branch goes with the worktree
                self.written[name].is_committed = self._git(place, "symbolic-ref", "-q", "HEAD")

    def _detach(self, repository: Path) -> None:
        if places := self._places(repository):
            self._git(self.chance.choice(places), "checkout", "-q", "--detach")

    def _give_up(self, place: Path, *, with_staged: bool) -> None:
        """Somebody deletes it by hand, and means it."""
        for name, each in list(self.written.items()):
            if each.place == place and not each.is_committed and (with_staged or not each.is_staged):
                del self.written[name]

    def _remove_files(self, repository: Path) -> None:
        if places := self._places(repository):
            place = self.chance.choice(places)
            self._give_up(place, with_staged=True)
            self.tell(f"rm -rf {place.name}")
            shutil.rmtree(place, ignore_errors=True)
            self._give_up(place, with_staged=True)

    def _remove_by_git(self, repository: Path) -> None:
        if places := self._places(repository):
            place = self.chance.choice(places)
            self._give_up(place, with_staged=True)
            self._git(repository, "worktree", "remove", "--force", str(place))
            self._give_up(place, with_staged=True)

    def _add_by_git(self, repository: Path) -> None:
        self.number += 1
        place = self.root / f"{repository.name}-own{self.number}"
        self._git(repository, "worktree", "add", "-q", "--detach", str(place))

    def _move_by_git(self, repository: Path) -> None:
        if places := self._places(repository):
            place = self.chance.choice(places)
            self.number += 1
            to = self.root / f"{repository.name}-moved{self.number}"
            if self._git(repository, "worktree", "move", str(place), str(to)):
                for each in self.written.values():
                    if each.place == place:
                        each.place = to

    def _collect(self, repository: Path) -> None:
        self._git(repository, "gc", "-q", "--prune=now")

    def _leave_a_lock(self, repository: Path) -> None:
        entries = list((repository / ".git" / "worktrees").glob("*"))
        if entries:
            lock = self.chance.choice(entries) / "index.lock"
            with suppress(OSError):
                lock.touch(exist_ok=False)
                lock.unlink()

    def _in_the_way(self, repository: Path) -> None:
        """An editor that writes a directory it has known anew."""
        place = self.root / f"{repository.name}-b{self.chance.randrange(BRANCHES)}"
        with suppress(OSError):
            place.mkdir()
            place.rmdir()

    def _git(self, at: Path, *words: str) -> bool:
        who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "gc.auto=0")
        try:
            done = subprocess.run(["git", *who, *words], cwd=at, capture_output=True, check=False, timeout=PATIENCE_S)
        except OSError:
            return False
        self.tell(f"git {' '.join(words)} in {at.name}: {done.returncode}")
        return done.returncode == 0


def _is_whole(place: Path) -> bool:
    try:
        entry = Path((place / ".git").read_text().removeprefix("gitdir: ").strip())
    except OSError:
        return False
    return (entry / "index").exists() and not (entry / "locked").exists()
