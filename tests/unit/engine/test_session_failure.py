"""What is recorded when an internal error stops a session."""

import pytest

from betcode.domain.runs.state import RunState
from betcode.domain.sessions.status import SessionStatus
from betcode.domain.store.changes import MoveInput, SaveRun
from betcode.domain.store.rows import InputKind, InputRow, InputState, RunRow
from betcode.domain.values.identifiers import RunId, RunKey, SessionId, SessionKey
from betcode.engine.shell.session_failure import OpenRows, describe, final_state, records, sentence
from betcode.v1 import agent_pb2 as v1

SESSION = SessionId("0199d2a0-0001-7000-8000-000000000001")
KEY = SessionKey(1)


def row(kind: InputKind, number: int = 0) -> InputRow:
    return InputRow(f"{kind}-{number}", KEY, kind, b"", created_ns=1, number=number)


@pytest.mark.parametrize(
    ("kind", "number", "state"),
    [
        (InputKind.MESSAGE, 0, InputState.CANCELLED),
        (InputKind.MESSAGE, 3, InputState.UNKNOWN),
        (InputKind.ANSWER, 3, InputState.CANCELLED),
        (InputKind.COMPACTION, 0, InputState.CANCELLED),
    ],
)
def test_a_message_that_an_agent_was_given_may_have_been_begun(kind: InputKind, number: int, state: InputState) -> None:
    assert final_state(row(kind, number)) is state


@pytest.mark.parametrize(
    ("status", "kinds"),
    [
        (SessionStatus.ACTIVE, ["status_change", "error", "turn_complete", "status_change", "notice"]),
        (SessionStatus.IDLE, ["status_change", "error", "status_change", "notice"]),
        (SessionStatus.CLOSED, ["status_change", "error", "notice"]),
    ],
)
def test_the_log_says_that_it_failed_and_ends_an_open_turn(status: SessionStatus, kinds: list[str]) -> None:
    said, changes = records(SESSION, status, OpenRows(), "words", "place", 5)
    assert [event.WhichOneof("event") for event in said] == kinds
    assert changes == []


def test_open_messages_and_the_run_end_with_it() -> None:
    run = RunRow(RunKey(7), KEY, RunId("r"), RunState.RUNNING, 1)
    said, changes = records(SESSION, SessionStatus.ACTIVE, OpenRows([row(InputKind.MESSAGE, 2)], [], run), "w", "p", 5)
    assert [change for change in changes if isinstance(change, MoveInput)] == [
        MoveInput(KEY, "message-2", InputState.UNKNOWN)
    ]
    (saved,) = [change.run for change in changes if isinstance(change, SaveRun)]
    assert (saved.state, saved.ended_ns) == (RunState.CRASHED, 5)
    assert said[0].message_state.state == v1.MESSAGE_STATE_UNKNOWN


def test_a_run_that_has_ended_is_left_as_it_is() -> None:
    run = RunRow(RunKey(7), KEY, RunId("r"), RunState.EXITED, 1, ended_ns=3)
    assert records(SESSION, SessionStatus.IDLE, OpenRows(run=run), "w", "p", 5)[1] == []


def test_the_sentence_names_the_error_and_what_to_do() -> None:
    words = sentence(SESSION, ExceptionGroup("unhandled errors", [ValueError("one\ntwo")]))
    assert "ValueError: one two" in words
    assert f"betcode session delete {SESSION}" in words
    assert "Send a message to retry" in words
    assert describe(KeyError()) == "KeyError"
    assert len(describe(ValueError("x" * 1000))) <= 300
