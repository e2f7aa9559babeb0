"""Turn agent records into one commit: the dialogue's events and the row changes that follow from them."""

from dataclasses import dataclass, field, replace

from betcode.domain.error_codes import ErrorCode
from betcode.domain.permissions.audit import DecidedBy
from betcode.domain.runs.journal_record import Record, RecordKind
from betcode.domain.sessions.input_transitions import OPEN, may_become
from betcode.domain.sessions.transcript import TranscriptEnd, TurnOutcome, outcome_of
from betcode.domain.store.changes import AddAudit, MoveInput, SaveRun
from betcode.domain.store.rows import (
    OPENS_TURN,
    InputKind,
    InputRow,
    InputState,
    RunRow,
)
from betcode.engine.core import events, orphaned_prompts
from betcode.engine.core.exit import messages as exit_messages
from betcode.engine.core.prompt_ingest import PromptIngest, permission_row, question_row
from betcode.engine.core.record_batch import RecordBatch
from betcode.v1 import agent_pb2 as v1

_INPUT_STATE = {
    v1.MESSAGE_STATE_DELIVERED: InputState.DELIVERED,
    v1.MESSAGE_STATE_CONSUMED: InputState.CONSUMED,
    v1.MESSAGE_STATE_CANCELLED: InputState.CANCELLED,
    v1.MESSAGE_STATE_UNKNOWN: InputState.UNKNOWN,
}
_NEVER_BEGAN = "the agent discarded it before it started"


@dataclass(slots=True)
class RecordIngest(PromptIngest):
    """What a batch of records makes of a run: messages, turns and commands, beside the prompts."""

    exit: Record | None = None
    turn_completed: bool = False
    turn_cancelled: bool = False
    outcome: TurnOutcome | None = None  # of the last turn that the agent itself ended
    settled: list[str] = field(default_factory=list)  # messages that came to an end
    compaction_settled: bool = False  # and whether a compaction did
    let_go: bool = False  # the agent let go of a message that it had not begun with

    def take(self, batch: RecordBatch, run: RunRow) -> RunRow:
        """Take in the records and return the run as it is after them."""
        self.reviews = batch.reviews
        handed_over = self._commands_of(run)
        for translated in batch.records:
            record, made = translated.record, list(translated.events)
            command = handed_over.get(record.number) if record.kind is RecordKind.IN else None
            if command is not None and command.kind is InputKind.CONTROL:  # sent by the engine itself, not by a person
                made = [event for event in made if event.status_change.status != v1.EXECUTING_TOOL]  # as decided before
            if made:
                self._take_events(made, run)
            if command is not None:
                self._move(command.input_id, InputState.CONSUMED)
            elif record.kind is RecordKind.EXIT:
                self.exit = record
            elif translated.refusal is not None:
                self.change(AddAudit(translated.refusal))
        if not self.turn_completed and not self._is_busy(run, turn_open=batch.turn_open):
            self._end_what_never_began(is_cancelled=run.cancel_step.owes_an_end)
        after = replace(run, offset=batch.records[-1].record.end, dialogue_state=batch.dialogue_state)
        if self.turn_completed and run.cancel_step:
            after = self._end_cancel(after)
        if batch.turn_open and (self.turn_completed or not batch.turn_was_open):
            after = replace(after, turn_began=batch.now)
        self.change(SaveRun(after))
        return after

    def _take_events(self, made: list[v1.AgentEvent], run: RunRow) -> None:
        questions = [event for event in made if event.HasField("user_question")]
        silent = False  # the record asked something that nobody has to be asked
        for event in made:
            match event.WhichOneof("event"):
                case "permission_request":
                    silent = self.open_prompt(permission_row(event, self.key, run), [event])
                    continue
                case "status_change" if silent and event.status_change.status == v1.WAITING_FOR_USER:
                    continue
                case "user_question":
                    if event is questions[0]:
                        self.open_prompt(question_row(questions, self.key, run), questions)
                    continue
                case "message_state":
                    if not self._move_message(event.message_state):
                        continue
                case "permission_resolved" if self.was_decided(event.permission_resolved.request_id):
                    continue  # nobody was shown it
                case "permission_resolved":
                    if not self.close_prompt(event.permission_resolved, is_cancelled=bool(run.cancel_step)):
                        continue
                case "turn_complete":
                    stop_reason = event.turn_complete.stop_reason
                    self._end_turn(is_cancelled=stop_reason == "cancelled")
                    self.turn_cancelled |= stop_reason == "cancelled"
                    self.outcome = outcome_of(stop_reason)
                case _:
                    pass
            self.said.append(event)

    def _end_turn(self, *, is_cancelled: bool = False) -> None:
        """What lost agents left was for this turn."""
        self.turn_completed = True
        why, by = orphaned_prompts.NOT_ASKED_AGAIN, DecidedBy.AGENT
        if is_cancelled:
            why, by = orphaned_prompts.CANCELLED, DecidedBy.PERSON
        ended = orphaned_prompts.withdraw_prompts(
            self.session_id, self.draft.orphaned.values(), why, self.now_ns, by, self.stopped_by
        )
        self.said += ended.said
        for change in ended.changes:
            self.change(change)

    def _move_message(self, change: v1.MessageStateChange) -> bool:
        """False where the message is not open any more: what the agent says of it then is not news."""
        row, state = self.inputs.get(change.message_id), _INPUT_STATE.get(change.state)
        if state is None or not may_become(row.state if row is not None else None, state):
            return False
        self._move(change.message_id, state)
        self.let_go |= state is InputState.CANCELLED
        return True

    def _commands_of(self, run: RunRow) -> dict[int, InputRow]:
        """The answers and control commands of a run by number: once the holder has one, it is done with.

        A message is done with only when it is consumed.
        """
        rows = self.inputs.values()
        return {row.number: row for row in rows if row.kind not in OPENS_TURN and row.run == run.key}

    def _is_busy(self, run: RunRow, *, turn_open: bool) -> bool:
        mine = (row for row in self.inputs.values() if row.run == run.key)
        return turn_open or any(row.kind in OPENS_TURN for row in mine)

    def _end_what_never_began(self, *, is_cancelled: bool) -> None:
        """The agent let go of something before it began with it: there is no result to come, so its turn ends here."""
        if is_cancelled and (self.settled or self.compaction_settled):
            self._end_turn(is_cancelled=True)
            self.said.append(events.turn_complete("cancelled", self.settled))
        elif self.compaction_settled:
            self._end_turn()
            failed = events.error(ErrorCode.COMPACTION_FAILED, "Session compaction failed", reason=_NEVER_BEGAN)
            self.said += [failed, events.turn_complete("error")]
        elif not self.let_go or any(event.status_change.status == v1.IDLE for event in self.said):
            return
        if not any(row.kind in OPENS_TURN for row in self.inputs.values()):
            self.said.append(events.status(v1.IDLE))

    def _withdraw_queued(self, run: RunRow) -> None:
        """What an agent before had in its queue was queued when the cancel came."""
        for row in list(self.inputs.values()):
            if row.kind is InputKind.MESSAGE and row.run not in (None, run.key):
                self._move(row.input_id, InputState.CANCELLED)
                self.said.append(events.message_state(row.input_id, v1.MESSAGE_STATE_CANCELLED, "cancelled"))

    def transcript_after(self, transcript: TranscriptEnd) -> TranscriptEnd:
        """How the agent's transcript ends after this batch, given how it ended before."""
        if self.outcome is not None:
            return transcript.after(self.outcome)
        if self.turn_completed and transcript.turn_interrupted:
            return transcript.after(TurnOutcome.ABANDONED)  # ended here, without a word of the agent
        return transcript

    @property
    def is_turn_lost(self) -> bool:
        """Messages came to an end, and no turn did: their agent takes them for done."""
        return bool(self.settled) and not self.turn_completed

    def end_lost_turn(self) -> None:
        """Nothing is open after a crash, and no turn was ended: the agent had done it all before it died."""
        if self.is_turn_lost:
            self._end_turn()
            self.said += exit_messages.lost_turn_events(self.settled)

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
        if state not in OPEN:
            self.settled += [input_id] if row.kind is InputKind.MESSAGE else []
            self.compaction_settled |= row.kind is InputKind.COMPACTION
        self.change(MoveInput(self.key, input_id, state))
