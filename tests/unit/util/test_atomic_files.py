"""A file has its old content or its complete new content, and nothing is left behind."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from betcode.util.atomic_files import create_file, install_file, replace_file, replacing


class Failed(Exception):
    pass


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def names_in(path: Path) -> list[str]:
    return [entry.name for entry in path.iterdir()]


def fail_while_writing(target: Path) -> None:
    with replacing(target) as file:
        file.write(b"half")
        raise Failed


def install(target: Path) -> None:
    made = target.with_name("made")
    made.touch()
    install_file(made, target)


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kinds of descriptors that were synced, in order."""
    calls: list[str] = []
    sync = os.fsync

    def note(descriptor: int) -> None:
        calls.append("directory" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    return calls


def test_a_new_file_is_private(tmp_path: Path) -> None:
    replace_file(tmp_path / "state", b"new")
    assert (tmp_path / "state").read_bytes() == b"new"
    assert mode_of(tmp_path / "state") == 0o600


def test_the_file_is_private_before_it_has_any_content(tmp_path: Path) -> None:
    with replacing(tmp_path / "state") as file:
        assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == 0o600


def test_a_file_of_another_mode_respects_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        replace_file(tmp_path / "unit", b"new", mode=0o666)
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "unit") == 0o640


def test_readers_see_the_old_content_until_the_block_ends(tmp_path: Path) -> None:
    target = tmp_path / "state"
    target.write_bytes(b"old")
    with replacing(target) as file:
        file.write(b"new")
        file.flush()
        assert target.read_bytes() == b"old"
    assert target.read_bytes() == b"new"


def test_a_failure_keeps_the_old_content_and_leaves_nothing_behind(tmp_path: Path) -> None:
    target = tmp_path / "state"
    target.write_bytes(b"old")
    with pytest.raises(Failed):
        fail_while_writing(target)
    assert target.read_bytes() == b"old"
    assert names_in(tmp_path) == ["state"]


def test_a_target_that_cannot_be_replaced_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    with pytest.raises(IsADirectoryError):
        replace_file(tmp_path / "state", b"new")
    assert names_in(tmp_path) == ["state"]


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"other")
    (tmp_path / "state").symlink_to("other")
    replace_file(tmp_path / "state", b"new")
    assert (tmp_path / "other").read_bytes() == b"other"
    assert not (tmp_path / "state").is_symlink()


def test_the_longest_name_can_be_replaced(tmp_path: Path) -> None:
    replace_file(tmp_path / ("n" * 255), b"new")
    replace_file(tmp_path / ("ß" * 127), b"new")
    assert len(names_in(tmp_path)) == 2


def test_a_fixed_temporary_name_replaces_what_a_killed_writer_left(tmp_path: Path) -> None:
    left = tmp_path / ".state.new"
    left.write_bytes(b"of a killed writer, and longer")
    with replacing(tmp_path / "state", temporary=left) as file:
        file.write(b"new")
    assert names_in(tmp_path) == ["state"]
    assert (tmp_path / "state").read_bytes() == b"new"


def test_the_target_may_be_relative_to_an_open_directory(tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    directory = os.open(before, os.O_RDONLY)
    try:
        before.rename(after)
        with replacing(Path("state"), directory=directory) as file:
            file.write(b"new")
    finally:
        os.close(directory)
    assert names_in(after) == ["state"]


@pytest.mark.parametrize("write", [lambda path: replace_file(path, b"new"), install], ids=["replace", "install"])
def test_a_durable_file_is_synced_before_and_its_directory_after_the_rename(
    tmp_path: Path, synced: list[str], write: Callable[[Path], object]
) -> None:
    write(tmp_path / "state")
    assert synced == ["file", "directory"]


def test_a_file_that_need_not_survive_a_power_cut_is_not_synced(tmp_path: Path, synced: list[str]) -> None:
    replace_file(tmp_path / "state", b"new", durable=False)
    assert synced == []


def test_the_first_creator_wins(tmp_path: Path) -> None:
    assert create_file(tmp_path / "token", b"first")
    assert not create_file(tmp_path / "token", b"second")
    assert (tmp_path / "token").read_bytes() == b"first"
    assert mode_of(tmp_path / "token") == 0o600
    assert names_in(tmp_path) == ["token"]
