"""`apply`: what each change makes of a session."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from betcode.domain.runs.state import RunState
from betcode.domain.sessions.status import SessionStatus
from betcode.domain.store.changes import (
    AddGrant,
    AddInput,
    AssignInput,
    Change,
    ClearGrant,
    MoveInput,
    SavePrompt,
    SaveRun,
    SaveSession,
)
from betcode.domain.store.rows import (
    CarriedState,
    GrantRow,
    InputKind,
    InputRow,
    InputState,
    PromptKind,
    PromptRow,
    PromptState,
    RunRow,
    SessionState,
)
from betcode.domain.values.identifiers import RunId, RunKey, Seq, SessionKey
from betcode.engine.core.state import NO_RUN, Session, apply, restored, without_agent

KEY = SessionKey(1)


def run(key: int, state: RunState = RunState.RUNNING) -> RunRow:
    return RunRow(RunKey(key), KEY, RunId(f"run-{key}"), state, 1)


def message(name: str, *, content: bytes = b"", number: int = 0, of: int | None = None) -> InputRow:
    sent_to = None if of is None else RunKey(of)
    return InputRow(name, KEY, InputKind.MESSAGE, b"bytes", run=sent_to, number=number, content=content)


def prompt(
    name: str, of: int = 2, state: PromptState = PromptState.OPEN, kept: CarriedState = CarriedState.NO
) -> PromptRow:
    kind = PromptKind.PERMISSION
    return PromptRow(name, KEY, RunKey(of), kind, "Bash", "{}", b"", Seq(1), 1, state=state, kept=kept)


def grant(pattern: str, *, allows: bool = True) -> GrantRow:
    return GrantRow(KEY, "Bash", pattern, allows, 1)


WAITING = Session(SessionState(), run(2), {"m": message("m")}, {"p": prompt("p")}, {"o": prompt("o", of=1)})
ENDED = prompt("p", state=PromptState.ANSWERED)


@pytest.mark.parametrize(
    ("change", "inputs"),
    [
        (AddInput(message("n")), ["m", "n"]),
        (AddInput(message("n", content=b"n")), ["n", "m"]),  # the engine's own: the broken turn is continued first
        (MoveInput(KEY, "m", InputState.DELIVERED), ["m"]),
        (MoveInput(KEY, "m", InputState.CONSUMED), []),
        (MoveInput(KEY, "m", InputState.CANCELLED), []),
        (MoveInput(KEY, "m", InputState.UNKNOWN), []),
        (MoveInput(KEY, "gone", InputState.CANCELLED), ["m"]),
        (AssignInput(KEY, "gone", RunKey(1), 1, b""), ["m"]),
    ],
)
def test_inputs_are_open_until_their_final_state_and_in_order_of_delivery(change: Change, inputs: list[str]) -> None:
    assert list(apply(WAITING, [change]).inputs) == inputs


def test_an_assigned_input_has_its_run_number_and_bytes() -> None:
    after = apply(WAITING, [AssignInput(KEY, "m", RunKey(2), 7, b"addressed")]).inputs["m"]
    assert (after.run, after.number, after.payload) == (RunKey(2), 7, b"addressed")


@pytest.mark.parametrize(
    ("changes", "prompts", "orphaned"),
    [
        ([SavePrompt(prompt("q"))], ["p", "q"], ["o"]),
        ([SavePrompt(prompt("q", of=3))], ["p"], ["o", "q"]),  # of a run that is not the live one
        ([SavePrompt(ENDED)], [], ["o"]),
        ([SavePrompt(replace(ENDED, kept=CarriedState.SPENT))], [], ["o", "p"]),
        ([SavePrompt(prompt("o", of=1, state=PromptState.WITHDRAWN))], ["p"], []),
        ([SavePrompt(prompt("o", of=1, kept=CarriedState.OFFERED))], ["p"], ["o"]),
        ([SaveRun(run(2, RunState.EXITED))], [], ["o", "p"]),
        ([SaveRun(run(2, RunState.BACKING_OFF))], [], ["o", "p"]),
        ([SaveRun(run(2, RunState.EXITED)), SavePrompt(prompt("p", state=PromptState.WITHDRAWN))], [], ["o"]),
        ([SaveRun(run(3))], ["p"], ["o"]),  # two runs never live at once: the first one's end comes first
        ([SaveRun(run(1, RunState.EXITED))], ["p"], ["o"]),  # an earlier one
    ],
)
def test_prompts_belong_to_the_live_agent_or_are_orphaned(
    changes: Sequence[Change], prompts: list[str], orphaned: list[str]
) -> None:
    after = apply(WAITING, changes)
    assert (list(after.prompts), list(after.orphaned)) == (prompts, orphaned)


def test_a_prompt_of_no_run_is_the_budgets() -> None:
    asked = prompt("b", of=NO_RUN)
    open_ = apply(WAITING, [SavePrompt(asked)])
    assert (open_.budget_prompt, open_.prompts) == (asked, WAITING.prompts)
    assert apply(open_, [SavePrompt(replace(asked, state=PromptState.ANSWERED))]).budget_prompt is None
    other = prompt("old", of=NO_RUN, state=PromptState.WITHDRAWN)
    assert apply(open_, [SavePrompt(other)]).budget_prompt == asked


def test_a_grant_replaces_the_one_of_its_pattern() -> None:
    after = apply(WAITING, [AddGrant(grant("a")), AddGrant(grant("b")), AddGrant(grant("a", allows=False))])
    assert after.grants == (grant("b"), grant("a", allows=False))
    assert apply(after, [ClearGrant(KEY, "Bash", "a")]).grants == (grant("b"),)


def test_the_newest_run_is_kept_after_its_end() -> None:
    assert apply(WAITING, [SaveRun(run(2, RunState.EXITED))]).run == run(2, RunState.EXITED)
    assert apply(WAITING, [SaveRun(run(3)), SaveRun(run(2, RunState.EXITED))]).run == run(3)


def test_a_change_of_the_state_touches_nothing_else() -> None:
    state = SessionState(status=SessionStatus.ACTIVE)
    assert apply(WAITING, [SaveSession(KEY, state)]) == replace(WAITING, state=state)


def test_the_value_itself_never_changes() -> None:
    before = (dict(WAITING.inputs), dict(WAITING.prompts), dict(WAITING.orphaned), WAITING.grants)
    changes: list[Change] = [
        MoveInput(KEY, "m", InputState.CONSUMED),
        SaveRun(run(2, RunState.EXITED)),
        AddGrant(grant("a")),
    ]
    apply(WAITING, changes)
    assert (WAITING.inputs, WAITING.prompts, WAITING.orphaned, WAITING.grants) == before


def test_without_its_agent_every_prompt_is_orphaned() -> None:
    after = without_agent(WAITING)
    assert (list(after.prompts), list(after.orphaned)) == ([], ["o", "p"])


def test_a_restored_session_has_its_rows_where_apply_put_them() -> None:
    rows = [*WAITING.prompts.values(), *WAITING.orphaned.values()]
    assert restored(WAITING.state, WAITING.run, WAITING.inputs.values(), rows, ()) == WAITING
