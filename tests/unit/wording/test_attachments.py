"""Files as attachments."""

import os
from pathlib import Path

import pytest

from betcode.wording.attachments import CannotAttach, read_files
from support.files import JPEG


def test_a_file_is_sent_with_its_name_and_type(tmp_path: Path) -> None:
    (tmp_path / "photo.png").write_bytes(JPEG)
    (tmp_path / "notes.md").write_text("words")
    (tmp_path / "broken.pdf").write_text("words")
    files = read_files([str(tmp_path / name) for name in ("photo.png", "notes.md", "broken.pdf")])
    assert [(file.filename, file.mime_type) for file in files] == [
        ("photo.png", "image/jpeg"),
        ("notes.md", "text/markdown"),
        ("broken.pdf", ""),
    ]
    assert files[0].data == JPEG


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name, says in (("", "a directory"), ("missing", "is missing"), ("pipe", "not a regular file")):
        with pytest.raises(CannotAttach, match=says):
            read_files([str(tmp_path / name)])


def test_a_too_large_file_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "disk").open("wb") as file:
        file.truncate(10**12)
    with pytest.raises(CannotAttach, match="attach a smaller file"):
        read_files([str(tmp_path / "disk")])
