"""Decide what an answer to a prompt comes to: what is stored, what followers see, and whether it is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from betcode.domain.errors import InvalidRequest, PermissionStale
from betcode.domain.permissions.audit import AuditEntry, AuditKind, DecidedBy, input_hash
from betcode.domain.store.changes import AddAudit, AddInput, Change, SavePrompt
from betcode.domain.store.rows import InputRow, PromptKind, PromptRow, PromptState
from betcode.domain.values.identifiers import SessionId
from betcode.engine.client_name import ClientName
from betcode.engine.core import carried_answers, events
from betcode.engine.core.capability_checks import denial_reason_notice
from betcode.engine.core.decision import Advance, Decision, Effect, RetryNow
from betcode.engine.core.prompt_decision import PromptDecision, answered_before, same_as_before
from betcode.engine.core.questions import check_answers, questions_of
from betcode.engine.core.view import RunView, SessionView
from betcode.v1 import agent_pb2 as v1


def resolve(
    session: SessionView,
    prompt: PromptRow,
    decision: PromptDecision,
    client: ClientName,
    now_ns: int,
    *,
    reply: InputRow | None = None,
    granted: Sequence[Change] = (),
) -> Decision:
    """The answered prompt, its audit entry and the event. The answer to an orphaned prompt waits for the next agent.

    `reply` is the answer to the agent, if one waits; `granted` stores the rule that the answer adds.
    """
    answered, entry = decision_changes(session.session_id, prompt, decision, client, now_ns)
    effects: tuple[Effect, ...] = (Advance(),)
    if prompt.request_id in session.orphaned:
        answered = carried_answers.mark_answered(answered)
        effects = (RetryNow(), Advance())
    said = [events.answered(prompt.request_id, decision, client)]
    if note := denial_reason_notice(decision, session.info.provider, session.capabilities):
        said.append(events.notice(v1.NOTICE_KIND_AGENT, note, request_id=prompt.request_id))
    told: tuple[Change, ...] = () if reply is None else (AddInput(reply),)
    return Decision(tuple(said), (SavePrompt(answered), entry, *told, *granted), effects=effects)


def refuse_if_cancelled(session: SessionView, run: RunView | None, prompt: PromptRow) -> None:
    """Raises PermissionStale where a cancel came first: the agent takes its request back and would not read it."""
    if run is not None and run.row.cancel_step and prompt.request_id in session.prompts:
        raise PermissionStale(
            "The turn is being cancelled, so this request cannot be answered", request_id=prompt.request_id
        )


def refuse_if_denied(prompt: PromptRow, decision: PromptDecision, rule: str) -> None:
    """Raises InvalidRequest where a rule denies what would run: after an allowance the agent checks no rule."""
    if rule:
        what = "A rule denies the edited input" if decision.updated_input else "A rule now denies this"
        raise InvalidRequest(f"{what} ({rule}): deny it, or change the rule", request_id=prompt.request_id)


@dataclass(frozen=True, slots=True)
class GroupAnswer:
    """What answers to some questions of a group come to."""

    answers: Mapping[str, str]  # all that are given by now
    is_repeated: bool  # they had been given before
    is_complete: bool  # no question of the group is open any more


def answer_group(row: PromptRow, answers: Mapping[str, str], *, is_open: bool) -> GroupAnswer:
    """Add answers to those that the group has.

    Raises:
        InvalidRequest: an answer belongs to no question of the group, or cannot be one.
        PermissionStale: a question was answered differently, or none can be answered any more.
    """
    if not is_open and row.kind is PromptKind.QUESTION and not answers.keys() <= row.answers.keys():
        same_as_before(row, _chosen(answers))  # who is too late need not know its wording
    check_answers(row, answers)
    for text, answer in answers.items():
        if row.answers.get(text, answer) != answer:
            raise answered_before(row, text)
    given = {**row.answers, **answers}
    if not is_open:
        return GroupAnswer(given, is_repeated=same_as_before(row, _chosen(given)), is_complete=True)
    is_complete = all(question.question in given for question in questions_of(row))
    return GroupAnswer(given, is_repeated=not is_complete and given == row.answers, is_complete=is_complete)


def group_decision(group: GroupAnswer) -> PromptDecision:
    return _chosen(group.answers)


def partly_answered(prompt: PromptRow, group: GroupAnswer, client: ClientName, now_ns: int) -> Decision:
    """The prompt with the answers so far; the agent gets them when none is missing."""
    return Decision(changes=(SavePrompt(replace(with_decider(prompt, client, now_ns), answers=group.answers)),))


def _chosen(answers: Mapping[str, str]) -> PromptDecision:
    return PromptDecision(v1.ALLOW_ONCE, answers=answers)


# ---------------------------------------------------------------- records of a person's decision


def with_decider(prompt: PromptRow, client: ClientName, now_ns: int) -> PromptRow:
    """Return the prompt with the client that answered it (or part of it) and the time."""
    return replace(prompt, answered_by=client.client_id, answered_by_type=client.client_type, answered_ns=now_ns)


def decision_changes(
    session: SessionId, prompt: PromptRow, decision: PromptDecision, client: ClientName, now_ns: int
) -> tuple[PromptRow, AddAudit]:
    """Return the answered prompt and the audit entry of the decision."""
    answered = replace(
        with_decider(prompt, client, now_ns),
        state=PromptState.ANSWERED,
        decision=decision.name,
        answers=decision.answers,
        idempotency_key=decision.idempotency_key,
        message=decision.message,
        updated_input=decision.updated_input,
        grant_pattern=decision.grant_pattern,
    )
    return answered, AddAudit(_entry(session, prompt, decision, client, now_ns))


def _entry(
    session: SessionId, prompt: PromptRow, decision: PromptDecision, client: ClientName, now_ns: int
) -> AuditEntry:
    edited = f", run with other input, sha256 {input_hash(decision.updated_input)}" if decision.updated_input else ""
    return AuditEntry(
        at_ns=now_ns,
        session_id=session,
        request_id=prompt.request_id,
        tool_name=prompt.tool_name,
        input_sha256=input_hash(prompt.input_json),
        what=AuditKind.DECISION,
        outcome="allow" if decision.allows else "deny",
        decided_by=DecidedBy.POLICY if decision.by_policy else DecidedBy.PERSON,
        client=client.client_id,
        peer=client.peer,
        note=decision.name + edited,
    )
