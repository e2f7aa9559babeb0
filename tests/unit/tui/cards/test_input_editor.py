"""The editable part of an input."""

import json

import pytest

from betcode.tui.cards.input_editor import Draft
from betcode.v1 import agent_pb2 as v1
from betcode.wording.edited_input import InvalidEdit


def draft(tool: str, given: object) -> Draft:
    return Draft(v1.PermissionRequest(tool_name=tool, input_json=json.dumps(given)))


@pytest.mark.parametrize(
    ("tool", "field"), [("Bash", "command"), ("Write", "content"), ("Edit", "new_string"), ("Shell", "command")]
)
def test_the_main_text_is_edited_and_the_rest_stays(tool: str, field: str) -> None:
    one = draft(tool, {"file_path": "/a", field: "old"})
    assert (one.title, one.text) == (field, "old")
    assert json.loads(one.checked("new\nline")) == {"file_path": "/a", field: "new\nline"}
    assert json.loads(one.whole("new")) == {"file_path": "/a", field: "new"}


def test_any_other_input_is_edited_as_json() -> None:
    one = draft("WebFetch", {"url": "http://a"})
    assert json.loads(one.text) == {"url": "http://a"}
    assert json.loads(one.checked('{"url": "http://b"}')) == {"url": "http://b"}
    for text in ("http://b", "[]", '{"url": ""}', "{"):
        with pytest.raises(InvalidEdit):
            one.checked(text)


def test_a_file_is_all_of_the_input() -> None:
    one = draft("Bash", {"command": "ls", "timeout": 1})
    assert json.loads(one.checked(b'{"command": "pwd"}\n')) == {"command": "pwd"}
    with pytest.raises(InvalidEdit, match="not text"):
        one.checked(b'{"command": "\xe9"}')


def test_an_emptied_command_is_none() -> None:
    with pytest.raises(InvalidEdit, match="no command"):
        draft("Bash", {"command": "ls"}).checked("  ")
