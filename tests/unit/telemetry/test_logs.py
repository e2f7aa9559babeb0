"""Log lines: JSON, bounded, with the facts the caller gave."""

import errno
import io
import json
import logging
import os
import sys
from pathlib import Path

import pytest

from betcode.telemetry.logs import BoundedFile, ForPeople, JsonLines


def record(message: str, **extra: object) -> logging.LogRecord:
    return logging.makeLogRecord({"name": "betcode.x", "levelno": 20, "levelname": "INFO", "msg": message, **extra})


def test_a_line_is_one_json_object_with_the_usual_names() -> None:
    line = JsonLines().format(record("first\nsecond", session_id="s1", span="turn"))
    assert "\n" not in line
    values = json.loads(line)
    assert values.pop("timestamp").endswith("Z")
    assert values == {
        "level": "info",
        "target": "betcode.x",
        "message": "first\nsecond",
        "session_id": "s1",
        "span": "turn",
    }


def test_a_line_is_one_to_every_reader_and_cannot_be_turned_around() -> None:
    hostile = "a\u2028b\x85c\u202ed\x9be\u2066"
    line = JsonLines().format(record(hostile))
    assert line.isprintable()
    assert json.loads(line)["message"] == hostile


def test_nothing_is_above_an_error() -> None:
    assert json.loads(JsonLines().format(record("gone", levelno=50, levelname="CRITICAL")))["level"] == "error"


def test_no_line_has_what_looks_like_a_secret() -> None:
    try:
        raise ValueError("mysql --password=tiger")
    except ValueError:
        failed = record("curl -u joe:tiger", command="TOKEN=tiger make", password="tiger", exc_info=sys.exc_info())
    line = JsonLines().format(failed)
    assert "tiger" not in line
    assert json.loads(line)["command"] == "TOKEN=[redacted:password] make"
    assert "tiger" not in ForPeople().format(failed)


def test_an_exception_is_part_of_its_line() -> None:
    try:
        raise ValueError("why")
    except ValueError:
        line = JsonLines().format(record("failed", exc_info=sys.exc_info()))
    assert "ValueError: why" in json.loads(line)["exception"]


def test_the_file_does_not_grow_without_bound(tmp_path: Path) -> None:
    path = tmp_path / "daemon.log"
    handler = BoundedFile(path, 10_000)
    for number in range(1000):
        handler.emit(record(f"line {number} " + "x" * 100))
    handler.close()
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["daemon.log", "daemon.log.1"]
    assert all(file.stat().st_size <= 10_200 for file in files)
    assert "line 999 " in path.read_text()


class FullDisk(io.StringIO):
    def write(self, _: str) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_under_the_log_is_no_fault_to_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    handler = BoundedFile(tmp_path / "daemon.log", 0)
    assert handler.stream is not None
    handler.stream.close()
    handler.stream = FullDisk()  # type: ignore[assignment]
    handler.emit(record("not written"))
    handler.close()
    assert capsys.readouterr().err == ""


def test_stderr_follows_the_file_it_is(tmp_path: Path) -> None:
    path = tmp_path / "daemon.log"
    kept = os.dup(2)
    with path.open("a") as file:
        os.dup2(file.fileno(), 2)
    try:
        handler = BoundedFile(path, 1000)
        for number in range(20):
            handler.emit(record(f"line {number} " + "x" * 100))
        os.write(2, b"a last word\n")
        handler.close()
    finally:
        os.dup2(kept, 2)
        os.close(kept)
    assert "a last word" in path.read_text()


def test_a_log_that_was_moved_away_is_begun_anew(tmp_path: Path) -> None:
    log = tmp_path / "daemon.log"
    handler = BoundedFile(log, 65536)
    handler.emit(record("before"))
    log.rename(tmp_path / "elsewhere")
    handler.emit(record("after"))
    assert (log.read_text(), (tmp_path / "elsewhere").read_text()) == ("after\n", "before\n")
    log.unlink()
    log.mkdir()  # somebody's mistake: what is logged goes nowhere, and nothing fails
    handler.emit(record("lost"))
    log.rmdir()
    handler.emit(record("again"))
    handler.close()
    assert log.read_text() == "again\n"


def test_half_a_character_is_logged_as_an_escape(tmp_path: Path) -> None:
    handler = BoundedFile(tmp_path / "daemon.log", 65536)
    handler.emit(record("/odd/\udcff"))
    handler.close()
    assert (tmp_path / "daemon.log").read_text() == "/odd/\\udcff\n"


def test_a_pipe_is_no_log(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="it is a pipe"):
        BoundedFile(tmp_path / "pipe", 65536)


def test_a_pipe_that_somebody_reads_is_no_log_either(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        with pytest.raises(OSError, match="it is a pipe"):
            BoundedFile(tmp_path / "pipe", 65536)
    finally:
        os.close(reader)
