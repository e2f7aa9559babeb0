"""The epoch grows when numbers may have been lost, and only then."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from betcode.storage import open_store
from betcode.storage.sqlite.epochs import kernel_boot_id
from support.storage.rows import Fatal, copy_files, new_session

pytestmark = pytest.mark.anyio


async def epoch_at(path: Path, boot_id: str = "boot-1") -> tuple[int, str]:
    async with open_store(path, on_fatal=Fatal(), boot_id=boot_id) as store:
        return store.epoch, store.epoch_reason


async def killed_at(path: Path, place: Path, durability: str = "normal") -> Path:
    """The files as a daemon leaves them that is killed while it runs."""
    async with open_store(path, on_fatal=Fatal(), boot_id="boot-1", durability=durability) as store:  # type: ignore[arg-type]
        await new_session(store)
        return copy_files(path, place)


async def test_a_clean_stop_and_a_new_start_of_the_machine_change_nothing(tmp_path: Path) -> None:
    path = tmp_path / "betcode.db"
    for boot in ("boot-1", "boot-1", "boot-2", ""):
        assert await epoch_at(path, boot) == (0, "")


async def test_a_killed_daemon_changes_nothing(tmp_path: Path) -> None:
    path = await killed_at(tmp_path / "betcode.db", tmp_path / "left")
    assert await epoch_at(path) == (0, "")


async def test_a_power_cut_begins_an_epoch_and_is_remembered(tmp_path: Path) -> None:
    path = await killed_at(tmp_path / "betcode.db", tmp_path / "left")
    assert await epoch_at(path, "boot-2") == (1, "power cut")
    assert await epoch_at(path, "boot-3") == (1, "power cut")


async def test_a_machine_that_does_not_tell_its_start_is_not_trusted(tmp_path: Path) -> None:
    path = await killed_at(tmp_path / "betcode.db", tmp_path / "left")
    assert await epoch_at(path, "") == (1, "power cut")


async def test_with_full_durability_a_power_cut_loses_nothing(tmp_path: Path) -> None:
    path = await killed_at(tmp_path / "betcode.db", tmp_path / "left", durability="full")
    assert await epoch_at(path, "boot-2") == (0, "")


async def test_a_restored_backup_begins_an_epoch(tmp_path: Path) -> None:
    path, backup = tmp_path / "betcode.db", tmp_path / "backup"
    await epoch_at(path)
    shutil.copy(path, backup)
    await epoch_at(path)
    shutil.copy(backup, path)
    assert await epoch_at(path) == (1, "restored backup")
    assert await epoch_at(path) == (1, "restored backup")
    shutil.copy(backup, path)
    assert await epoch_at(path) == (1, "restored backup")


async def test_a_backup_taken_while_the_daemon_ran_is_recognised(tmp_path: Path) -> None:
    left = await killed_at(tmp_path / "betcode.db", tmp_path / "left")
    shutil.copy(tmp_path / "betcode.db.incarnation", tmp_path / "left" / "betcode.db.incarnation")
    assert await epoch_at(left) == (1, "restored backup")


async def test_a_database_moved_without_its_token_counts_as_restored(tmp_path: Path) -> None:
    path = tmp_path / "betcode.db"
    await epoch_at(path)
    (tmp_path / "betcode.db.incarnation").unlink()
    assert await epoch_at(path) == (1, "restored backup")


def put_a_directory(path: Path) -> None:
    path.mkdir()
    (path / "kept").write_text("content")


ODD_TOKENS: dict[str, Callable[[Path], object]] = {
    "FIFO": os.mkfifo,
    "directory": put_a_directory,
    "link to itself": lambda path: path.symlink_to(path.name),
    "too long": lambda path: path.write_bytes(b"x" * 5000),
}


@pytest.mark.parametrize("kind", ODD_TOKENS)
async def test_an_unusable_token_counts_as_restored_once(tmp_path: Path, kind: str) -> None:
    path, beside = tmp_path / "betcode.db", tmp_path / "betcode.db.incarnation"
    await epoch_at(path)
    beside.unlink()
    ODD_TOKENS[kind](beside)
    assert await epoch_at(path) == (1, "restored backup")
    assert beside.is_file()
    assert await epoch_at(path) == (1, "restored backup")
    kept = tmp_path / "betcode.db.incarnation.unusable-1" / "kept"
    assert kind != "directory" or kept.read_text() == "content"


async def test_an_unusable_token_of_a_new_database_begins_at_nothing(tmp_path: Path) -> None:
    put_a_directory(tmp_path / "betcode.db.incarnation")
    assert await epoch_at(tmp_path / "betcode.db") == (0, "")


async def test_a_token_that_becomes_unusable_while_the_database_is_open_counts_as_no_backup(tmp_path: Path) -> None:
    path, beside = tmp_path / "betcode.db", tmp_path / "betcode.db.incarnation"
    async with open_store(path, on_fatal=Fatal(), boot_id="boot-1"):
        beside.unlink()
        put_a_directory(beside)
    assert await epoch_at(path) == (0, "")


async def test_a_new_database_beside_an_old_token_begins_at_nothing(tmp_path: Path) -> None:
    path = tmp_path / "betcode.db"
    await epoch_at(path)
    path.unlink()
    assert await epoch_at(path) == (0, "")


def test_the_machine_tells_its_start() -> None:
    assert kernel_boot_id() == kernel_boot_id() != ""


async def test_a_kill_while_the_token_changes_is_no_backup(tmp_path: Path) -> None:
    path, beside = tmp_path / "betcode.db", tmp_path / "betcode.db.incarnation"
    await epoch_at(path)
    beside.write_text(beside.read_text() + "\nthe-next-one")  # said beside, and not yet in the database
    assert await epoch_at(path) == (0, "")
    assert "the-next-one" not in beside.read_text()
