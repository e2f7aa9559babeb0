"""An entry of any type is opened without blocking, and is a value or one typed error."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from betcode.util.state_files import UnusableEntry, mode_of, names_in, open_file, read_file, set_aside, shown


def bound_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


ODD: dict[str, tuple[Callable[[Path], object], str]] = {
    "a directory": (Path.mkdir, "`lock` is a directory, not a regular file"),
    "a FIFO": (os.mkfifo, "`lock` is a FIFO, not a regular file"),
    "a socket": (bound_socket, "`lock` is a socket, not a regular file"),
    "a link to itself": (lambda path: path.symlink_to(path), "`lock` is a symbolic link, not a regular file"),
    "a link to nothing": (lambda path: path.symlink_to("nothing"), "`lock` is a symbolic link, not a regular file"),
    "a link to a device": (lambda path: path.symlink_to("/dev/tty"), "`lock` is a symbolic link, not a regular file"),
    "a huge file": (sparse, "`lock` is longer than 100 bytes"),
}


@pytest.mark.parametrize("kind", ODD)
def test_an_entry_of_another_type_is_one_typed_error(tmp_path: Path, kind: str) -> None:
    make, words = ODD[kind]
    make(tmp_path / "lock")
    with pytest.raises(UnusableEntry) as error:
        read_file(tmp_path / "lock", 100)
    assert str(error.value) == words


@pytest.mark.parametrize("kind", [kind for kind in ODD if kind != "a huge file"])
@pytest.mark.parametrize("flags", [os.O_RDWR | os.O_CREAT, os.O_WRONLY | os.O_APPEND | os.O_CREAT])
def test_writing_does_not_follow_or_wait_either(tmp_path: Path, kind: str, flags: int) -> None:
    ODD[kind][0](tmp_path / "lock")
    with pytest.raises(UnusableEntry):
        open_file(tmp_path / "lock", flags)
    assert not (tmp_path / "nothing").exists()


def test_a_missing_entry_and_a_file_in_place_of_the_directory(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_file(tmp_path / "lock", 100)
    assert mode_of(tmp_path / "lock") == 0
    assert names_in(tmp_path / "nowhere") == []
    (tmp_path / "run").touch()
    for use in (lambda: read_file(tmp_path / "run" / "lock", 100), lambda: names_in(tmp_path / "run")):
        with pytest.raises(UnusableEntry):
            use()


def test_an_entry_is_set_aside_under_the_next_free_name(tmp_path: Path) -> None:
    (tmp_path / "runs.unusable-1").symlink_to("nothing")
    os.mkfifo(tmp_path / "runs")
    assert set_aside(tmp_path / "runs") == "runs.unusable-2"
    assert (tmp_path / "runs.unusable-2").is_fifo()
    assert sorted(names_in(tmp_path)) == ["runs.unusable-1", "runs.unusable-2"]


def test_a_file_that_is_created_is_private(tmp_path: Path) -> None:
    os.close(open_file(tmp_path / "lock", os.O_RDWR | os.O_CREAT))
    assert mode_of(tmp_path / "lock") & 0o777 == 0o600
    assert read_file(tmp_path / "lock", 0) == b""


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("lock", "lock"),
        ("a\nb", "a?b"),
        ("a\x1b[2J", "a?[2J"),
        (os.fsdecode(b"\xff"), "?"),
        ("x" * 300, "x" * 79 + "…"),
    ],
)
def test_names_are_shown_printable_and_bounded(name: str, printed: str) -> None:
    assert shown(Path("/state/runs") / name) == printed
