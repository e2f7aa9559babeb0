"""An edited tool input, typed as a line."""

import json

import pytest

from betcode.v1 import agent_pb2 as v1
from betcode.wording.edited_input import InvalidEdit, edited_in_line

BASH = v1.PermissionRequest(tool_name="Bash", input_json='{"command": "ls", "timeout": 12345678901234567890}')
EDIT = v1.PermissionRequest(tool_name="Edit", input_json='{"file_path": "/a"}')


def test_a_line_is_the_new_command_and_the_rest_stays() -> None:
    assert json.loads(edited_in_line(BASH, "ls -l")) == {"command": "ls -l", "timeout": 12345678901234567890}


def test_a_line_of_json_is_the_whole_input() -> None:
    assert edited_in_line(EDIT, '{"file_path": "/b"}') == '{"file_path": "/b"}'


@pytest.mark.parametrize(("request_", "line"), [(EDIT, "/b"), (BASH, '{"command"'), (BASH, "{]")])
def test_an_invalid_input_is_refused(request_: v1.PermissionRequest, line: str) -> None:
    with pytest.raises(InvalidEdit):
        edited_in_line(request_, line)


def test_an_input_that_cannot_be_read_is_not_edited() -> None:
    with pytest.raises(InvalidEdit):
        edited_in_line(v1.PermissionRequest(tool_name="Bash", input_json='{"command": "cut o'), "ls")
