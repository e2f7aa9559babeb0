"""What an answer to a prompt comes to."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from betcode.domain.errors import BetcodeError, InvalidRequest, PermissionStale
from betcode.domain.permissions.audit import DecidedBy
from betcode.domain.runs.state import CancelStep
from betcode.domain.store.changes import AddInput, ClearGrant
from betcode.domain.store.rows import CarriedState, InputKind, PromptKind, PromptRow, PromptState
from betcode.engine.client_name import ClientName
from betcode.engine.core.answer import (
    GroupAnswer,
    answer_group,
    group_decision,
    partly_answered,
    refuse_if_cancelled,
    refuse_if_denied,
    resolve,
)
from betcode.engine.core.decision import Advance, RetryNow
from betcode.engine.core.prompt_decision import PromptDecision
from betcode.engine.core.view import RunView
from betcode.v1 import agent_pb2 as v1
from support.engine.core_values import CAPABLE, KEY, NOW_NS, audited, brief, other, prompt, run, saved_prompts, session

CLIENT = ClientName("c1", "cli")
ALLOW, DENY = PromptDecision(v1.ALLOW_ONCE), PromptDecision(v1.DENY, message="no")
EXPLAINS = replace(CAPABLE, denial_message=True)


@pytest.mark.parametrize(
    ("decision", "outcome"), [(ALLOW, "allow"), (DENY, "deny"), (PromptDecision(v1.DENY_WITH_INTERRUPT), "deny")]
)
def test_the_answered_prompt_and_its_audit_entry_are_stored(decision: PromptDecision, outcome: str) -> None:
    done = resolve(session(prompts={"p1": prompt()}, capabilities=EXPLAINS), prompt(), decision, CLIENT, NOW_NS)
    stored = saved_prompts(done.changes)["p1"]
    assert (stored.state, stored.decision, stored.message) == (PromptState.ANSWERED, decision.name, decision.message)
    assert (stored.answered_by, stored.answered_by_type, stored.answered_ns) == ("c1", "cli", NOW_NS)
    assert (stored.kept, brief(done.events)) == (CarriedState.NO, ["answered p1"])
    assert audited(done.changes) == [("p1", outcome, DecidedBy.PERSON)]


def test_an_answer_of_the_client_itself_is_audited_as_policy() -> None:
    done = resolve(session(), prompt(), replace(ALLOW, by_policy=True), CLIENT, NOW_NS)
    assert audited(done.changes) == [("p1", "allow", DecidedBy.POLICY)]


@pytest.mark.parametrize(
    ("before", "kept"), [(CarriedState.NO, CarriedState.UNSPENT), (CarriedState.OFFERED, CarriedState.OFFERED)]
)
def test_the_answer_to_an_orphaned_prompt_is_stored_for_the_next_agent(
    before: CarriedState, kept: CarriedState
) -> None:
    orphan = prompt(kept=before)
    done = resolve(session(orphaned={"p1": orphan}), orphan, ALLOW, CLIENT, NOW_NS)
    assert saved_prompts(done.changes)["p1"].kept is kept


def test_people_are_told_where_the_agent_does_not_get_their_reason() -> None:
    assert brief(resolve(session(), prompt(), DENY, CLIENT, NOW_NS).events) == ["answered p1", "notice"]
    assert brief(resolve(session(), prompt(), replace(DENY, message=""), CLIENT, NOW_NS).events) == ["answered p1"]


@pytest.mark.parametrize(
    ("agent", "is_orphan", "refused"),
    [
        (None, False, False),
        (run(), False, False),
        (run(CancelStep.INTERRUPTED), False, True),
        (run(CancelStep.LEAVING), False, True),
        (run(CancelStep.INTERRUPTED), True, False),
    ],
)
def test_an_answer_after_a_cancel_is_stale_unless_the_next_agent_gets_it(
    agent: RunView | None, is_orphan: bool, refused: bool
) -> None:
    rows = {"p1": prompt()}
    about = session(orphaned=rows) if is_orphan else session(prompts=rows)
    if refused:
        with pytest.raises(PermissionStale):
            refuse_if_cancelled(about, agent, prompt())
    else:
        refuse_if_cancelled(about, agent, prompt())


@pytest.mark.parametrize(
    ("edited", "words"), [("", "A rule now denies this"), ("{}", "A rule denies the edited input")]
)
def test_what_a_rule_denies_cannot_be_allowed(edited: str, words: str) -> None:
    decision = replace(ALLOW, updated_input=edited)
    refuse_if_denied(prompt(), decision, "")
    with pytest.raises(InvalidRequest, match=rf"^{words} \(Edit\(/x\)\)"):
        refuse_if_denied(prompt(), decision, "Edit(/x)")


def group(answers: Mapping[str, str] | None = None, state: PromptState = PromptState.OPEN) -> PromptRow:
    shown = v1.AgentEventBatch()
    for question in ("Which?", "When?"):
        shown.events.add().user_question.question = question
    decision = "ALLOW_ONCE" if state is PromptState.ANSWERED else ""
    return prompt(
        kind=PromptKind.QUESTION,
        event=shown.SerializeToString(),
        answers=answers or {},
        state=state,
        decision=decision,
    )


WHICH, WHEN = {"Which?": "a"}, {"When?": "now"}
BOTH = {**WHICH, **WHEN}
DONE = group(BOTH, PromptState.ANSWERED)


@pytest.mark.parametrize(
    ("row", "answers", "result"),
    [
        (group(), WHICH, GroupAnswer(WHICH, is_repeated=False, is_complete=False)),
        (group(WHICH), WHICH, GroupAnswer(WHICH, is_repeated=True, is_complete=False)),
        (group(WHICH), WHEN, GroupAnswer(BOTH, is_repeated=False, is_complete=True)),
        (group(), BOTH, GroupAnswer(BOTH, is_repeated=False, is_complete=True)),
        (DONE, BOTH, GroupAnswer(BOTH, is_repeated=True, is_complete=True)),
        (DONE, WHEN, GroupAnswer(BOTH, is_repeated=True, is_complete=True)),
    ],
)
def test_answers_to_a_group_are_collected(row: PromptRow, answers: dict[str, str], result: GroupAnswer) -> None:
    assert answer_group(row, answers, is_open=row.state is PromptState.OPEN) == result


@pytest.mark.parametrize(
    ("row", "answers", "error"),
    [
        (group(WHICH), {"Which?": "b"}, PermissionStale),
        (DONE, {"Which?": "b"}, PermissionStale),
        (DONE, {"Other?": "b"}, PermissionStale),
        (group(state=PromptState.EXPIRED), WHICH, PermissionStale),
        (group(WHICH, PromptState.WITHDRAWN), WHICH, PermissionStale),
        (group(), {"Other?": "b"}, InvalidRequest),
        (group(), {"Which?": " "}, InvalidRequest),
        (group(), {}, InvalidRequest),
        (prompt(), WHICH, InvalidRequest),
        (prompt(state=PromptState.EXPIRED), WHICH, InvalidRequest),
    ],
)
def test_answers_that_do_not_fit_the_group_are_refused(
    row: PromptRow, answers: dict[str, str], error: type[BetcodeError]
) -> None:
    with pytest.raises(error):
        answer_group(row, answers, is_open=row.state is PromptState.OPEN)


def test_a_part_of_the_answers_is_stored_with_who_gave_it() -> None:
    given = answer_group(group(), WHICH, is_open=True)
    stored = saved_prompts(partly_answered(group(), given, CLIENT, NOW_NS).changes)["p1"]
    assert (stored.state, stored.answers, stored.answered_by, stored.answered_ns) == (
        PromptState.OPEN,
        WHICH,
        "c1",
        NOW_NS,
    )
    assert group_decision(given) == PromptDecision(v1.ALLOW_ONCE, answers=WHICH)


def test_the_agent_that_waits_gets_the_answer_and_a_grant_is_stored_with_it() -> None:
    reply, cleared = other(InputKind.ANSWER), ClearGrant(KEY, "Bash", "Bash(ls)")
    about = session(prompts={"p1": prompt()})
    done = resolve(about, prompt(), ALLOW, CLIENT, NOW_NS, reply=reply, granted=[cleared])
    assert done.changes[2:] == (AddInput(reply), cleared)
    assert done.effects == (Advance(),)


def test_an_answer_to_an_orphaned_prompt_ends_the_wait_for_the_next_agent() -> None:
    done = resolve(session(orphaned={"p1": prompt()}), prompt(), ALLOW, CLIENT, NOW_NS)
    assert done.effects == (RetryNow(), Advance())
