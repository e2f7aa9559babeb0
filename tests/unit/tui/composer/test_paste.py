"""The classification of pastes."""

import shlex
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from betcode.tui.composer.attachments import read_dropped, read_named
from betcode.tui.composer.paste import (
    LIMIT_BYTES,
    DroppedFiles,
    LongText,
    ShortText,
    TooLong,
    classify,
    dropped_paths,
    writable,
)
from betcode.wording.attachments import CannotAttach
from support.files import JPEG

names = st.text(
    min_size=1, max_size=20, alphabet=st.characters(exclude_characters="/\0", exclude_categories=["Cs", "Cc"])
)


@pytest.mark.parametrize(
    ("pasted", "means"),
    [
        ("two\rlines", ShortText("two\nlines")),
        ("ten\n" * 10, ShortText("ten\n" * 10)),
        ("eleven\r\n" * 11, LongText("eleven\n" * 11, 11)),
        ("x" * 2001, LongText("x" * 2001, 1)),
        ("\x1b]0;title\x07", ShortText("␛]0;title␇")),
        ("half \ud800", ShortText("half \ufffd")),
        ("/not/a path that is", ShortText("/not/a path that is")),
        ("file://elsewhere/etc/hosts", ShortText("file://elsewhere/etc/hosts")),
    ],
)
def test_short_and_long_texts_are_distinguished(pasted: str, means: object) -> None:
    assert classify(pasted) == means


def test_too_much_is_refused_in_a_sentence() -> None:
    refused = classify("x" * (LIMIT_BYTES + 1))
    assert isinstance(refused, TooLong)
    assert "limit is 5.0 MB" in refused.message
    assert isinstance(classify("x\n" * 2_000_000), LongText)


@given(st.lists(names, min_size=1, max_size=3))
def test_paths_are_found_as_every_terminal_writes_them(files: list[str]) -> None:
    paths = tuple(Path("/home") / f"a{name}" for name in files)
    assert dropped_paths(" ".join(shlex.quote(str(path)) for path in paths) + " ") == paths
    assert dropped_paths("\n".join("file://" + quote(str(path)) for path in paths)) == paths


def test_a_bare_path_with_a_space_is_a_file_where_there_is_one(tmp_path: Path) -> None:
    file = tmp_path / "two words.png"
    file.write_bytes(JPEG)
    assert classify(f"{file}\n") == DroppedFiles((file,), f"{file}\n")
    assert dropped_paths(str(file).replace(" ", "\\ ")) == (file,)


def test_only_readable_types_are_attached(tmp_path: Path) -> None:
    for name, data in (("a.png", JPEG), ("b.txt", "ä".encode() * 5000), ("c.bin", b"\0\1"), ("empty", b"")):
        (tmp_path / name).write_bytes(data)
    found = read_dropped([tmp_path / "a.png", tmp_path / "b.txt"])
    assert found is not None
    assert [file.mime_type for file in found] == ["image/jpeg", "text/plain"]
    for other in ("c.bin", "missing", "."):
        assert read_dropped([tmp_path / other]) is None
    with pytest.raises(CannotAttach, match="not an image"):
        read_named([tmp_path / "c.bin"])
    with (tmp_path / "huge.txt").open("wb") as file:
        file.truncate(11 * 1024 * 1024)
        file.write(b"text")
    with pytest.raises(CannotAttach, match=r"an attachment is 10\.5 MB"):
        read_named([tmp_path / "huge.txt"])


@given(st.text())
def test_invisible_characters_in_a_draft_are_shown(text: str) -> None:
    assert not any(letter in writable(text) for letter in "\x1b\x07\x9b\u202e\r")
