"""What closing a session ends."""

from dataclasses import replace

import pytest

from betcode.domain.permissions.audit import DecidedBy
from betcode.domain.runs.state import RunState
from betcode.domain.sessions.binding import SessionBinding
from betcode.domain.sessions.status import SessionStatus
from betcode.domain.store.changes import SaveBinding, SaveRun
from betcode.domain.store.rows import InputKind, InputState
from betcode.engine.core.close import FAILED, STOPPED, CloseFacts, close_session
from betcode.engine.core.decision import CloseInputLock, FinishCompaction, ForbidStart, StopRetry
from betcode.engine.core.state import NO_RUN
from support.engine.core_values import (
    KEY,
    NOW_NS,
    audited,
    brief,
    given,
    message,
    moves,
    other,
    prompt,
    run,
    session,
)

WORDS = "the session was closed"
BINDING = SessionBinding(restart_count=2, stop_by_ns=7)
FACTS = CloseFacts(KEY, BINDING)


def test_prompts_and_messages_that_no_agent_has_end_with_the_session() -> None:
    about = session(
        given("g"),
        message("w"),
        other(InputKind.CONTROL),
        prompts={"p": prompt("p")},
        orphaned={"o": prompt("o")},
        budget_prompt=prompt("b", run=NO_RUN),
        stopped_by="c",
    )
    done = close_session(about, run(), FACTS, NOW_NS)
    assert brief(done.events) == ["withdrawn p", "withdrawn o", "withdrawn b", "message w CANCELLED", "notice"]
    assert moves(done.changes) == {"w": InputState.CANCELLED, str(InputKind.CONTROL): InputState.CANCELLED}
    assert [entry[2] for entry in audited(done.changes)] == [DecidedBy.PERSON] * 3
    assert done.fields == {"status": SessionStatus.CLOSED}
    assert done.effects == (StopRetry(), FinishCompaction(WORDS), ForbidStart(), CloseInputLock())


def test_without_an_agent_every_message_ends() -> None:
    done = close_session(session(given("g"), message("w")), None, FACTS, NOW_NS)
    assert moves(done.changes) == {"g": InputState.CANCELLED, "w": InputState.CANCELLED}


@pytest.mark.parametrize(("failure", "event"), [("", STOPPED), ("no program", FAILED)])
def test_the_binding_names_the_end_and_the_error(failure: str, event: str) -> None:
    done = close_session(session(), None, replace(FACTS, failure=failure), NOW_NS)
    after = replace(BINDING, ended_ns=NOW_NS, failure=failure, stop_by_ns=0)
    assert done.changes == (SaveBinding(KEY, after),)
    assert done.events[-1].notice.details["event"] == event


def test_the_run_whose_turn_was_to_be_continued_is_given_up() -> None:
    crashed = replace(run().row, state=RunState.BACKING_OFF)
    done = close_session(session(backing_off=crashed), None, FACTS, NOW_NS)
    assert SaveRun(replace(crashed, state=RunState.CRASHED)) in done.changes
