"""From records to what one commit changes: the dialogue's events, and the rows that follow from them."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from betcode.domain.bounds import bound
from betcode.domain.changes import AddBlob, Change, MoveInput, SavePrompt, SaveRun
from betcode.domain.errors import ErrorCode
from betcode.domain.identifiers import Seq, SessionKey
from betcode.domain.ports import Dialogue
from betcode.domain.records import Record, RecordKind
from betcode.domain.rows import OPENS_TURN, InputKind, InputRow, InputState, PromptKind, PromptRow, PromptState, RunRow
from betcode.holder.platform import start_time_now
from betcode.sessions import crash_words, events
from betcode.v1 import agent_pb2 as v1

logger = logging.getLogger(__name__)

_INPUT_STATE = {
    v1.MESSAGE_STATE_DELIVERED: InputState.DELIVERED,
    v1.MESSAGE_STATE_CONSUMED: InputState.CONSUMED,
    v1.MESSAGE_STATE_CANCELLED: InputState.CANCELLED,
    v1.MESSAGE_STATE_UNKNOWN: InputState.UNKNOWN,
}
_NEVER_BEGAN = "the agent let go of it before it began"
_OPEN = frozenset({InputState.ACCEPTED, InputState.DELIVERED})


@dataclass(slots=True)
class Intake:
    """What a batch of records makes of a run; the rows it starts from are not touched."""

    session: SessionKey
    next_seq: Seq
    inputs: dict[str, InputRow]  # open ones, by id
    prompts: dict[str, PromptRow]  # open ones, by request id
    said: list[v1.AgentEvent] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    exit: Record | None = None
    turn_completed: bool = False
    turn_cancelled: bool = False
    settled: list[str] = field(default_factory=list)  # messages that came to an end
    compaction_settled: bool = False  # and whether a compaction did
    asked: dict[str, range] = field(default_factory=dict)  # new prompts, and which of `said` show them

    def take(self, dialogue: Dialogue, run: RunRow, records: Sequence[Record]) -> RunRow:
        """Translate the records and return the run as it is after them."""
        was_open = dialogue.turn_open
        for record in records:
            try:
                made = dialogue.receive(record)
            except Exception:
                # A dialogue guards itself; this one did not, and the record must not be met twice.
                logger.exception("a record could not be translated", extra={"offset": record.offset})
                made = [events.malformed(f"The agent said something that could not be understood (at {record.offset})")]
            if made:
                self._take_events(made, run)
            if record.kind is RecordKind.IN:
                self._handed_over(run, record.number)
            elif record.kind is RecordKind.EXIT:
                self.exit = record
        if not self.turn_completed and not self._is_busy(dialogue, run):
            self._end_what_never_began(is_cancelled=run.cancel_step.owes_an_end)
        after = replace(run, offset=records[-1].end, dialogue_state=dialogue.state())
        if self.turn_completed and run.cancel_step:
            after = self._end_cancel(after)
        if dialogue.turn_open and (self.turn_completed or not was_open):
            after = replace(after, turn_began=start_time_now())
        self.changes.append(SaveRun(after))
        return after

    def _take_events(self, made: list[v1.AgentEvent], run: RunRow) -> None:
        questions: list[v1.AgentEvent] = []
        for event in made:
            match event.WhichOneof("event"):
                case "permission_request":
                    self.said.append(self._open_permission(event, run))
                    continue
                case "user_question":
                    questions.append(event)
                case "message_state":
                    self._move_message(event.message_state)
                case "permission_resolved":
                    self._close_prompt(event.permission_resolved.request_id, PromptState.WITHDRAWN)
                case "turn_complete":
                    self.turn_completed = True
                    self.turn_cancelled |= event.turn_complete.stop_reason == "cancelled"
                case _:
                    pass
            self.said.append(event)
        if questions:
            self._open_questions(questions, run)

    def _open_permission(self, event: v1.AgentEvent, run: RunRow) -> v1.AgentEvent:
        whole_input = event.permission_request.input_json
        event, blobs = bound(event)
        self.changes.extend(AddBlob(self.session, blob) for blob in blobs)
        request = event.permission_request
        self._save_prompt(
            PromptRow(
                request_id=request.request_id,
                session=self.session,
                run=run.key,
                kind=PromptKind.PERMISSION,
                tool_name=request.tool_name,
                input_json=whole_input,
                event=event.SerializeToString(),
                seq=Seq(self.next_seq + len(self.said)),
                asked_ns=event.timestamp.ToNanoseconds(),
            ),
            shown=1,
        )
        return event

    def _open_questions(self, questions: list[v1.AgentEvent], run: RunRow) -> None:
        first = questions[0]
        self._save_prompt(
            PromptRow(
                request_id=first.user_question.group_id,
                session=self.session,
                run=run.key,
                kind=PromptKind.QUESTION,
                tool_name="AskUserQuestion",
                input_json=first.user_question.input_json,
                event=v1.AgentEventBatch(events=[bound(question)[0] for question in questions]).SerializeToString(),
                seq=Seq(self.next_seq + len(self.said) - len(questions)),
                asked_ns=first.timestamp.ToNanoseconds(),
            ),
            shown=len(questions),
        )

    def refuse(self, request_id: str) -> None:
        """Take a new prompt back: its id means another one already, so no answer could be told apart."""
        self.prompts.pop(request_id, None)
        self.changes = [change for change in self.changes if not _is_prompt(change, request_id)]
        for place in self.asked.pop(request_id):
            self.said[place] = events.malformed("The agent asked under an id that was used before, and was refused")

    def _save_prompt(self, row: PromptRow, shown: int) -> None:
        first = row.seq - self.next_seq
        self.asked[row.request_id] = range(first, first + shown)
        self.prompts[row.request_id] = row
        self.changes.append(SavePrompt(row))

    def _close_prompt(self, request_id: str, state: PromptState) -> None:
        row = self.prompts.pop(request_id, None)
        if row is not None:
            self.changes.append(SavePrompt(replace(row, state=state)))

    def _move_message(self, change: v1.MessageStateChange) -> None:
        state = _INPUT_STATE.get(change.state)
        if state is not None:
            self._move(change.message_id, state)

    def _handed_over(self, run: RunRow, number: int) -> None:
        """An answer or a control command is done with once the holder has it; a message is so only when consumed."""
        for row in list(self.inputs.values()):
            if row.run == run.key and row.number == number and row.kind not in OPENS_TURN:
                self._move(row.input_id, InputState.CONSUMED)

    def _is_busy(self, dialogue: Dialogue, run: RunRow) -> bool:
        mine = (row for row in self.inputs.values() if row.run == run.key)
        return dialogue.turn_open or any(row.kind in OPENS_TURN for row in mine)

    def _end_what_never_began(self, *, is_cancelled: bool) -> None:
        """The agent let go of something before it began with it: there is no result to come, so its turn ends here."""
        if is_cancelled and (self.settled or self.compaction_settled):
            self.said.append(events.turn_complete("cancelled", self.settled))
        elif self.compaction_settled:
            failed = events.error(ErrorCode.COMPACTION_FAILED, "Session compaction failed", reason=_NEVER_BEGAN)
            self.said += [failed, events.turn_complete("error")]
        else:
            return
        self.turn_completed = True
        if not any(row.kind in OPENS_TURN for row in self.inputs.values()):
            self.said.append(events.status(v1.IDLE))

    def _withdraw_queued(self, run: RunRow) -> None:
        """What an agent before had in its queue was queued when the cancel came."""
        for row in list(self.inputs.values()):
            if row.kind is InputKind.MESSAGE and row.run not in (None, run.key):
                self._move(row.input_id, InputState.CANCELLED)
                self.said.append(events.message_state(row.input_id, v1.MESSAGE_STATE_CANCELLED, "cancelled"))

    @property
    def is_turn_lost(self) -> bool:
        """Messages came to an end, and no turn did: their agent takes them for done."""
        return bool(self.settled) and not self.turn_completed

    def end_lost_turn(self) -> None:
        """Nothing is open after a crash, and no turn was ended: the agent had done it all before it died."""
        if self.is_turn_lost:
            self.said += crash_words.of_lost_turn(self.settled)
            self.turn_completed = True

    def _end_cancel(self, run: RunRow) -> RunRow:
        """The turn is over: an interrupt or an answer that the agent has not got was not meant for the next one."""
        for row in list(self.inputs.values()):
            if row.kind in (InputKind.INTERRUPT, InputKind.ANSWER) and row.number == 0:
                self._move(row.input_id, InputState.CANCELLED)
        if run.cancel_queued:
            self._withdraw_queued(run)
        step = run.cancel_step.after_turn()
        return replace(run, cancel_step=step, cancel_queued=run.cancel_queued and step.ends_agent)

    def _move(self, input_id: str, state: InputState) -> None:
        row = self.inputs.get(input_id)
        if row is None or row.state is state:
            return
        if state in _OPEN:
            self.inputs[input_id] = replace(row, state=state)
        else:
            del self.inputs[input_id]
            self.settled += [input_id] if row.kind is InputKind.MESSAGE else []
            self.compaction_settled |= row.kind is InputKind.COMPACTION
        self.changes.append(MoveInput(self.session, input_id, state))


def _is_prompt(change: Change, request_id: str) -> bool:
    return isinstance(change, SavePrompt) and change.row.request_id == request_id
