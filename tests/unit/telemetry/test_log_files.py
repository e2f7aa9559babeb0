"""The log read back: the newest lines over all files, and every added one exactly once, whatever is rotated."""

import json
import logging
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from betcode.telemetry.log_files import LogFiles, LogFilter, entry_of
from betcode.telemetry.logs import BoundedFile, JsonLines

ALL = LogFilter()


def log_at(path: Path, limit_bytes: int, keep: int) -> BoundedFile:
    handler = BoundedFile(path, limit_bytes, keep)
    handler.setFormatter(JsonLines())
    return handler


def say(handler: BoundedFile, message: str, level: int = logging.INFO, **extra: object) -> None:
    names = {"levelno": level, "levelname": logging.getLevelName(level).replace("WARNING", "WARN")}
    handler.emit(logging.makeLogRecord({"name": "betcode.x", "msg": message, **names, **extra}))


def messages(files: LogFiles, wanted: LogFilter = ALL) -> list[str]:
    return [entry.message for entry in files.added(wanted)]


def test_the_newest_lines_come_from_older_files_too(tmp_path: Path) -> None:
    handler = log_at(tmp_path / "daemon.log", 600, keep=3)
    for number in range(20):
        say(handler, f"line {number}")
    handler.close()
    assert len(list(tmp_path.iterdir())) == 4
    files = LogFiles(tmp_path / "daemon.log")
    assert [entry.message for entry in files.newest(12, ALL)] == [f"line {number}" for number in range(8, 20)]
    assert files.newest(0, ALL) == []
    assert [entry.message for entry in files.newest(1, ALL)] == ["line 19"]
    files.close()


def test_level_and_session_choose(tmp_path: Path) -> None:
    handler = log_at(tmp_path / "daemon.log", 0, keep=1)
    say(handler, "quiet", logging.DEBUG)
    say(handler, "of one", session_id="0197aa")
    say(handler, "of another", logging.WARNING, session_id="0197bb")
    say(handler, "broken", logging.ERROR)
    handler.close()
    with (tmp_path / "daemon.log").open("a") as file:
        file.write('Traceback (most recent call last):\n{"another": "program"}\n')
    path = tmp_path / "daemon.log"

    def shown(wanted: LogFilter) -> list[str]:
        files = LogFiles(path)
        found = [entry.message for entry in files.newest(100, wanted)]
        files.close()
        return found

    foreign = ["Traceback (most recent call last):", '{"another": "program"}']
    assert shown(LogFilter("info")) == ["of one", "of another", "broken", *foreign]
    assert shown(LogFilter("error")) == ["broken", *foreign]
    assert shown(LogFilter(session="0197b")) == ["of another"]
    assert shown(LogFilter("error", "0197a")) == []


@given(st.lists(st.integers(0, 25), max_size=8), st.integers(4, 6))
def test_every_line_is_given_once_and_in_order_as_long_as_its_file_is_kept(
    tmp_path_factory: pytest.TempPathFactory, looks: list[int], keep: int
) -> None:
    path = tmp_path_factory.mktemp("logs") / "daemon.log"
    handler = log_at(path, 1500, keep)
    files = LogFiles(path)
    files.newest(0, ALL)
    said: list[str] = []
    seen: list[str] = []
    for lines in looks:  # a file holds about ten lines, so up to three rotations come between two looks
        for _ in range(lines):
            said.append(f"line {len(said)}")
            say(handler, said[-1])
        seen += messages(files)
    handler.close()
    files.close()
    assert seen == said


def test_a_line_that_is_only_half_written_is_given_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "daemon.log"
    line = json.dumps({"level": "info", "message": "whole"}) + "\n"
    path.write_text(line + line[:10])
    files = LogFiles(path)
    assert [entry.message for entry in files.newest(5, ALL)] == ["whole"]
    assert messages(files) == []
    with path.open("a") as file:
        file.write(line[10:])
    assert messages(files) == ["whole"]
    files.close()


def test_a_log_that_is_emptied_or_comes_later_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "daemon.log"
    files = LogFiles(path)
    assert files.newest(5, ALL) == []
    handler = log_at(path, 700, keep=0)
    seen: list[str] = []
    for number in range(12):
        say(handler, f"line {number}")
        seen += messages(files)
    handler.close()
    files.close()
    assert seen == [f"line {number}" for number in range(12)]
    assert [file.name for file in tmp_path.iterdir()] == ["daemon.log"]
    assert path.stat().st_size < 1000


@pytest.mark.parametrize("line", [b"\xff\xfe\x00", b"[1, 2]", b"7", b'{"level": 3, "message": [1]}', b"[" * 100_000])
def test_any_bytes_are_a_line(line: bytes) -> None:
    assert isinstance(entry_of(line).message, str)
