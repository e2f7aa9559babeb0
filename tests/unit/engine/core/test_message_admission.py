"""Whether a message is accepted, what its sender is told, and the session's status afterwards."""

from dataclasses import replace
from typing import Any

import pytest

from betcode.domain.agents.commands import AttachedFile, SendMessage
from betcode.domain.error_codes import ErrorCode
from betcode.domain.errors import BetcodeError, StorageDegraded, WorktreeUnusable
from betcode.domain.sessions.binding import SessionBinding
from betcode.domain.sessions.budget import Amounts, OnReached, set_to
from betcode.domain.sessions.phase import Phase
from betcode.domain.sessions.status import SessionStatus
from betcode.domain.store.changes import AddBlob, AddInput, SaveBinding
from betcode.domain.store.rows import Blob, SessionState
from betcode.domain.values.identifiers import MessageId, Seq
from betcode.engine.client_name import ClientName
from betcode.engine.core.message import AdmissionFacts, MessageFacts, check_admission, on_message
from betcode.engine.core.view import SessionView
from betcode.v1 import agent_pb2 as v1
from support.engine.core_values import CAPABLE, KEY, SESSION, brief, given, message, prompt, session

ANN, BOB = ClientName("ann", "tui", "Ann's screen"), ClientName("bob")
TEXT = SendMessage(MessageId("m"), "hello")
WITH_FILE = SendMessage(MessageId("m"), "look", (AttachedFile("a.txt", "text/plain", b"a"),))
SAME = replace(message("m"), content=b"digest", seq=Seq(9))
OTHER = replace(SAME, content=b"another digest")

NEW, IDLE, ACTIVE, CLOSED = (
    SessionState(status=each)
    for each in (SessionStatus.NEW, SessionStatus.IDLE, SessionStatus.ACTIVE, SessionStatus.CLOSED)
)
SPENT = replace(IDLE, turns=5, budget=set_to(Amounts(turns=5), OnReached.REFUSE))
ASKS = replace(SPENT, budget=set_to(Amounts(turns=5), OnReached.ASK))

RESTING, SHUT, REFUSING, ASKING = (session(state=each) for each in (IDLE, CLOSED, SPENT, ASKS))
TAKES_FILES = session(state=IDLE, capabilities=replace(CAPABLE, attachments=True))
TAKES_NO_FILES = session(state=IDLE, capabilities=replace(CAPABLE, attachments=False))

NO_DIRECTORY, FULL = WorktreeUnusable("it is gone"), StorageDegraded("it is full")
LOGGED_OUT = "log in first"


def facts(**more: Any) -> AdmissionFacts:
    return AdmissionFacts(BOB, b"digest", **more)


@pytest.mark.parametrize(
    ("view", "sent", "known", "code", "words"),
    [
        (SHUT, TEXT, facts(), ErrorCode.SESSION_CLOSED, "Session has been closed"),
        (SHUT, TEXT, facts(earlier=SAME), ErrorCode.SESSION_CLOSED, "Session has been closed"),
        (RESTING, TEXT, facts(earlier=OTHER), ErrorCode.INVALID_REQUEST, "used for another message: make a new one"),
        (
            RESTING,
            TEXT,
            facts(only_if_running=True, phase=Phase.WORKING),
            ErrorCode.SESSION_NOT_READY,
            "is working: this call requires a session that is running",
        ),
        (
            RESTING,
            TEXT,
            facts(is_stopping=True, phase=Phase.STOPPING),
            ErrorCode.SESSION_NOT_READY,
            "is stopping: this call requires a session that is not being stopped",
        ),
        (RESTING, TEXT, facts(is_timed_out=True), ErrorCode.SESSION_TIMEOUT, "timeout is reached"),
        (RESTING, TEXT, facts(directory_problem=NO_DIRECTORY), NO_DIRECTORY.code, "it is gone"),
        (RESTING, TEXT, facts(login_problem=LOGGED_OUT), ErrorCode.AGENT_UNAVAILABLE, LOGGED_OUT),
        (TAKES_NO_FILES, WITH_FILE, facts(), ErrorCode.FEATURE_NOT_AVAILABLE, "claude does not accept attachments"),
        (RESTING, TEXT, facts(database_problem=FULL), FULL.code, "it is full"),
        (
            REFUSING,
            TEXT,
            facts(),
            ErrorCode.BUDGET_EXCEEDED,
            f"(5 turns spent, 5 turns allowed): raise it with SetBudget or betcode session budget {SESSION}",
        ),
        (RESTING, TEXT, facts(lock_holder=ANN), ErrorCode.NO_INPUT_LOCK, "Another client holds input lock"),
    ],
)
def test_a_message_is_refused(
    view: SessionView, sent: SendMessage, known: AdmissionFacts, code: ErrorCode, words: str
) -> None:
    with pytest.raises(BetcodeError) as refused:
        check_admission(view, sent, known)
    assert refused.value.code == code
    assert words in refused.value.message


@pytest.mark.parametrize(
    ("view", "sent", "known"),
    [
        (RESTING, TEXT, facts()),
        (session(state=NEW), TEXT, facts(phase=Phase.CREATED)),
        (RESTING, TEXT, facts(only_if_running=True, phase=Phase.RUNNING)),
        (session(given("g")), TEXT, facts(phase=Phase.WORKING)),
        (RESTING, TEXT, facts(login_problem=LOGGED_OUT, has_agent=True)),
        (TAKES_FILES, WITH_FILE, facts()),
        (TAKES_NO_FILES, TEXT, facts()),
        (RESTING, TEXT, facts(lock_holder=BOB)),
        (ASKING, TEXT, facts()),
        (session(state=replace(SPENT, turns=4)), TEXT, facts()),
    ],
)
def test_a_message_is_new(view: SessionView, sent: SendMessage, known: AdmissionFacts) -> None:
    assert check_admission(view, sent, known) is None


def test_the_same_message_again_is_accepted_whatever_would_refuse_a_new_one() -> None:
    known = facts(
        earlier=SAME,
        is_stopping=True,
        is_timed_out=True,
        directory_problem=NO_DIRECTORY,
        login_problem=LOGGED_OUT,
        database_problem=FULL,
        lock_holder=ANN,
    )
    assert check_admission(REFUSING, TEXT, known) is SAME


IN_ORDER: list[tuple[dict[str, Any], ErrorCode]] = [
    ({"earlier": OTHER}, ErrorCode.INVALID_REQUEST),
    ({"only_if_running": True, "phase": Phase.FAILED}, ErrorCode.SESSION_NOT_READY),
    ({"is_stopping": True}, ErrorCode.SESSION_NOT_READY),
    ({"is_timed_out": True}, ErrorCode.SESSION_TIMEOUT),
    ({"directory_problem": NO_DIRECTORY}, NO_DIRECTORY.code),
    ({"login_problem": LOGGED_OUT}, ErrorCode.AGENT_UNAVAILABLE),
    ({}, ErrorCode.FEATURE_NOT_AVAILABLE),  # the file
]


@pytest.mark.parametrize("first", range(len(IN_ORDER)))
def test_of_several_reasons_the_first_one_counts(first: int) -> None:
    known = {name: value for reasons, _ in IN_ORDER[first:] for name, value in reasons.items()}
    view = session(state=SPENT, capabilities=TAKES_NO_FILES.capabilities)
    with pytest.raises(BetcodeError) as refused:
        check_admission(view, WITH_FILE, facts(**known, database_problem=FULL, lock_holder=ANN))
    assert refused.value.code == IN_ORDER[first][1]


@pytest.mark.parametrize(
    ("view", "known", "code"),
    [
        (REFUSING, facts(database_problem=FULL, lock_holder=ANN), FULL.code),
        (REFUSING, facts(lock_holder=ANN), ErrorCode.BUDGET_EXCEEDED),
    ],
)
def test_a_full_database_counts_before_the_budget_and_that_before_the_lock(
    view: SessionView, known: AdmissionFacts, code: ErrorCode
) -> None:
    with pytest.raises(BetcodeError) as refused:
        check_admission(view, TEXT, known)
    assert refused.value.code == code


def test_a_refusal_names_the_holder_of_the_lock_and_the_limit() -> None:
    with pytest.raises(BetcodeError) as locked:
        check_admission(RESTING, TEXT, facts(lock_holder=ANN))
    assert locked.value.details == {
        "session_id": SESSION,
        "holder_client_id": "ann",
        "holder_client_type": "tui",
        "holder_client_name": "Ann's screen",
    }
    with pytest.raises(BetcodeError) as spent:
        check_admission(REFUSING, TEXT, facts())
    assert spent.value.details == {"session_id": SESSION, "reached": "turns", "limit": "5 turns", "spent": "5 turns"}


# ---------------------------------------------------------------- accepted

ROW = message("m")
QUESTION = prompt("budget")
WAITS_FOR_PERSON = "Waiting for a person to raise the budget"
WAITS_FOR_SLOT = "Waiting for a free slot: 2 turns are running"
BUSY: dict[str, Any] = {"turns_at_work": 2, "turn_limit": 2}


@pytest.mark.parametrize(
    ("view", "slots", "reason", "after"),
    [
        (session(state=NEW), {}, "", SessionStatus.ACTIVE),
        (RESTING, {}, "", SessionStatus.ACTIVE),
        (session(given("g")), {}, "", SessionStatus.ACTIVE),
        (RESTING, {"turns_at_work": 1, "turn_limit": 2}, "", SessionStatus.ACTIVE),
        (RESTING, BUSY, WAITS_FOR_SLOT, SessionStatus.ACTIVE),
        (session(given("g")), {**BUSY, "has_slot": True}, "", SessionStatus.ACTIVE),
        (session(given("g"), prompts={"p1": prompt()}), BUSY, "", SessionStatus.ACTIVE),
        (session(state=ASKS, budget_prompt=QUESTION), {}, WAITS_FOR_PERSON, SessionStatus.IDLE),
        (session(state=ASKS, budget_prompt=QUESTION), BUSY, WAITS_FOR_PERSON, SessionStatus.IDLE),
        (session(given("g"), budget_prompt=QUESTION), BUSY, WAITS_FOR_PERSON, SessionStatus.ACTIVE),
    ],
)
def test_the_sender_is_told_why_a_message_waits(
    view: SessionView, slots: dict[str, Any], reason: str, after: SessionStatus
) -> None:
    done = on_message(view, TEXT, MessageFacts(ROW, BOB, **slots))
    assert brief(done.events) == ["user_input", "message m ACCEPTED"][: 2 if reason else 1]
    assert done.events[-1].message_state.reason == reason
    assert (done.changes, done.fields) == ((AddInput(ROW),), {"status": after})


def test_a_message_is_stored_with_its_files_and_tries_a_failed_session_again() -> None:
    blob = AddBlob(KEY, Blob("sha", b"a"))
    file = v1.StoredAttachment(filename="a.txt", mime_type="text/plain", size_bytes=1, sha256="sha")
    binding = SessionBinding(task_id="t", failure="it failed")
    done = on_message(RESTING, WITH_FILE, MessageFacts(ROW, ANN, (file,), (blob,), binding))
    told = done.events[0].user_input
    assert (told.content, told.message_id, told.client_id) == ("look", "m", "ann")
    assert list(told.stored_attachments) == [file]
    assert done.changes == (AddInput(ROW), blob, SaveBinding(KEY, SessionBinding(task_id="t")))
