"""The effect of keys on a card, with time passed in."""

import pytest

from betcode.tui.cards.card_state import (
    CardMode,
    CardState,
    Effect,
    GiveAnswer,
    LeaveCard,
    NextCard,
    TooEarly,
    hints,
    press,
    typed,
)
from betcode.v1 import agent_pb2 as v1
from betcode.wording.prompts import Allow, AllowSession, Deny, DenyAndStop, PromptAnswer, Reply

OFFERS = [v1.GrantOffer(pattern="Bash(ls)", label="this command"), v1.GrantOffer(pattern="Bash", label="every use")]
BASH = v1.PermissionRequest(request_id="a", tool_name="Bash", input_json='{"command": "ls"}', grant_offers=OFFERS)
PLAN = v1.PermissionRequest(request_id="a", tool_name="ExitPlanMode", input_json='{"plan": "do it"}')
BUDGET = v1.PermissionRequest(request_id="a", tool_name="Budget", description="Spent. Raise it?")
RED_BLUE = [v1.QuestionOption(label="red"), v1.QuestionOption(label="blue")]


def permission(request: v1.PermissionRequest = BASH) -> CardState:
    return CardState(v1.PendingPrompt(request_id="a", permission=request), shown_at=10.0)


def question(*, several: bool = False, count: int = 1, answers: dict[str, str] | None = None) -> CardState:
    questions = [
        v1.UserQuestion(question_id=f"a/{each}", question=f"Which {each}?", options=RED_BLUE, multi_select=several)
        for each in range(count)
    ]
    group = v1.QuestionGroup(questions=questions, answers=answers or {})
    return CardState(v1.PendingPrompt(request_id="a", questions=group), shown_at=10.0)


def pressed(state: CardState, *keys: str, now: float = 20.0) -> tuple[CardState, Effect | None]:
    effect: Effect | None = None
    for key in keys:
        state, effect = press(state, key, now)
    return state, effect


@pytest.mark.parametrize(
    ("keys", "given"),
    [
        ("y", Allow()),
        ("n", Deny()),
        ("s", DenyAndStop()),
        ("a 1", AllowSession("Bash(ls)")),
        ("a 2", AllowSession("Bash")),
    ],
)
def test_one_key_is_one_answer(keys: str, given: PromptAnswer) -> None:
    assert pressed(permission(), *keys.split())[1] == GiveAnswer(given)


@pytest.mark.parametrize("key", ["y", "n", "s", "a", "d", "e", "v"])
def test_no_key_counts_before_the_card_could_be_read(key: str) -> None:
    state = permission()
    assert press(state, key, 10.39) == (state, TooEarly())
    assert press(state, key, 10.41)[1] != TooEarly()


def test_leaving_and_turning_to_other_cards_need_no_reading() -> None:
    assert press(permission(), "escape", 10.0)[1] == LeaveCard()
    assert press(permission(), "right_square_bracket", 10.0)[1] == NextCard(1)
    assert press(permission(), "left", 10.0)[1] == NextCard(-1)


@pytest.mark.parametrize("keys", ["a 3", "a y", "a n", "a x", "1", "x", "enter", "Y"])
def test_an_invalid_key_answers_nothing(keys: str) -> None:
    assert not isinstance(pressed(permission(), *keys.split())[1], GiveAnswer)


def test_escape_goes_back_one_step_at_a_time() -> None:
    state, _ = pressed(permission(), "a", "t")
    assert state.mode is CardMode.PATTERN
    assert pressed(state, "escape")[0].mode is CardMode.PATTERNS
    assert pressed(state, "escape", "escape")[0].mode is CardMode.CHOOSE
    assert pressed(state, "escape", "escape", "escape")[1] == LeaveCard()


def test_text_in_a_field_is_not_a_key() -> None:
    state, _ = pressed(permission(), "d")
    assert pressed(state, "y") == (state, None)
    assert typed(state, "  not now ") == GiveAnswer(Deny("not now"))
    assert typed(state, "") == GiveAnswer(Deny())


def test_a_pattern_of_ones_own_is_typed_and_never_empty() -> None:
    state, _ = pressed(permission(), "a", "t")
    assert typed(state, "Bash(ls *)") == GiveAnswer(AllowSession("Bash(ls *)"))
    assert typed(state, " ") is None


@pytest.mark.parametrize("request_", [PLAN, BUDGET])
def test_plans_and_budgets_are_not_edited_and_not_granted_for_good(request_: v1.PermissionRequest) -> None:
    state = permission(request_)
    assert pressed(state, "e") == (state, None)
    assert pressed(state, "a") == (state, None)
    assert "edit" not in hints(state)
    assert "always" not in hints(state)
    assert pressed(state, "y")[1] == GiveAnswer(Allow())


@pytest.mark.parametrize(
    ("keys", "text"), [("2", "blue"), ("enter", "red"), ("down enter", "blue"), ("up enter", "blue")]
)
def test_an_option_is_chosen_by_its_number_or_where_the_cursor_is(keys: str, text: str) -> None:
    assert pressed(question(), *keys.split())[1] == GiveAnswer(Reply(text))


def test_several_options_are_marked_and_then_sent() -> None:
    state, effect = pressed(question(several=True), "2", "1", "2", "down", "down")
    assert (state.chosen, effect) == (frozenset({0}), None)
    assert pressed(state, "enter")[1] == GiveAnswer(Reply("red"))
    assert pressed(state, "space", "enter")[1] == GiveAnswer(Reply("red, blue"))
    assert pressed(question(several=True), "enter")[1] is None
    assert pressed(question(several=True), "2", "1", "enter")[1] == GiveAnswer(Reply("red, blue"))


def test_a_question_may_be_answered_in_own_words_or_not_at_all() -> None:
    state, _ = pressed(question(), "t")
    assert typed(state, "green ") == GiveAnswer(Reply("green"))
    assert typed(state, "  ") is None
    assert pressed(question(), "n")[1] == GiveAnswer(Deny())


def test_of_a_group_the_first_that_has_no_answer_is_asked() -> None:
    state = question(count=3, answers={"Which 0?": "red"})
    assert state.question is not None
    assert state.question.question == "Which 1?"
    assert state.shows_the_same(state.prompt)
    assert not state.shows_the_same(question(count=3, answers={"Which 0?": "red", "Which 1?": "red"}).prompt)
