"""Whatever is done in a worktree: removed by force and restored, it is what it was, byte for byte."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from integration.worktrees.conftest import Bench, gone, row_of
from support.git.repositories import git, make_repository
from support.git.working_tree import look

pytestmark = pytest.mark.anyio

_NAMES = ("a.txt", "b c.txt", "d/e.py", "ümläut.md", "new\nline", '"quoted"', "-dash", "d/deep/er.bin", "tab\there")


def _some_file(random: Random, top: Path) -> Path:
    return top / random.choice(_NAMES)


def _write(random: Random, top: Path) -> None:
    file = _some_file(random, top)
    if file.is_dir() or file.is_symlink() or not _parent(file):
        return
    file.write_bytes(random.choice((b"text\n", b"crlf\r\n", b"\0\xff binary", b"", random.randbytes(3000))))


def _parent(file: Path) -> bool:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return True


def _delete(random: Random, top: Path) -> None:
    file = _some_file(random, top)
    if os.path.lexists(file) and not file.is_dir():
        file.unlink()


def _link(random: Random, top: Path) -> None:
    file = _some_file(random, top)
    if not os.path.lexists(file) and _parent(file):
        file.symlink_to(random.choice(("a.txt", "nowhere/at all", "/etc/hostname")))


def _chmod(random: Random, top: Path) -> None:
    file = _some_file(random, top)
    if file.is_file() and not file.is_symlink():
        file.chmod(random.choice((0o644, 0o755)))


def _stage(random: Random, top: Path) -> None:
    subprocess.run(["git", "add", "-A", "--", _some_file(random, top)], cwd=top, capture_output=True)


def _intend(random: Random, top: Path) -> None:
    subprocess.run(["git", "add", "-N", "--", _some_file(random, top)], cwd=top, capture_output=True)


def _rename(random: Random, top: Path) -> None:
    words = ["git", "mv", "--", str(_some_file(random, top)), f"moved {random.randrange(3)}"]
    subprocess.run(words, cwd=top, capture_output=True)


def _unstage(random: Random, top: Path) -> None:
    subprocess.run(["git", "rm", "--cached", "-q", "--", _some_file(random, top)], cwd=top, capture_output=True)


def _into_a_directory(random: Random, top: Path) -> None:
    file = top / random.choice(("a.txt", "b c.txt"))
    if file.is_file() and not file.is_symlink():
        file.unlink()
        file.mkdir()
        (file / "inside").write_text("x")


def _assume(random: Random, top: Path) -> None:
    words = ["git", "update-index", random.choice(("--assume-unchanged", "--skip-worktree")), "--"]
    subprocess.run([*words, _some_file(random, top)], cwd=top, capture_output=True)


def _commit(random: Random, top: Path) -> None:
    who = ["-c", "user.name=A", "-c", "user.email=a@example.com"]
    subprocess.run(["git", *who, "commit", "-q", "-m", "more"], cwd=top, capture_output=True)


_EDITS: tuple[Callable[[Random, Path], None], ...] = (
    _write, _write, _write, _delete, _link, _chmod, _stage, _stage, _intend, _rename, _unstage, _into_a_directory,
    _assume, _commit,
)  # fmt: skip


@pytest.mark.parametrize("seed", range(int(os.environ.get("BETCODE_SEEDS", "5"))))
async def test_any_edits_are_there_again(bench: Bench, tmp_path: Path, seed: int) -> None:
    repository = make_repository(tmp_path / "shop", {name: f"{name}\n" for name in _NAMES if name != "-dash"})
    place = tmp_path / "fix"
    random = Random(seed)
    git(repository, "worktree", "add", "-q", "-b", "fix", str(place))
    for _ in range(25):
        random.choice(_EDITS)(random, place)
    (place / "one more").write_text("so that there is something, and private\n")
    (place / "one more").chmod(0o600)
    before = look(place)
    async with gone(bench, repository, place):
        pass
    after = look(place)
    assert after.files == before.files
    assert after.index == before.index
    assert after.status == before.status
    assert after == before
    assert not git(repository, "for-each-ref", "refs/betcode")


def _edit_without_a_trace(home: Path, place: Path, mark: str) -> str:
    """Hide a file from git and change it, so that time and size are those of its entry in the index; the new text.

    This also happens without these settings: git compares times by the second, and a hidden entry is not compared with
    the file when the index is written again in a later second.
    """
    home.mkdir(exist_ok=True)
    git(place, "config", "--file", str(home / ".gitconfig"), "core.trustctime", "false")
    file = place / "README"
    original = file.read_text()
    os.utime(file, (_LONG_AGO_S, _LONG_AGO_S))
    git(place, "update-index", "--refresh")
    git(place, "update-index", mark, "README")
    file.write_text(original.swapcase())
    os.utime(file, (_LONG_AGO_S, _LONG_AGO_S))
    return file.read_text()


_LONG_AGO_S = 1_500_000_000
_marks = pytest.mark.parametrize("mark", ["--assume-unchanged", "--skip-worktree"])


@_marks
async def test_an_edit_of_a_hidden_file_with_the_same_time_and_size_is_reported(
    home: Path, bench: Bench, place: Path, mark: str
) -> None:
    _edit_without_a_trace(home, place, mark)
    found = await bench.worktrees.inspect((await row_of(bench, place)).id)
    assert [each.path for each in found.changed] == ["README"]


@_marks
async def test_an_edit_of_a_hidden_file_with_the_same_time_and_size_is_there_again(
    home: Path, bench: Bench, repository: Path, place: Path, mark: str
) -> None:
    text = _edit_without_a_trace(home, place, mark)
    async with gone(bench, repository, place):
        pass
    assert (place / "README").read_text() == text
