"""A session in one line."""

import pytest

from betcode.tui.sessions.rows import called
from betcode.v1 import agent_pb2 as v1


@pytest.mark.parametrize(
    ("preview", "name"),
    [
        ("## A tour in a minute", "A tour in a minute"),
        ("Here is **one** with `code`", "Here is one with code"),
        ("snake_case and 2 * 3 stay", "snake_case and 2 * 3 stay"),
        ("", "new, in project"),
    ],
)
def test_a_session_without_a_name_is_called_by_its_last_words(preview: str, name: str) -> None:
    assert called(v1.SessionSummary(working_directory="/home/dev/project", last_message_preview=preview)) == name
