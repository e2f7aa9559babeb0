"""Prompts whose agent ended: they can be answered until their turn is continued or given up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from betcode.domain.permissions.audit import AuditEntry, AuditKind, DecidedBy, input_hash
from betcode.domain.store.changes import AddAudit, Change, SavePrompt
from betcode.domain.store.rows import CarriedState, InputKind, InputRow, PromptRow, PromptState
from betcode.domain.values.identifiers import SessionId
from betcode.engine.core import events
from betcode.v1 import agent_pb2 as v1

STAYS_OPEN = "The agent that asked has ended. Its question stays open; your answer is stored for the next agent"
NOT_ASKED_AGAIN = "The turn has ended, and the next agent did not ask again"
NOT_CONTINUED = "The agent that asked has ended, and its turn is not continued"
GIVEN_UP = "The agent that asked has ended and is not restarted"
CANCELLED = "The turn was cancelled"
_UNUSED = "The stored answer for {tool} was not used: the agent did not ask again"
SUPERSEDED = "The next agent has asked this again"
SUPERSEDED_OTHERWISE = "The next agent has asked for something different"


@dataclass(slots=True)
class PromptEffects:
    """Events to append and changes to store."""

    said: list[v1.AgentEvent] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)


def withdraw_prompts(
    session_id: SessionId,
    rows: Iterable[PromptRow],
    why: str,
    now_ns: int,
    by: DecidedBy = DecidedBy.AGENT,
    stopped_by: str = "",
) -> PromptEffects:
    """These prompts can come to nothing any more, nor can answers that were kept; `by` whom, says the audit.

    `stopped_by` is the client of a person.
    """
    client = stopped_by if by is DecidedBy.PERSON else ""
    done = PromptEffects()
    for row in rows:
        if row.state is PromptState.OPEN:
            done.said.append(events.resolved(row.request_id, "withdrawn", message=why))
            done.changes.append(
                SavePrompt(replace(row, state=PromptState.WITHDRAWN, kept=CarriedState.NO, message=why))
            )
            done.changes.append(audit_change(session_id, row, "withdrawn", by, now_ns, client=client, note=why))
            continue
        if row.kept is not CarriedState.SPENT:
            message = _UNUSED.format(tool=row.tool_name)
            done.said.append(events.notice(v1.NOTICE_KIND_RUN, message, request_id=row.request_id))
        done.changes.append(SavePrompt(replace(row, kept=CarriedState.NO)))
    return done


def orphan(
    waiting: Mapping[str, PromptRow], inputs: Iterable[InputRow], answered: Iterable[PromptRow], *, is_whole: bool
) -> PromptEffects:
    """Leave the prompts of an agent to the next one of its turn; `is_whole`: its journal is known to be complete.

    `waiting` are its open prompts, `answered` those that were answered in the turn.
    """
    done = PromptEffects()
    if waiting:
        done.said.append(events.notice(v1.NOTICE_KIND_RUN, STAYS_OPEN, request_ids=" ".join(waiting)))
    unheard = {row.content.decode() for row in inputs if _is_unheard(row, is_whole=is_whole)}
    for row in answered:
        kept = CarriedState.UNSPENT if row.request_id in unheard else CarriedState.SPENT
        done.changes.append(SavePrompt(replace(row, kept=kept)))
    return done


def _is_unheard(row: InputRow, *, is_whole: bool) -> bool:
    """An answer without a number was never handed over; of one with a number only a whole journal can tell."""
    return row.kind is InputKind.ANSWER and (row.number == 0 or is_whole)


def audit_change(
    session_id: SessionId,
    row: PromptRow,
    outcome: str,
    by: DecidedBy,
    now_ns: int,
    *,
    rule: str = "",
    client: str = "",
    peer: str = "",
    note: str = "",
) -> AddAudit:
    """The audit's line of what was decided about a prompt."""
    about = (session_id, row.request_id, row.tool_name, input_hash(row.input_json))
    return AddAudit(AuditEntry(now_ns, *about, AuditKind.DECISION, outcome, by, rule, client, peer, note))


def still_open(left: Mapping[str, PromptRow]) -> list[PromptRow]:
    return [row for row in left.values() if row.state is PromptState.OPEN]
