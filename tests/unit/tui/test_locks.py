"""The input lock as one client sees it."""

from datetime import UTC, datetime

from betcode.tui.input_lock.view import LockView, lock_notice, lock_view
from betcode.v1 import agent_pb2 as v1


def test_a_lock_request_is_shown_only_to_the_holder() -> None:
    change = v1.InputLockChange(holder_client_id="me", asking_client_id="you", asking_client_type="cli")
    change.answer_by.FromDatetime(datetime(2026, 1, 1, tzinfo=UTC))
    mine = lock_view(change, "me")
    assert (mine.asking_id, mine.asking, mine.answer_by) == ("you", "cli you", datetime(2026, 1, 1, tzinfo=UTC))
    theirs = lock_view(change, "them")
    assert (theirs.asking_id, theirs.is_held_elsewhere) == ("", True)


def test_a_notice_reports_a_lost_and_a_regained_lock() -> None:
    mine, theirs = LockView("me", "me"), LockView("me", "you", "cli bob")
    waiting = LockView("me", "you", "cli bob", waits=True)
    assert lock_notice(mine, theirs) == "cli bob has the input lock now. Ctrl+L requests it back"
    assert lock_notice(waiting, mine) == "You have the input lock"
    assert (
        lock_notice(LockView("me", "me", asking_id="you"), mine) == "The request was withdrawn; you keep the input lock"
    )
    assert lock_notice(mine, mine) == lock_notice(theirs, theirs) == ""


def test_another_terminal_of_the_same_person_is_called_so() -> None:
    change = v1.InputLockChange(holder_client_id="kim@desk-0a1b", holder_client_type="tui")
    change.holder_client_name = "kim@desk betcode, pts/1"
    assert lock_view(change, "kim@desk-99ff").holder == "your terminal pts/1"
    assert lock_view(change, "kim@other-99ff").holder == "tui kim@desk betcode, pts/1"
