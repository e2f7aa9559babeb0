"""Handle the prompts in a batch of records: decide by rule, reuse an earlier answer, or ask a person."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

import anyio.lowlevel

from betcode.domain.agents.commands import AnswerPermission, Behaviour
from betcode.domain.bounded_io import FilesystemTimeout
from betcode.domain.events.size_limit import bound
from betcode.domain.permissions.audit import DecidedBy
from betcode.domain.store.changes import AddAudit, AddBlob, Change, SavePrompt
from betcode.domain.store.rows import CarriedState, InputKind, InputRow, PromptKind, PromptRow, PromptState
from betcode.domain.values.identifiers import Seq, SessionId, SessionKey
from betcode.engine.core import carried_answers, events, orphaned_prompts
from betcode.engine.core.orphaned_prompts import audit_change
from betcode.engine.permissions.screening import ScreeningResult
from betcode.v1 import agent_pb2 as v1

USED_BEFORE = "this request id was used before"
_REFUSED = "The agent asked under an id that was used before, and was refused"
_DECIDED_IN_VAIN = "The agent took its request back before it heard what was decided: that had no effect"


@dataclass(frozen=True, slots=True)
class _Asked:
    """What came of a new prompt, so that it can be taken back."""

    row: PromptRow
    said: range
    changes: Sequence[Change]
    old: PromptRow | None  # that it took the place or the answer of
    same_id: PromptRow | None  # that was open under its id, and still is in the store


@dataclass(slots=True)
class PromptIngest:
    """The prompts of a batch, and what is said and stored because of them; the rows it starts from are not touched."""

    session: SessionKey
    next_seq: Seq
    inputs: dict[str, InputRow]  # open ones, by id
    prompts: dict[str, PromptRow]  # open ones, by request id
    orphaned: dict[str, PromptRow]  # those of lost agents, for the one that goes on with their turn
    session_id: SessionId
    now_ns: int
    screen: Callable[[v1.PermissionRequest], Awaitable[ScreeningResult]] | None = (
        None  # None: everything is put to people
    )
    said: list[v1.AgentEvent] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    denial: Callable[[PromptRow, str], Awaitable[str]] | None = None  # which rule denies a use with this input
    offer: Callable[[v1.PermissionRequest], Awaitable[None]] | None = None  # says with a request what may be granted
    peer_of: Callable[[PromptRow], Awaitable[str]] | None = None  # the process that an answer came from
    stopped_by: str = ""  # the client that cancels the turn
    asked: dict[str, _Asked] = field(default_factory=dict)  # new prompts
    asked_again: list[str] = field(default_factory=list)  # ids that came twice, taken back in between: to be refused
    given: list[PromptRow] = field(default_factory=list)  # new prompts that are answered as one before them was
    decided: list[ScreeningResult] = field(default_factory=list)  # what rules and grants answer by themselves

    async def open_prompt(self, row: PromptRow, shown: list[v1.AgentEvent]) -> bool:
        """A new prompt: answered by rules and grants (True), by what was said to an agent before, or put to people.

        A deny of either kind is stronger than an allowance, and so is a person's edit.
        """
        # Rules take about a millisecond for each: a thousand prompts in one batch must not block the event loop.
        await anyio.lowlevel.cancel_shielded_checkpoint()
        if self._came_before(row.request_id):
            self._refuse_again(row)
            return True
        screened = await self._screened(shown[0])
        recalled = await self._unless_denied(
            row, carried_answers.match_carried(row, self.orphaned.values(), self.now_ns)
        )
        if screened is not None and screened.answer is not None and not _restricts(recalled, screened.answer):
            self.decided.append(screened)
            self._pass_over()
            return True
        said, changes, same_id = len(self.said), len(self.changes), self.prompts.get(row.request_id)
        match recalled:
            case carried_answers.ReuseAnswer() as given:
                old: PromptRow | None = given.before
                await self._give(row, given.before, shown)
            case carried_answers.AskAgain() as asked:
                old = asked.supersedes
                await self._ask(row, asked, shown, screened)
            case never:
                assert_never(never)
        self.asked[row.request_id] = _Asked(row, range(said, len(self.said)), self.changes[changes:], old, same_id)
        self._pass_over()
        return False

    async def _unless_denied(
        self, row: PromptRow, recalled: carried_answers.ReuseAnswer | carried_answers.AskAgain
    ) -> carried_answers.ReuseAnswer | carried_answers.AskAgain:
        """An edit that was kept is held against the rules as they are now, like one that is given now."""
        before = recalled.before if isinstance(recalled, carried_answers.ReuseAnswer) else None
        if before is None or not before.updated_input or self.denial is None:
            return recalled
        try:
            is_denied = bool(await self.denial(row, before.updated_input))
        except FilesystemTimeout:
            return carried_answers.AskAgain(carried_answers.EDIT_UNCLEAR, before)
        return carried_answers.AskAgain(carried_answers.EDIT_DENIED, before) if is_denied else recalled

    def _pass_over(self) -> None:
        for row in carried_answers.mark_offered(self.orphaned.values()):
            self.orphaned[row.request_id] = row
            self.changes.append(SavePrompt(row))

    def was_decided(self, request_id: str) -> bool:
        """Whether rules or grants have answered, and the agent has not heard it yet."""
        decided = {screened.answer.request_id for screened in self.decided if screened.answer is not None}
        about = request_id.encode("utf-8", "replace")
        rows = (row for row in self.inputs.values() if row.kind is InputKind.CONTROL)
        return request_id in decided or any(row.content == about for row in rows)

    async def _screened(self, event: v1.AgentEvent) -> ScreeningResult | None:
        if self.screen is None or not event.HasField("permission_request"):
            return None
        return await self.screen(event.permission_request)

    async def _ask(
        self,
        row: PromptRow,
        asked: carried_answers.AskAgain,
        shown: list[v1.AgentEvent],
        screened: ScreeningResult | None,
    ) -> None:
        if screened is not None:
            self.changes.append(AddAudit(screened.entry))
            shown[0].permission_request.deciding_rule = screened.why
            shown[0].permission_request.segments.extend(screened.segments)
        if screened is not None and screened.asks_each_time:
            del shown[0].permission_request.grant_offers[:]  # nothing that is granted would be heeded
        elif self.offer is not None and shown[0].HasField("permission_request"):
            await self.offer(shown[0].permission_request)
        old = asked.supersedes
        if old is not None:
            self._supersede(old, row)
        for event in shown:
            request = event.permission_request if event.HasField("permission_request") else event.user_question
            request.note = ". ".join(note for note in (request.note, asked.note) if note)
            request.supersedes = old.request_id if old is not None else ""
        row = replace(self._with_events(row, shown), answers=asked.answers)
        self.said += shown
        self.prompts[row.request_id] = row
        self.changes.append(SavePrompt(row))

    async def _give(self, row: PromptRow, before: PromptRow, shown: list[v1.AgentEvent]) -> None:
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
        del self.orphaned[before.request_id]
        self.changes.append(SavePrompt(row))
        self.changes.append(SavePrompt(replace(before, kept=CarriedState.NO, superseded_by=row.request_id)))
        outcome = "allow" if row.allows else "deny"
        who = {"client": row.answered_by, "peer": await self.peer_of(before) if self.peer_of is not None else ""}
        note = f"the answer to {before.request_id}"
        self.changes.append(
            audit_change(self.session_id, row, outcome, DecidedBy.KEPT_ANSWER, self.now_ns, **who, note=note)
        )

    def _supersede(self, old: PromptRow, by: PromptRow) -> None:
        after = carried_answers.mark_superseded(old, by.request_id)
        if after.state is PromptState.SUPERSEDED:
            del self.orphaned[old.request_id]
        else:
            self.orphaned[old.request_id] = after
        same = old.input_json == by.input_json
        why = orphaned_prompts.SUPERSEDED if same else orphaned_prompts.SUPERSEDED_OTHERWISE
        self.said.append(events.superseded(old.request_id, by.request_id, why))
        self.changes.append(SavePrompt(after))
        note = f"by {by.request_id}: {why}"
        self.changes.append(audit_change(self.session_id, old, "superseded", DecidedBy.AGENT, self.now_ns, note=note))

    def _with_events(self, row: PromptRow, shown: list[v1.AgentEvent]) -> PromptRow:
        """The row with what people are shown of it; what is cut from that is kept whole."""
        bounded = [bound(event) for event in shown]
        self.changes.extend(AddBlob(self.session, blob) for _, blobs in bounded for blob in blobs)
        shown[:] = stored = [event for event, _ in bounded]
        is_group = row.kind is PromptKind.QUESTION
        data = v1.AgentEventBatch(events=stored).SerializeToString() if is_group else stored[0].SerializeToString()
        return replace(row, event=data, seq=Seq(self.next_seq + len(self.said)))

    def refuse(self, request_id: str) -> None:
        """Take a new prompt back: its id means another one already, so no answer could be told apart."""
        asked = self.asked.pop(request_id)
        self.prompts.pop(request_id, None)
        self.given = [row for row in self.given if row.request_id != request_id]
        self.changes = [change for change in self.changes if not any(change is other for other in asked.changes)]
        if asked.same_id is not None:
            self.prompts[request_id] = asked.same_id
        if asked.old is not None:
            self.orphaned[asked.old.request_id] = asked.old
        for place in asked.said:
            self.said[place] = events.malformed(_REFUSED)
        self.changes.append(
            audit_change(self.session_id, asked.row, "refused", DecidedBy.GATE, self.now_ns, note=USED_BEFORE)
        )

    def _came_before(self, request_id: str) -> bool:
        """In these records: what was decided, or shown, is about the other one of that id."""
        decided = (screened.answer for screened in self.decided)
        return request_id in self.asked or any(each is not None and each.request_id == request_id for each in decided)

    def _refuse_again(self, row: PromptRow) -> None:
        self.asked_again.append(row.request_id)
        self.decided = [each for each in self.decided if each.entry.request_id != row.request_id]
        self.said.append(events.malformed(_REFUSED))
        self.changes.append(
            audit_change(self.session_id, row, "refused", DecidedBy.GATE, self.now_ns, note=USED_BEFORE)
        )

    def close_prompt(self, resolved: v1.PermissionResolved, *, is_cancelled: bool) -> bool:
        """The agent does not wait for an answer any more; False: it was decided, and has one end."""
        row = self.prompts.pop(resolved.request_id, None)
        if row is None:
            self.said.append(events.notice(v1.NOTICE_KIND_RUN, _DECIDED_IN_VAIN, request_id=resolved.request_id))
            return False
        by, why = (DecidedBy.PERSON, orphaned_prompts.CANCELLED) if is_cancelled else (DecidedBy.AGENT, "")
        resolved.message = resolved.message or why
        self.changes.append(SavePrompt(replace(row, state=PromptState.WITHDRAWN, message=why)))
        client = self.stopped_by if is_cancelled else ""
        self.changes.append(audit_change(self.session_id, row, "withdrawn", by, self.now_ns, client=client, note=why))
        return True


def _restricts(recalled: carried_answers.ReuseAnswer | carried_answers.AskAgain, answer: AnswerPermission) -> bool:
    """Whether a person has denied what a rule or a grant allows, or wants something else to run in its place."""
    if isinstance(recalled, carried_answers.AskAgain) or answer.behaviour is not Behaviour.ALLOW:
        return False
    return not recalled.before.allows or bool(recalled.before.updated_input)
