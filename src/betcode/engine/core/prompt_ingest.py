"""Handle the prompts in a batch of records: decide by rule, reuse an earlier answer, or ask a person."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from betcode.domain.agents.commands import AnswerPermission, Behaviour
from betcode.domain.events.size_limit import bound
from betcode.domain.permissions.audit import DecidedBy
from betcode.domain.store.changes import AddAudit, AddBlob, Change, SavePrompt
from betcode.domain.store.rows import (
    NO_SEQ,
    CarriedState,
    InputKind,
    InputRow,
    PromptKind,
    PromptRow,
    PromptState,
    RunRow,
)
from betcode.domain.values.identifiers import Seq, SessionId, SessionKey
from betcode.engine.core import carried_answers, events, orphaned_prompts
from betcode.engine.core.orphaned_prompts import audit_change
from betcode.engine.core.record_batch import NO_REVIEW, PromptReview, ScreeningResult
from betcode.engine.core.state import Session, SessionDraft
from betcode.v1 import agent_pb2 as v1

USED_BEFORE = "this request id was used before"
_REFUSED = "The agent reused the id of an earlier request, and was refused"
_DECIDED_IN_VAIN = "The agent withdrew its request before it received the decision. The decision had no effect"


@dataclass(frozen=True, slots=True)
class _Asked:
    """What came of a new prompt, so that it can be taken back."""

    row: PromptRow
    said: range
    changes: Sequence[Change]


@dataclass(slots=True)
class PromptIngest:
    """The prompts of a batch, and the events and changes that follow from them."""

    key: SessionKey
    session_id: SessionId
    session: Session  # before the batch
    next_seq: Seq
    now_ns: int
    stopped_by: str = ""  # the client that cancels the turn
    reviews: Mapping[str, PromptReview] = field(default_factory=dict)  # of new prompts, by request id
    said: list[v1.AgentEvent] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    draft: SessionDraft = field(init=False)  # the session with these changes
    asked: dict[str, _Asked] = field(default_factory=dict)  # new prompts
    asked_again: list[str] = field(default_factory=list)  # ids that came twice, taken back in between: to be refused
    given: list[PromptRow] = field(default_factory=list)  # new prompts that are answered as one before them was
    decided: list[ScreeningResult] = field(default_factory=list)  # what rules and grants answer by themselves

    def __post_init__(self) -> None:
        self.draft = SessionDraft(self.session)

    @property
    def inputs(self) -> Mapping[str, InputRow]:
        return self.draft.inputs

    def change(self, change: Change) -> None:
        """Add a change to the commit."""
        self.changes.append(change)
        self.draft.add(change)

    def open_prompt(self, row: PromptRow, shown: list[v1.AgentEvent]) -> bool:
        """A new prompt: answered by rules and grants (True), by what was said to an agent before, or put to people.

        A deny of either kind is stronger than an allowance, and so is a person's edit.
        """
        if self._came_before(row.request_id):
            self._refuse_again(row)
            return True
        review = self.reviews.get(row.request_id, NO_REVIEW)
        screened = review.screened
        carried = carried_answers.match_carried(row, self.draft.orphaned.values(), self.now_ns)
        recalled = _unless_refused(carried, review)
        if screened is not None and screened.answer is not None and not _restricts(recalled, screened.answer):
            self.decided.append(screened)
            self._pass_over()
            return True
        said, changes = len(self.said), len(self.changes)
        match recalled:
            case carried_answers.ReuseAnswer() as given:
                self._give(row, given.before, shown, review.peers.get(given.before.request_id, ""))
            case carried_answers.AskAgain() as asked:
                self._ask(row, asked, shown, screened)
            case never:
                assert_never(never)
        self.asked[row.request_id] = _Asked(row, range(said, len(self.said)), self.changes[changes:])
        self._pass_over()
        return False

    def _pass_over(self) -> None:
        for row in carried_answers.mark_offered(self.draft.orphaned.values()):
            self.change(SavePrompt(row))

    def was_decided(self, request_id: str) -> bool:
        """Whether rules or grants have answered, and the agent has not heard it yet."""
        decided = {screened.answer.request_id for screened in self.decided if screened.answer is not None}
        about = request_id.encode("utf-8", "replace")
        rows = (row for row in self.inputs.values() if row.kind is InputKind.CONTROL)
        return request_id in decided or any(row.content == about for row in rows)

    def _ask(
        self,
        row: PromptRow,
        asked: carried_answers.AskAgain,
        shown: list[v1.AgentEvent],
        screened: ScreeningResult | None,
    ) -> None:
        if screened is not None:
            self.change(AddAudit(screened.entry))
            shown[0].permission_request.deciding_rule = screened.why
            shown[0].permission_request.segments.extend(screened.segments)
        if screened is not None and screened.asks_each_time:
            del shown[0].permission_request.grant_offers[:]  # no grant would change it
        old = asked.supersedes
        if old is not None:
            self._supersede(old, row)
        for event in shown:
            request = event.permission_request if event.HasField("permission_request") else event.user_question
            request.note = ". ".join(note for note in (request.note, asked.note) if note)
            request.supersedes = old.request_id if old is not None else ""
        row = replace(self._with_events(row, shown), answers=asked.answers)
        self.said += shown
        self.change(SavePrompt(row))

    def _give(self, row: PromptRow, before: PromptRow, shown: list[v1.AgentEvent], peer: str) -> None:
        row = replace(
            self._with_events(row, shown),
            state=PromptState.ANSWERED,
            decision=before.decision,
            answers=before.answers,
            answered_by=before.answered_by,
            answered_by_type=before.answered_by_type,
            answered_ns=before.answered_ns,
            message=before.message,
            updated_input=before.updated_input,
            grant_pattern=before.grant_pattern,
        )
        self.said.append(events.answered_before(row, before.request_id))
        self.given.append(row)
        self.change(SavePrompt(row))
        self.change(SavePrompt(replace(before, kept=CarriedState.NO, superseded_by=row.request_id)))
        outcome = "allow" if row.allows else "deny"
        who = {"client": row.answered_by, "peer": peer}
        note = f"the answer to {before.request_id}"
        self.change(audit_change(self.session_id, row, outcome, DecidedBy.KEPT_ANSWER, self.now_ns, **who, note=note))

    def _supersede(self, old: PromptRow, by: PromptRow) -> None:
        after = carried_answers.mark_superseded(old, by.request_id)
        same = old.input_json == by.input_json
        why = orphaned_prompts.SUPERSEDED if same else orphaned_prompts.SUPERSEDED_OTHERWISE
        self.said.append(events.superseded(old.request_id, by.request_id, why))
        self.change(SavePrompt(after))
        note = f"by {by.request_id}: {why}"
        self.change(audit_change(self.session_id, old, "superseded", DecidedBy.AGENT, self.now_ns, note=note))

    def _with_events(self, row: PromptRow, shown: list[v1.AgentEvent]) -> PromptRow:
        """The row with what people are shown of it; what is cut from that is kept whole."""
        bounded = [bound(event) for event in shown]
        self.changes.extend(AddBlob(self.key, blob) for _, blobs in bounded for blob in blobs)
        shown[:] = stored = [event for event, _ in bounded]
        is_group = row.kind is PromptKind.QUESTION
        data = v1.AgentEventBatch(events=stored).SerializeToString() if is_group else stored[0].SerializeToString()
        return replace(row, event=data, seq=Seq(self.next_seq + len(self.said)))

    def refuse(self, request_id: str) -> None:
        """Take a new prompt back: its id means another one already, so no answer could be told apart."""
        asked = self.asked.pop(request_id)
        self.given = [row for row in self.given if row.request_id != request_id]
        self.changes = [change for change in self.changes if not any(change is other for other in asked.changes)]
        self.draft = SessionDraft(self.session)
        for change in self.changes:
            self.draft.add(change)
        for place in asked.said:
            self.said[place] = events.malformed(_REFUSED)
        self.change(audit_change(self.session_id, asked.row, "refused", DecidedBy.GATE, self.now_ns, note=USED_BEFORE))

    def _came_before(self, request_id: str) -> bool:
        """In these records: what was decided, or shown, is about the other one of that id."""
        decided = (screened.answer for screened in self.decided)
        return request_id in self.asked or any(each is not None and each.request_id == request_id for each in decided)

    def _refuse_again(self, row: PromptRow) -> None:
        self.asked_again.append(row.request_id)
        self.decided = [each for each in self.decided if each.entry.request_id != row.request_id]
        self.said.append(events.malformed(_REFUSED))
        self.change(audit_change(self.session_id, row, "refused", DecidedBy.GATE, self.now_ns, note=USED_BEFORE))

    def close_prompt(self, resolved: v1.PermissionResolved, *, is_cancelled: bool) -> bool:
        """The agent does not wait for an answer any more; False: it was decided, and has one end."""
        row = self.draft.prompts.get(resolved.request_id)
        if row is None:
            self.said.append(events.notice(v1.NOTICE_KIND_RUN, _DECIDED_IN_VAIN, request_id=resolved.request_id))
            return False
        by, why = (DecidedBy.PERSON, orphaned_prompts.CANCELLED) if is_cancelled else (DecidedBy.AGENT, "")
        resolved.message = resolved.message or why
        self.change(SavePrompt(replace(row, state=PromptState.WITHDRAWN, message=why)))
        client = self.stopped_by if is_cancelled else ""
        self.change(audit_change(self.session_id, row, "withdrawn", by, self.now_ns, client=client, note=why))
        return True


def _unless_refused(
    recalled: carried_answers.ReuseAnswer | carried_answers.AskAgain, review: PromptReview
) -> carried_answers.ReuseAnswer | carried_answers.AskAgain:
    """A person is asked again about an edit that a rule denies by now."""
    if isinstance(recalled, carried_answers.AskAgain):
        return recalled
    note = review.refused_edits.get(recalled.before.request_id)
    return recalled if note is None else carried_answers.AskAgain(note, recalled.before)


def _restricts(recalled: carried_answers.ReuseAnswer | carried_answers.AskAgain, answer: AnswerPermission) -> bool:
    """Whether a person has denied what a rule or a grant allows, or wants something else to run in its place."""
    if isinstance(recalled, carried_answers.AskAgain) or answer.behaviour is not Behaviour.ALLOW:
        return False
    return not recalled.before.allows or bool(recalled.before.updated_input)


def permission_row(event: v1.AgentEvent, session: SessionKey, run: RunRow) -> PromptRow:
    """Return the row of a new permission request."""
    request = event.permission_request
    return PromptRow(
        request_id=request.request_id,
        session=session,
        run=run.key,
        kind=PromptKind.PERMISSION,
        tool_name=request.tool_name,
        input_json=request.input_json,
        event=b"",
        seq=NO_SEQ,
        asked_ns=event.timestamp.ToNanoseconds(),
        description=request.description,
        tool_use_id=request.tool_use_id,
        agent_id=event.parent_tool_use_id,
    )


def question_row(questions: list[v1.AgentEvent], session: SessionKey, run: RunRow) -> PromptRow:
    """Return the row of a group of new questions."""
    first = questions[0]
    return PromptRow(
        request_id=first.user_question.group_id,
        session=session,
        run=run.key,
        kind=PromptKind.QUESTION,
        tool_name="AskUserQuestion",
        input_json=first.user_question.input_json,
        event=b"",
        seq=NO_SEQ,
        asked_ns=first.timestamp.ToNanoseconds(),
        agent_id=first.parent_tool_use_id,
    )
