"""The agent's answer, streamed and final."""

from hypothesis import given
from hypothesis import strategies as st

from betcode.v1.agent_pb2 import AgentEvent, TextDelta
from betcode.wording.answer import AnswerText


def said(text: str, *, settled: bool = False, message: str = "m1", block: int = 0, parent: str = "") -> AgentEvent:
    delta = TextDelta(text=text, is_complete=settled, message_id=message, block=block)
    return AgentEvent(parent_tool_use_id=parent, text_delta=delta)


@given(st.lists(st.text(max_size=8), max_size=12))
def test_deltas_and_their_settled_text_print_the_text_once(pieces: list[str]) -> None:
    answer = AnswerText()
    whole = "".join(pieces)
    printed = "".join(answer.take(said(piece)) for piece in pieces)
    printed += answer.take(said(whole, settled=True))
    assert printed == whole
    assert answer.whole == whole


def test_text_without_deltas_prints_when_it_settles() -> None:
    assert AnswerText().take(said("hello", settled=True)) == "hello"


def test_void_deltas_are_followed_by_the_true_text() -> None:
    answer = AnswerText()
    answer.take(said("Hel"))
    assert answer.take(said("Good day", settled=True)) == "\n\nGood day"
    assert answer.whole == "Good day"


def test_two_blocks_stand_apart() -> None:
    answer = AnswerText()
    printed = answer.take(said("one", settled=True)) + answer.take(said("two", block=1, settled=True))
    assert printed == "one\n\ntwo" == answer.whole


def test_a_subagents_words_are_not_the_answer() -> None:
    answer = AnswerText()
    assert answer.take(said("aside", parent="tool_1")) == ""
    assert answer.whole == ""


def test_the_whole_text_of_a_truncated_event_is_used() -> None:
    answer = AnswerText()
    answer.take(said("abc"))
    assert answer.take(said("ab…cut", settled=True), settled="abcdef") == "def"


def test_an_interrupted_block_has_the_streamed_text() -> None:
    answer = AnswerText()
    answer.take(said("half a sen"))
    assert answer.whole == "half a sen"


def test_deltas_that_came_to_nothing_are_no_part_of_the_answer() -> None:
    answer = AnswerText()
    answer.take(said("Hel"))
    assert answer.take(said("", settled=True)) == ""
    assert answer.take(said("Good day", message="m2", settled=True)) == "\n\nGood day"
    assert answer.whole == "Good day"


def test_a_block_that_ends_its_line_needs_one_line_less() -> None:
    answer = AnswerText()
    printed = answer.take(said("one\n", settled=True)) + answer.take(said("two", block=1, settled=True))
    assert printed == "one\n\ntwo"
