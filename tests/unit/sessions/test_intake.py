"""What one batch of records makes of a run."""

from collections.abc import Mapping

from betcode.domain.identifiers import RunId, RunKey, Seq, SessionId, SessionKey
from betcode.domain.records import Record, RecordKind
from betcode.domain.rows import NewSession, RunRow
from betcode.domain.run import CancelStep, RunState
from betcode.providers.claude import ClaudeProvider
from betcode.sessions.intake import Intake

CONVERSATION = "5b1d6f0e-0000-4000-8000-000000000001"
RESULT: Mapping[str, str] = {
    "cancelled": '{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":1,'
    '"terminal_reason":"aborted_streaming"}',
    "end_turn": '{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"done"}',
}


def said(line: str, number: int) -> Record:
    return Record(RecordKind.OUT, 0, number, number, line.encode(), offset=number, end=number + 1)


def test_a_cancelled_turn_is_seen_behind_the_one_that_came_after_it() -> None:
    dialogue = ClaudeProvider().dialogue(NewSession(SessionId(CONVERSATION), "claude", "/"), CONVERSATION)
    run = RunRow(
        RunKey(1), SessionKey(1), RunId("r"), RunState.RUNNING, started_ns=1, cancel_step=CancelStep.INTERRUPTED
    )
    intake = Intake(SessionKey(1), Seq(1), {}, {}, {}, SessionId(CONVERSATION), now_ns=1)
    after = intake.take(dialogue, run, [said(RESULT["cancelled"], 1), said(RESULT["end_turn"], 2)])
    ends = [event.turn_complete.stop_reason for event in intake.said if event.HasField("turn_complete")]
    assert ends == ["cancelled", "end_turn"]
    assert (intake.turn_completed, intake.turn_cancelled) == (True, True)
    assert after.cancel_step is CancelStep.NONE
