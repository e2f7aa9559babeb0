"""The prompt from the argument, a file and stdin."""

import os
from pathlib import Path

import pytest

from betcode.cli.run.prompt_sources import StdinSilent, has_prompt


def test_a_pipe_is_read_where_something_comes_or_it_ends() -> None:
    reading, writing = os.pipe()
    try:
        with pytest.raises(StdinSilent):
            has_prompt(reading, 0)
        os.write(writing, b"x")
        assert has_prompt(reading, 0)
        os.read(reading, 1)
    finally:
        os.close(writing)
    assert has_prompt(reading, 0)
    os.close(reading)
    assert not has_prompt(reading, 0)


def test_a_file_is_read_and_dev_null_is_not(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with (tmp_path / "file").open() as file, Path("/dev/null").open() as null:
        assert has_prompt(file.fileno(), 0)
        assert not has_prompt(null.fileno(), 0)
