"""Prompts that are withdrawn, and stored answers that nobody used."""

import pytest

from betcode.domain.permissions.audit import DecidedBy
from betcode.domain.store.changes import AddAudit
from betcode.domain.store.rows import CarriedState, PromptRow, PromptState
from betcode.engine.core.orphaned_prompts import still_open, withdraw_prompts
from support.engine.core_values import NOW_NS, SESSION, audited, brief, prompt, saved_prompts

ANSWERED = {"state": PromptState.ANSWERED, "decision": "ALLOW_ONCE"}


@pytest.mark.parametrize(
    ("row", "said", "state", "entries"),
    [
        (prompt(), ["withdrawn p1"], PromptState.WITHDRAWN, [("p1", "withdrawn", DecidedBy.AGENT)]),
        (
            prompt(kept=CarriedState.OFFERED),
            ["withdrawn p1"],
            PromptState.WITHDRAWN,
            [("p1", "withdrawn", DecidedBy.AGENT)],
        ),
        (prompt(kept=CarriedState.UNSPENT, **ANSWERED), ["notice"], PromptState.ANSWERED, []),
        (prompt(kept=CarriedState.OFFERED, **ANSWERED), ["notice"], PromptState.ANSWERED, []),
        (prompt(kept=CarriedState.SPENT, **ANSWERED), [], PromptState.ANSWERED, []),
    ],
)
def test_a_prompt_is_withdrawn_and_an_unused_answer_is_reported(
    row: PromptRow, said: list[str], state: PromptState, entries: list[tuple[str, str, DecidedBy]]
) -> None:
    done = withdraw_prompts(SESSION, [row], "why", NOW_NS)
    assert brief(done.said) == said
    after = saved_prompts(done.changes)["p1"]
    assert (after.state, after.kept) == (state, CarriedState.NO)
    assert audited(done.changes) == entries


@pytest.mark.parametrize(("by", "client"), [(DecidedBy.PERSON, "c1"), (DecidedBy.AGENT, "")])
def test_the_audit_names_the_client_of_a_person_and_the_time(by: DecidedBy, client: str) -> None:
    done = withdraw_prompts(SESSION, [prompt()], "why", NOW_NS, by, "c1")
    (entry,) = [change.entry for change in done.changes if isinstance(change, AddAudit)]
    assert (entry.at_ns, entry.decided_by, entry.client, entry.note) == (NOW_NS, by, client, "why")


def test_only_open_prompts_wait_for_a_person() -> None:
    rows = {"p1": prompt(), "p2": prompt("p2", **ANSWERED)}
    assert still_open(rows) == [rows["p1"]]
