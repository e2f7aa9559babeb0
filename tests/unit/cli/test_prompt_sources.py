"""What may stand on stdin beside a prompt."""

import os
from pathlib import Path

import pytest

from betcode.cli.run.prompt_sources import StdinSilent, says_more


def test_a_pipe_is_read_where_something_comes_or_it_ends() -> None:
    reading, writing = os.pipe()
    try:
        with pytest.raises(StdinSilent):
            says_more(reading, 0)
        os.write(writing, b"x")
        assert says_more(reading, 0)
        os.read(reading, 1)
    finally:
        os.close(writing)
    assert says_more(reading, 0)
    os.close(reading)
    assert not says_more(reading, 0)


def test_a_file_is_read_and_dev_null_is_not(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with (tmp_path / "file").open() as file, Path("/dev/null").open() as null:
        assert says_more(file.fileno(), 0)
        assert not says_more(null.fileno(), 0)
