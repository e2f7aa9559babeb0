"""`betcode db`: backups, checks, repairs and disk usage, with real files and a real daemon."""

import json
import os
import random
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from betcode.storage import problems
from support.patience import PATIENCE_S
from support.processes.command import Shell, shell


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Shell]:
    with shell(tmp_path) as commands:
        yield commands


def said(here: Shell, words: str, *options: str) -> str:
    """Have a conversation; its session."""
    done = here.run("run", "--json", *options, words)
    assert done.returncode == 0, done.stderr
    return str(json.loads(done.stdout)["session_id"])


def stop(here: Shell) -> None:
    assert here.run("daemon", "stop", "--agents").returncode == 0


def scrambled(path: Path, *, pages: int) -> None:
    """Write nonsense over some pages in the middle; the first ones, which say what is where, stay."""
    size = path.stat().st_size // 4096
    generator = random.Random(7)
    with path.open("r+b") as file:
        for page in generator.sample(range(size // 3, size), min(pages, size // 2)):
            file.seek(page * 4096)
            file.write(generator.randbytes(4096))


def test_a_copy_made_while_it_is_used_is_whole_private_and_can_be_restored(here: Shell, tmp_path: Path) -> None:
    session = said(here, "say first words")
    copy = tmp_path / "copy.db"
    made = here.json("db", "backup", str(copy), "--json")
    assert (made["file"], copy.stat().st_mode & 0o777) == (str(copy), 0o600)
    assert not list(tmp_path.glob("copy.db?*"))
    assert here.run("db", "check", str(copy)).returncode == 0
    later = said(here, "say second words")
    stop(here)
    restored = here.json("db", "restore", str(copy), "--json")
    assert Path(restored["before"]).exists()
    sessions = [one["id"] for one in here.json("session", "list", "--json")["sessions"]]
    assert session in sessions
    assert later not in sessions


def test_a_copy_makes_no_directory_where_a_disk_may_be_missing(here: Shell, tmp_path: Path) -> None:
    said(here, "say words")
    refused = here.run("db", "backup", str(tmp_path / "not-mounted" / "copy.db"))
    assert (refused.returncode, "No such directory" in refused.stderr) == (5, True)
    assert not (tmp_path / "not-mounted").exists()


@pytest.mark.parametrize("verb", ["check", "restore"])
def test_a_file_that_is_not_there_is_a_wrong_argument(here: Shell, tmp_path: Path, verb: str) -> None:
    done = here.run("db", verb, str(tmp_path / "copi.db"))
    assert (done.returncode, done.stderr) == (5, f"betcode: No database at {tmp_path}/copi.db\n")


def test_copies_of_one_second_have_names_of_their_own(here: Shell) -> None:
    said(here, "say words")
    files = {here.json("db", "backup", "--json")["file"] for _ in range(3)}
    assert len(files) == 3
    assert len(here.json("db", "backup", "--keep", "2", "--json")["removed"]) == 2


def test_the_use_after_a_restore_counts_events_and_not_numbers(here: Shell, tmp_path: Path) -> None:
    said(here, "say words")
    before = here.json("db", "usage", "--json")["sessions"][0]["events"]
    here.json("db", "backup", str(tmp_path / "copy.db"), "--json")
    stop(here)
    here.json("db", "restore", str(tmp_path / "copy.db"), "--json")
    assert here.run("session", "list").returncode == 0  # a daemon opens it, and a new epoch begins
    assert here.json("db", "usage", "--json")["sessions"][0]["events"] <= before + 5


def test_a_copy_is_of_one_moment_while_others_write(tmp_path: Path) -> None:
    from betcode.storage import copy_database

    source = tmp_path / "source.db"
    writer = apsw.Connection(str(source))  # two copies of SQLite in one process would not see each other's locks
    writer.execute("PRAGMA journal_mode = wal")
    writer.execute("PRAGMA application_id = 1113945155")
    writer.execute("CREATE TABLE migrations (number INTEGER)")
    writer.execute("INSERT INTO migrations VALUES (1)")
    writer.execute("CREATE TABLE pairs (a BLOB, b BLOB)")
    writer.executemany("INSERT INTO pairs VALUES (?1, ?1)", [(os.urandom(3000),) for _ in range(8000)])
    steps = 0

    def meanwhile(done: int, total: int) -> None:
        nonlocal steps
        steps += 1
        writer.execute("BEGIN")
        writer.execute("UPDATE pairs SET a = x'00' WHERE rowid % 7 = 0")
        writer.execute("UPDATE pairs SET b = x'00' WHERE rowid % 7 = 0")
        writer.execute("COMMIT")

    copy_database(source, tmp_path / "copy.db", meanwhile)
    assert steps > 1
    copied = apsw.Connection(str(tmp_path / "copy.db"))
    assert copied.execute("SELECT count(*), sum(a <> b), sum(length(a) = 1) FROM pairs").fetchone() == (8000, 0, 0)
    copied.close()
    writer.close()


def test_unnamed_backups_share_a_directory_and_are_thinned(here: Shell) -> None:
    said(here, "say words")
    backups = here.paths.state_dir / "backups"
    backups.mkdir()
    for day in (1, 2, 3):
        (backups / f"betcode-2026010{day}-000000.db").touch()
    made = here.json("db", "backup", "--keep", "2", "--json")
    assert len(made["removed"]) == 2
    assert sorted(path.name for path in backups.iterdir()) == ["betcode-20260103-000000.db", Path(made["file"]).name]


def test_a_file_is_not_replaced_without_force(here: Shell, tmp_path: Path) -> None:
    said(here, "say words")
    taken = tmp_path / "taken"
    taken.write_text("mine")
    refused = here.run("db", "backup", str(taken))
    assert (refused.returncode, taken.read_text()) == (5, "mine")
    assert "--force" in refused.stderr
    assert here.run("db", "backup", "--force", str(taken)).returncode == 0
    assert here.run("db", "check", str(taken)).returncode == 0


@pytest.mark.parametrize("name", ["betcode.db", "betcode.db-wal", "betcode.db-shm", "../state/betcode.db", "fifo"])
def test_a_backup_never_replaces_a_file_in_use(here: Shell, name: str) -> None:
    state = here.paths.state_dir
    state.mkdir(parents=True)
    (state / "betcode.db").write_text("in use")
    os.mkfifo(state / "fifo")
    refused = here.run("db", "backup", "--force", str(state / name))
    assert refused.returncode == 5
    assert "choose another" in refused.stderr
    assert (state / "betcode.db").read_text() == "in use"


def test_a_full_disk_leaves_no_partial_backup(here: Shell, tmp_path: Path) -> None:
    said(here, "say words")
    (tmp_path / "file").touch()
    failed = here.run("db", "backup", str(tmp_path / "file" / "copy.db"))
    assert failed.returncode in (5, 7)
    assert "Traceback" not in failed.stderr
    assert len(failed.stderr.strip().splitlines()) == 1


def test_a_damaged_database_is_recognised_repaired_and_saved(here: Shell) -> None:
    sessions = [said(here, f"say {'many words ' * 2000} {number}") for number in range(3)]
    stop(here)
    database = here.paths.database
    whole = database.read_bytes()
    scrambled(database, pages=6)
    checked = here.run("db", "check", "--json")
    assert checked.returncode == 1
    assert json.loads(checked.stdout)["problems"]
    repaired = here.json("db", "repair", "--json")
    assert Path(repaired["damaged_file"]).read_bytes() != whole
    assert list(problems(database, full=True)) == []
    assert here.run("db", "check").returncode == 0
    listed = {one["id"] for one in here.json("session", "list", "--json")["sessions"]}
    assert listed <= set(sessions)
    assert said(here, "say it goes on")


def test_every_row_is_saved_where_only_an_index_is_damaged(here: Shell) -> None:
    session = said(here, "say words")
    stop(here)
    database = here.paths.database
    db = sqlite3.connect(database)
    rows = db.execute("SELECT count(*) FROM events").fetchone()[0]
    page = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'sessions_newest'").fetchone()[0]
    db.close()
    with database.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xff" * 4096)
    assert here.run("db", "check").returncode == 1
    repaired = here.json("db", "repair", "--json")
    assert (repaired["kept"]["events"], sum(repaired["torn"].values())) == (rows, 0)
    assert here.json("session", "list", "--json")["sessions"][0]["id"] == session


def test_an_intact_database_is_not_changed(here: Shell) -> None:
    said(here, "say words")
    stop(here)
    before = here.paths.database.read_bytes()
    assert here.json("db", "repair", "--json") == {"repaired": False, "whole": True}
    assert here.paths.database.read_bytes() == before


@pytest.mark.parametrize("verb", [("repair",), ("restore", "copy.db")])
def test_nothing_is_replaced_under_a_daemon(here: Shell, verb: tuple[str, ...]) -> None:
    said(here, "say words")
    here.json("db", "backup", str(here.work / "copy.db"), "--json")
    refused = here.run("db", *verb)
    assert refused.returncode == 5
    assert "betcode daemon stop" in refused.stderr


@pytest.mark.parametrize("content", [b"", b"no database at all" * 100, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_file_that_is_not_a_backup_is_not_restored(here: Shell, tmp_path: Path, content: bytes) -> None:
    said(here, "say words")
    stop(here)
    before = here.paths.database.read_bytes()
    wrong = tmp_path / "wrong.db"
    wrong.write_bytes(content)
    refused = here.run("db", "restore", str(wrong))
    assert refused.returncode in (5, 7)
    assert "Traceback" not in refused.stderr
    assert here.paths.database.read_bytes() == before


def test_without_a_database_each_command_says_so(here: Shell) -> None:
    for verb in (("backup",), ("check",), ("usage",), ("repair",), ("restore", "nothing.db")):
        failed = here.run("db", *verb)
        assert failed.returncode in (5, 7), verb
        assert len(failed.stderr.strip().splitlines()) == 1, failed.stderr


def test_disk_usage_is_shown_by_kind_and_session(here: Shell) -> None:
    session = said(here, f"say {'many words ' * 1000}")
    shown = here.json("db", "usage", "--json")
    assert shown["parts"]["database"] > 0
    assert shown["parts"]["journals"] > 0
    assert (shown["sessions"][0]["session_id"], shown["sessions"][0]["bytes"] > 5000) == (session, True)
    assert "free on the disk" in here.run("db", "usage").stdout


def test_only_closed_and_old_sessions_are_pruned_and_only_when_that_is_wanted(here: Shell) -> None:
    open_one, closed = said(here, "say words"), said(here, "say words")
    assert here.run("session", "close", closed).returncode == 0
    assert here.json("db", "prune", "--older-than", "1h", "--yes", "--json")["found"] == []
    dry = here.json("db", "prune", "--older-than", "0s", "--dry-run", "--json")
    assert (dry["found"], dry["deleted"]) == ([closed], 0)
    assert here.run("db", "prune", "--older-than", "0s").returncode == 5
    assert here.json("db", "prune", "--older-than", "0s", "--yes", "--json")["deleted"] == 1
    assert [one["id"] for one in here.json("session", "list", "--json")["sessions"]] == [open_one]


def test_closed_sessions_past_their_time_are_forgotten_by_the_daemon(tmp_path: Path) -> None:
    with shell(tmp_path, settings={"sessions": {"history_keep": "1s"}}) as here:
        kept, closed = said(here, "say words"), said(here, "say words")
        assert here.run("session", "close", closed).returncode == 0
        stop(here)
        db = sqlite3.connect(here.paths.database)
        db.execute("UPDATE sessions SET updated_ns = updated_ns - 10000000000")
        db.commit()
        db.close()
        assert here.run("daemon", "start").returncode == 0
        log = here.paths.daemon_log
        until = time.monotonic() + PATIENCE_S
        while "older than sessions.history_keep" not in log.read_text():
            assert time.monotonic() < until
            here.run("daemon", "health")
        assert [one["id"] for one in here.json("session", "list", "--json")["sessions"]] == [kept]


def test_a_database_at_its_limit_warns_then_refuses_work_and_continues_after_pruning(tmp_path: Path) -> None:
    with shell(tmp_path, settings={"daemon": {"database_limit": "1B"}}) as here:
        assert here.run("daemon", "start").returncode == 0
        refused = here.run("run", "say words")
        assert refused.returncode == 7
        assert "daemon.database_limit" in refused.stderr
        assert "daemon.database_limit" in json.dumps(here.json("daemon", "status", "--json")["degraded"])
        here.daemon.configure({"daemon": {"database_limit": "1GB"}})
        here.daemon_signal("HUP")
        until = time.monotonic() + PATIENCE_S
        while here.run("run", "say words").returncode != 0:
            assert time.monotonic() < until
        assert here.json("daemon", "status", "--json")["degraded"] is None
