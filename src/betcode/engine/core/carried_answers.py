"""Decide whether a crashed agent's prompts, and their answers, apply to a prompt of the agent that replaces it.

Pure. An orphaned prompt is open, or answered; for an answered one, `kept` is the state of its answer. The caller of
`match_carried` stores the result.

| left behind                 | the same is asked                      | the same tool, otherwise            |
|-----------------------------|----------------------------------------|-------------------------------------|
| open                        | asked anew, superseding                | asked anew, superseding             |
| denied, unheard             | the denial is given                    | asked anew, superseding; still kept |
| allowed, unheard, and first | given, if not too old and no command   | asked anew, superseding             |
| allowed, unheard, not first | asked anew, superseding, with a note   | asked anew, superseding             |
| heard by the lost agent     | asked anew with a note: it may have run | asked                               |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from betcode.domain.store.rows import CarriedState, PromptRow, PromptState
from betcode.rules.rule import COMMAND_TOOLS

ALLOWANCE_LASTS_NS = 15 * 60 * 1_000_000_000

ASKED_BEFORE = "The agent crashed after asking this. This request replaces the earlier one"
ASKED_OTHERWISE = "The agent crashed after asking for something different. This request replaces that one"
ANSWER_UNUSED = "{what}, and the answer was not used"
ALLOWED_BEFORE = "You allowed this before the agent crashed"
EDIT_DENIED = "You allowed this with edited input before the agent crashed. A rule now denies that input"
EDIT_UNCLEAR = (
    "You allowed this with edited input before the agent crashed. Whether a rule now denies that input is unknown"
)
MAY_HAVE_RUN = "This was allowed before the agent crashed, so it may have run already"
DENIED_BEFORE = "This was denied before the agent crashed"


@dataclass(frozen=True, slots=True)
class ReuseAnswer:
    """Reuse the answer to `before`; nobody is asked."""

    before: PromptRow


@dataclass(frozen=True, slots=True)
class AskAgain:
    """Ask a person."""

    note: str = ""  # what they must know
    supersedes: PromptRow | None = None
    answers: Mapping[str, str] = field(default_factory=dict)  # those that were given to a part of the same questions


def match_carried(asked: PromptRow, left: Iterable[PromptRow], now_ns: int) -> ReuseAnswer | AskAgain:
    """Decide whether a carried answer applies to the new prompt, or with which note a person is asked."""
    akin = [row for row in left if _is_akin(row, asked)]
    same = [row for row in akin if _is_same(row, asked)]
    for row in same:
        if _is_unheard(row) and not row.allows:
            return ReuseAnswer(row)
    for row in same:
        if row.kept is CarriedState.UNSPENT and _may_be_given(row, now_ns):
            return ReuseAnswer(row)
    old = next((row for row in [*same, *akin] if row.kept is not CarriedState.SPENT and not row.superseded_by), None)
    notes = [note for note in (_of_spent(same), _of_old(old, is_same=old in same)) if note]
    answers = old.answers if old is not None and old in same and old.state is PromptState.OPEN else {}
    return AskAgain(". ".join(notes), old, answers)


def reusable(asked: PromptRow, orphaned: Iterable[PromptRow]) -> list[PromptRow]:
    """Return the answered prompts whose answer might apply to the new one, whatever `match_carried` decides."""
    return [row for row in orphaned if _is_akin(row, asked) and _is_same(row, asked) and _is_unheard(row)]


def mark_offered(left: Iterable[PromptRow]) -> list[PromptRow]:
    """Return the rows that change after a prompt: an allowance only applies to the first prompt that follows."""
    return [replace(row, kept=CarriedState.OFFERED) for row in left if _awaits_the_first(row)]


def mark_superseded(row: PromptRow, by: str) -> PromptRow:
    """Return the prompt replaced by another. A denial still applies to the call that it was about."""
    if row.state is PromptState.ANSWERED and not row.allows:
        return replace(row, superseded_by=by)
    return replace(row, state=PromptState.SUPERSEDED, superseded_by=by, kept=CarriedState.NO)


def mark_answered(row: PromptRow) -> PromptRow:
    """Return a prompt answered after its agent ended: the answer is stored for the next agent."""
    return row if row.kept is CarriedState.OFFERED else replace(row, kept=CarriedState.UNSPENT)


def _awaits_the_first(row: PromptRow) -> bool:
    if row.state is PromptState.OPEN:
        return row.kept is CarriedState.NO
    return row.kept is CarriedState.UNSPENT and row.allows


def _is_akin(row: PromptRow, asked: PromptRow) -> bool:
    """The same tool and kind. A restarted subagent has another id, so ids are not compared."""
    return (row.kind, row.tool_name, bool(row.agent_id)) == (asked.kind, asked.tool_name, bool(asked.agent_id))


def _is_same(row: PromptRow, asked: PromptRow) -> bool:
    """Identical JSON from the same subagent. Input that could not be stored unchanged never matches."""
    return bool(asked.input_json) and (row.input_json, row.agent_id) == (asked.input_json, asked.agent_id)


def _is_unheard(row: PromptRow) -> bool:
    return row.state is PromptState.ANSWERED and row.kept in (CarriedState.UNSPENT, CarriedState.OFFERED)


def _may_be_given(row: PromptRow, now_ns: int) -> bool:
    """Allowances expire, and never apply to shell commands: the prompt does not name their directory."""
    is_recent = 0 <= now_ns - row.answered_ns <= ALLOWANCE_LASTS_NS
    return row.state is PromptState.ANSWERED and row.tool_name not in COMMAND_TOOLS and is_recent


def _of_spent(same: Sequence[PromptRow]) -> str:
    heard = [row for row in same if row.kept is CarriedState.SPENT]
    if any(row.allows for row in heard):
        return MAY_HAVE_RUN
    return DENIED_BEFORE if heard else ""


def _of_old(old: PromptRow | None, *, is_same: bool) -> str:
    if old is None:
        return ""
    if is_same:
        return ALLOWED_BEFORE if _is_unheard(old) else ASKED_BEFORE
    if not _is_unheard(old):
        return ASKED_OTHERWISE
    return f"{ASKED_OTHERWISE}. {ANSWER_UNUSED.format(what='You allowed it' if old.allows else 'You denied it')}"
