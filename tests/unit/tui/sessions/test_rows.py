"""A session in one line."""

import pytest

from betcode.tui.sessions.rows import called, headed
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


def test_a_head_line_stays_while_the_agent_speaks() -> None:
    unnamed = v1.SessionSummary(working_directory="/home/dev/project", last_message_preview="**speaks**")
    assert headed(unnamed, "") == "project"
    assert headed(unnamed, "mend the tests") == "project · mend the tests"
    unnamed.worktree_name = "tapirs"
    assert headed(unnamed, "") == "tapirs"
    assert headed(v1.SessionSummary(name="Tapirs", working_directory="/p"), "mend the tests") == "Tapirs"
