"""What a conversation's records tell: what is open, what the model reads, and what is left out when it gets long."""

from hypothesis import given
from hypothesis import strategies as st

from betcode.agents.openai.history import LEFT_OUT, History, OpenCall
from betcode.agents.openai.records import (
    AnswerReported,
    Call,
    CallBegun,
    ContentPart,
    Ended,
    ModelAnswer,
    Record,
    ToolOutput,
    Trimmed,
    UserMessage,
)

LS, CAT = Call("call_0", "shell", '{"command":"ls"}'), Call("call_1", "shell", '{"command":"cat"}')


def message(number: int, text: str = "Work") -> UserMessage:
    return UserMessage(f"m{number}", (ContentPart(text),))


def exchange(number: int, size: int) -> list[Record]:
    """A turn with a call whose output has that size."""
    return [
        message(number),
        ModelAnswer("Looking.", (LS,)),
        AnswerReported(),
        CallBegun("call_0"),
        ToolOutput("call_0", "x" * size),
        ModelAnswer("Done."),
        Ended(f"m{number}", "end_turn"),
    ]


def test_a_call_is_open_until_it_has_an_output_and_begun_from_its_beginning_on() -> None:
    history = History([message(1), ModelAnswer("", (LS, CAT)), AnswerReported(), CallBegun("call_0")])
    assert history.open_calls == (OpenCall(LS, is_begun=True), OpenCall(CAT, is_begun=False))
    history.note(ToolOutput("call_0", "a.txt"))
    assert list(history.open_calls) == [OpenCall(CAT, is_begun=False)]


def test_ids_that_a_server_gives_twice_are_told_apart() -> None:
    history = History([*exchange(1, 10), message(2), ModelAnswer("", (LS,)), AnswerReported()])
    assert history.open_calls == (OpenCall(LS, is_begun=False),)


def test_every_call_has_an_id_of_its_own() -> None:
    history = History(exchange(1, 10))
    calls = (LS, LS, Call("", "read", "{}"), Call("x" * 5000, "read", "{}"))
    items: list[dict[str, object]] = [{"type": "function_call", "call_id": call.call_id} for call in calls]
    own = history.with_own_ids(ModelAnswer("", calls, ({"type": "reasoning"}, *items)))
    ids = [call.call_id for call in own.calls]
    assert len({*ids, "call_0"}) == 5
    assert all(0 < len(each) <= 64 for each in ids)
    assert [item.get("call_id") for item in own.items] == [None, *ids]


def test_what_comes_behind_an_output_that_was_left_out_is_shown() -> None:
    """Also where the server calls all its calls the same."""
    history = History([message(1)])
    for size in (3000, 600):
        answer = history.with_own_ids(ModelAnswer("", (LS,)))
        history.note(answer)
        history.note(ToolOutput(answer.calls[0].call_id, "x" * size))
        if size == 3000:
            trimmed = history.trimmed_to(100)
            assert trimmed is not None
            history.note(trimmed)
    assert [each.text for each in history.shown if isinstance(each, ToolOutput)] == [LEFT_OUT, "x" * 600]


def test_a_turn_is_open_until_it_is_ended() -> None:
    history = History([message(1), ModelAnswer("Half")])
    assert (history.message_id, history.is_told) == ("m1", False)
    history.note(Ended("m1", "cancelled"))
    assert history.message_id == ""
    assert history.knows("m1")
    assert history.end_of("m1") == Ended("m1", "cancelled")


def test_the_oldest_exchanges_go_first_and_whole() -> None:
    history = History([*exchange(1, 3000), *exchange(2, 3000), *exchange(3, 3000), message(4)])
    trimmed = history.trimmed_to(1200)
    assert trimmed == Trimmed(2)
    history.note(trimmed)
    assert history.shown[0] == message(3)
    assert history.tokens <= 1200


def test_of_the_newest_exchange_only_outputs_are_left_out() -> None:
    history = History([message(1), ModelAnswer("", (LS,)), ToolOutput("call_0", "x" * 3000), ModelAnswer("", (CAT,))])
    history.note(ToolOutput("call_1", "short"))
    trimmed = history.trimmed_to(100)
    assert trimmed == Trimmed(0, ("call_0",))
    history.note(trimmed)
    assert [each.text for each in history.shown if isinstance(each, ToolOutput)] == [LEFT_OUT, "short"]
    assert history.trimmed_to(1) is None


@given(st.lists(st.integers(0, 5000), min_size=1, max_size=8), st.integers(1, 3000))
def test_however_it_is_trimmed_every_call_has_its_output_and_the_newest_message_stays(
    sizes: list[int], tokens: int
) -> None:
    records = [record for number, size in enumerate(sizes) for record in exchange(number, size)]
    history = History([*records, message(99)])
    while (trimmed := history.trimmed_to(tokens)) is not None:
        before = history.tokens
        history.note(trimmed)
        assert history.tokens < before
    called = [call.call_id for each in history.shown if isinstance(each, ModelAnswer) for call in each.calls]
    given_back = [each.call_id for each in history.shown if isinstance(each, ToolOutput)]
    assert called == given_back
    assert history.shown[-1] == message(99)
    assert isinstance(history.shown[0], UserMessage)


def test_what_the_api_counted_is_believed() -> None:
    history = History(exchange(1, 300))
    history.measured(5000)
    assert history.tokens == 5000
    history.note(message(2, "x" * 300))
    assert 5050 <= history.tokens <= 5150
