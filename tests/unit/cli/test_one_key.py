import pytest

from betcode.cli.permission.one_key import Quit, Skip, Write, keys_line, understand_key
from betcode.v1 import agent_pb2 as v1
from betcode.wording.prompts import Allow, AllowSession, Deny, DenyAndStop, Permission, Question, Reply, ShowAll

PUSH = Permission(
    v1.PermissionRequest(
        tool_name="Bash", grant_offers=[v1.GrantOffer(pattern="Bash(git push)"), v1.GrantOffer(pattern="Bash(git *)")]
    )
)
COLOUR = Question(
    v1.UserQuestion(question="Which?", options=[v1.QuestionOption(label="red"), v1.QuestionOption(label="blue")])
)


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("y", Allow()),
        ("n", Deny()),
        ("i", DenyAndStop()),
        ("2", AllowSession("Bash(git *)")),
        ("t", Write()),
        ("v", ShowAll()),
        ("k", Skip()),
        ("q", Quit()),
        ("", Quit()),
        ("\x04", Quit()),
    ],
)
def test_one_key_answers_a_permission(key: str, said: object) -> None:
    assert understand_key(PUSH, key) == said


@pytest.mark.parametrize("key", ["3", "0", "Y", "\n", " ", "yy", "yes", "\x1b[A", "²"])
def test_any_other_key_answers_nothing(key: str) -> None:
    assert understand_key(PUSH, key) is None


def test_a_question_is_answered_by_its_number() -> None:
    assert understand_key(COLOUR, "2") == Reply("blue")
    assert understand_key(COLOUR, "n") == Deny()
    assert [understand_key(COLOUR, key) for key in ("3", "y", "i")] == [None, None, None]


def test_the_line_of_keys_lists_the_possible_answers() -> None:
    assert "1-2 = for this session" in keys_line(PUSH)
    assert "for this session" not in keys_line(Permission(v1.PermissionRequest(tool_name="Bash")))
    assert "1-2 = choose" in keys_line(COLOUR)
