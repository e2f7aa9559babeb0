"""What the agent that goes on with a broken turn gets of answers that were given before it."""

from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from betcode.domain.store.rows import CarriedState, PromptKind, PromptRow, PromptState
from betcode.domain.values.identifiers import RunKey, Seq, SessionKey
from betcode.engine.core import carried_answers
from betcode.engine.core.carried_answers import (
    ALLOWANCE_LASTS_NS,
    AskAgain,
    ReuseAnswer,
    mark_offered,
    mark_superseded,
    match_carried,
)

NOW = 10**18
OPEN, ANSWERED = PromptState.OPEN, PromptState.ANSWERED


def prompt(
    request_id: str = "new",
    tool: str = "Write",
    given_json: str = "{}",
    *,
    agent: str = "",
    kind: PromptKind = PromptKind.PERMISSION,
) -> PromptRow:
    return PromptRow(request_id, SessionKey(1), RunKey(2), kind, tool, given_json, b"", Seq(1), 1, agent_id=agent)


def left(
    decision: str = "", kept: CarriedState = CarriedState.NO, *, tool: str = "Write", old_json: str = "{}"
) -> PromptRow:
    """A prompt of an agent that is gone, answered a moment ago or not at all."""
    row = replace(prompt("old", tool, old_json), run=RunKey(1), kept=kept)
    return replace(row, state=ANSWERED, decision=decision, answered_ns=NOW - 1) if decision else row


TABLE = [
    # what was left, how it is told; is the answer given?
    (left(), "after asking this", False),
    (left(kept=CarriedState.OFFERED), "after asking this", False),
    (left("DENY", CarriedState.UNSPENT), "", True),
    (left("DENY_WITH_INTERRUPT", CarriedState.UNSPENT), "", True),
    (left("DENY", CarriedState.OFFERED), "", True),
    (left("ALLOW_ONCE", CarriedState.UNSPENT), "", True),
    (left("ALLOW_WITH_EDIT", CarriedState.UNSPENT), "", True),
    (left("ALLOW_ONCE", CarriedState.OFFERED), "You allowed this before the agent crashed", False),
    (left("ALLOW_ONCE", CarriedState.SPENT), "so it may have run already", False),
    (left("DENY", CarriedState.SPENT), "This was denied before", False),
]


@pytest.mark.parametrize(("old", "note", "is_given"), TABLE, ids=[f"{o.decision}-{o.kept}" for o, _, _ in TABLE])
@pytest.mark.behaviour("permission.restart.agent-gone")
def test_the_same_question_gets_what_the_table_says(old: PromptRow, note: str, is_given: bool) -> None:
    match match_carried(prompt(), [old], NOW):
        case ReuseAnswer() as given:
            assert is_given
            assert given.before is old
        case AskAgain() as asked:
            assert not is_given
            assert note in asked.note
            assert asked.supersedes == (None if old.kept is CarriedState.SPENT else old)


@pytest.mark.parametrize(
    ("old", "told"),
    [
        (left(), "asking for something different"),
        (left("ALLOW_ONCE", CarriedState.UNSPENT), "You allowed it, and the answer was not used"),
        (left("DENY", CarriedState.UNSPENT), "You denied it, and the answer was not used"),
    ],
)
@pytest.mark.behaviour("permission.restart.changed-input")
def test_a_changed_input_takes_the_place_of_the_old_prompt_and_no_answer_of_it(old: PromptRow, told: str) -> None:
    asked = match_carried(prompt(given_json='{"more":1}'), [old], NOW)
    assert isinstance(asked, AskAgain)
    assert asked.supersedes is old
    assert told in asked.note


def test_what_is_asked_of_another_tool_has_nothing_to_do_with_it() -> None:
    for old, _, _ in TABLE:
        assert match_carried(prompt(tool="Edit"), [old], NOW) == AskAgain()
        assert match_carried(prompt(kind=PromptKind.QUESTION), [old], NOW) == AskAgain()


@pytest.mark.parametrize("tool", ["Bash", "PowerShell"])
def test_an_allowed_command_is_offered_and_a_denied_one_is_denied(tool: str) -> None:
    offered = match_carried(prompt(tool=tool), [left("ALLOW_ONCE", CarriedState.UNSPENT, tool=tool)], NOW)
    assert isinstance(offered, AskAgain)
    assert offered.note == "You allowed this before the agent crashed"
    assert isinstance(
        match_carried(prompt(tool=tool), [left("DENY", CarriedState.UNSPENT, tool=tool)], NOW), ReuseAnswer
    )


@pytest.mark.parametrize(
    ("age", "is_given"),
    [(0, True), (ALLOWANCE_LASTS_NS, True), (ALLOWANCE_LASTS_NS + 1, False), (-1, False), (-ALLOWANCE_LASTS_NS, False)],
)
def test_an_allowance_lasts_a_quarter_of_an_hour_and_a_clock_set_back_ends_it(age: int, is_given: bool) -> None:
    old = replace(left("ALLOW_ONCE", CarriedState.UNSPENT), answered_ns=NOW - age)
    assert isinstance(match_carried(prompt(), [old], NOW), ReuseAnswer) == is_given


def test_a_subagent_gets_no_answer_that_another_was_given() -> None:
    old = replace(left("DENY", CarriedState.UNSPENT), agent_id="toolu_1")
    asked = match_carried(prompt(agent="toolu_2"), [old], NOW)
    assert isinstance(asked, AskAgain)
    assert asked.supersedes is old
    assert match_carried(prompt(), [old], NOW) == AskAgain()
    assert isinstance(match_carried(prompt(agent="toolu_1"), [old], NOW), ReuseAnswer)


def test_input_that_was_not_kept_as_it_came_is_never_the_same() -> None:
    asked = match_carried(prompt(given_json=""), [left("ALLOW_ONCE", CarriedState.UNSPENT, old_json="")], NOW)
    assert isinstance(asked, AskAgain)


def test_answers_to_a_part_of_the_same_questions_stay() -> None:
    old = replace(left(), kind=PromptKind.QUESTION, answers={"Which?": "red"})
    same = match_carried(prompt(kind=PromptKind.QUESTION), [old], NOW)
    other = match_carried(prompt(given_json="[]", kind=PromptKind.QUESTION), [old], NOW)
    assert isinstance(same, AskAgain)
    assert isinstance(other, AskAgain)
    assert (same.answers, other.answers) == ({"Which?": "red"}, {})


def test_a_denial_still_holds_after_something_else_was_asked() -> None:
    denied = mark_superseded(left("DENY", CarriedState.UNSPENT), "other")
    assert isinstance(match_carried(prompt(), [denied], NOW), ReuseAnswer)
    assert match_carried(prompt(given_json="[]"), [denied], NOW) == AskAgain(), "and is not superseded twice"
    allowed = mark_superseded(left("ALLOW_ONCE", CarriedState.UNSPENT), "other")
    assert (allowed.state, allowed.kept) == (PromptState.SUPERSEDED, CarriedState.NO)


# ---------------------------------------------------------------- any course of things

QUESTIONS = st.tuples(st.sampled_from(["Write", "Bash"]), st.sampled_from(["1", "2"]))
STEPS = st.one_of(
    st.tuples(st.just("ask"), QUESTIONS),
    st.tuples(st.just("answer"), st.tuples(st.integers(0, 3), st.sampled_from(["ALLOW_ONCE", "DENY"]))),
    st.tuples(st.just("hand over"), st.just(None)),
    st.tuples(st.just("lose the agent"), st.just(None)),
    st.tuples(st.just("wait"), st.integers(0, 2 * ALLOWANCE_LASTS_NS)),
)


@dataclass
class Course:
    """A turn with prompts and crashes, as intake and ending treat them."""

    now: int = NOW
    number: int = 0
    waits: dict[str, PromptRow] = field(default_factory=dict)
    on_the_way: dict[str, PromptRow] = field(default_factory=dict)  # answered, and not handed over
    heard: list[PromptRow] = field(default_factory=list)  # by the agent that lives now
    left: dict[str, PromptRow] = field(default_factory=dict)
    persons: dict[str, str] = field(default_factory=dict)  # which answer of a person a prompt was answered with
    told: list[tuple[str, PromptRow]] = field(default_factory=list)  # what agents heard, and whose answer it was
    superseded: set[str] = field(default_factory=set)
    asks_of_this_agent: int = 0

    def ask(self, tool: str, given_json: str) -> None:
        self.number += 1
        row = prompt(f"r{self.number}", tool, given_json)
        match match_carried(row, self.left.values(), self.now):
            case ReuseAnswer(before):
                assert before.input_json == given_json
                assert before.tool_name == tool
                if before.allows:
                    assert tool != "Bash"
                    assert self.asks_of_this_agent == 0, "only for the first that is asked"
                    assert self.now - before.answered_ns <= ALLOWANCE_LASTS_NS
                del self.left[before.request_id]
                self.persons[row.request_id] = self.persons[before.request_id]
                self.on_the_way[row.request_id] = replace(
                    row, state=ANSWERED, decision=before.decision, answered_ns=before.answered_ns
                )
            case AskAgain(note, old, _):
                spent = [one for one in self.left.values() if one.kept is CarriedState.SPENT and one.allows]
                if any((one.tool_name, one.input_json) == (tool, given_json) for one in spent):
                    assert "may have run" in note
                if old is not None:
                    after = mark_superseded(old, row.request_id)
                    del self.left[old.request_id]
                    self.superseded |= {old.request_id}
                    if after.state is not PromptState.SUPERSEDED:
                        self.left[old.request_id] = after
                self.waits[row.request_id] = row
        self.left |= {one.request_id: one for one in mark_offered(self.left.values())}
        self.asks_of_this_agent += 1

    def answer(self, which: int, decision: str) -> None:
        open_ones = [*self.waits.values(), *(row for row in self.left.values() if row.state is OPEN)]
        if not open_ones:
            return
        row = open_ones[which % len(open_ones)]
        answered = replace(row, state=ANSWERED, decision=decision, answered_ns=self.now)
        self.persons[row.request_id] = row.request_id
        if row.request_id in self.left:
            self.left[row.request_id] = carried_answers.mark_answered(answered)
        else:
            del self.waits[row.request_id]
            self.on_the_way[row.request_id] = answered

    def hand_over(self) -> None:
        for row in self.on_the_way.values():
            self.told.append((self.persons[row.request_id], row))
            self.heard.append(row)
        self.on_the_way.clear()

    def lose(self) -> None:
        self.left |= self.waits
        self.left |= {row.request_id: replace(row, kept=CarriedState.UNSPENT) for row in self.on_the_way.values()}
        self.left |= {row.request_id: replace(row, kept=CarriedState.SPENT) for row in self.heard}
        self.waits, self.on_the_way, self.heard = {}, {}, []
        self.asks_of_this_agent = 0


@given(st.lists(STEPS, max_size=30))
@pytest.mark.behaviour("permission.pending.none-lost")
def test_no_course_of_things_gives_one_answer_twice_or_loses_a_prompt(steps: list[tuple[str, object]]) -> None:
    course = Course()
    for what, more in steps:
        match what, more:
            case "ask", (str(tool), str(given_json)):
                course.ask(tool, given_json)
            case "answer", (int(which), str(decision)):
                course.answer(which, decision)
            case "hand over", _:
                course.hand_over()
            case "lose the agent", _:
                course.lose()
            case _, int(passed):
                course.now += passed
            case _:
                raise AssertionError(what)
        answers = [person for person, _ in course.told]
        assert len(answers) == len(set(answers)), "one answer was heard twice"
        open_ones = {*course.waits, *(row.request_id for row in course.left.values() if row.state is OPEN)}
        asked = {f"r{number}" for number in range(1, course.number + 1)}
        assert open_ones == asked - set(course.persons) - course.superseded, "a prompt was lost"
