"""Changes to files as diffs."""

import os
from pathlib import Path

import pytest

from betcode.tui.cards.changes import changed_path, changes_of, read_local, unified


def test_a_written_file_is_compared_with_the_old_one() -> None:
    given = {"file_path": "/a", "content": "one\n2\n"}
    assert changes_of("Write", given, "one\ntwo\n")[0].diff == ["@@ -1,2 +1,2 @@", " one", "-two", "+2"]
    [new] = changes_of("Write", given, None)
    assert new.title == "/a (whole file)"
    assert new.diff == ["@@ -0,0 +1,2 @@", "+one", "+2"]


def test_an_edit_has_the_line_numbers_of_the_file_where_it_is_known() -> None:
    given = {"file_path": "/a", "old_string": "x", "new_string": "y"}
    on_disk = "a\nb\nc\nd\ne\nx\nf"
    assert changes_of("Edit", given, on_disk)[0].diff == ["@@ -3,5 +3,5 @@", " c", " d", " e", "-x", "+y", " f"]
    assert changes_of("Edit", given, "another file")[0].diff == ["@@ -1 +1 @@", "-x", "+y"]


def test_several_edits_are_made_one_after_the_other() -> None:
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "b", "new_string": "c", "replace_all": True}]
    given = {"file_path": "/a", "edits": edits}
    assert changes_of("MultiEdit", given, "a\nb")[0].diff == ["@@ -1,2 +1,2 @@", "-a", "-b", "+c", "+c"]
    assert [change.title for change in changes_of("MultiEdit", given, None)] == ["/a", "/a (all occurrences)"]


def test_a_cell_is_compared_with_the_old_one() -> None:
    given = {"notebook_path": "/n.ipynb", "cell_id": "c1", "new_source": "print(2)", "edit_mode": "replace"}
    notebook = '{"cells": [{"id": "c0", "source": "x"}, {"id": "c1", "source": ["print(1)"]}]}'
    assert changes_of("NotebookEdit", given, notebook)[0].diff == ["@@ -1 +1 @@", "-print(1)", "+print(2)"]
    assert changes_of("NotebookEdit", given, "no json")[0].diff == ["@@ -0,0 +1 @@", "+print(2)"]


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Edit", {"file_path": "/a", "old_string": 3}),
        ("MultiEdit", {"edits": "none"}),
        ("MultiEdit", {"edits": [None]}),
        ("Write", {"content": None}),
        ("Bash", {"command": "ls"}),
    ],
)
def test_an_odd_input_has_no_diff(tool: str, given: dict[str, object]) -> None:
    assert changes_of(tool, given, None) == []


def test_files_too_long_to_be_compared_are_shown_as_they_were_and_will_be() -> None:
    lines = unified("a\n" * 3000, "b\n" * 3000)
    assert lines[0] == "@@ -1,3000 +1,3000 @@"
    assert (lines.count("-a"), lines.count("+b")) == (3000, 3000)


def test_only_plain_texts_are_read(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("x")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    assert read_local(changed_path("Write", {"file_path": "a"}, str(tmp_path))) == "x"
    for name in ("pipe", "bytes", "missing", ""):
        assert read_local(str(tmp_path / name)) is None
    assert changed_path("Write", {"file_path": "a\0b"}, "/") == changed_path("Read", {"file_path": "a"}, "/") == ""
