"""The flags of a run after a batch of records."""

from betcode.engine.core.view import RunFlags

NEW = RunFlags(was_begun=False)


def test_a_batch_that_shows_nothing_new_makes_no_new_value() -> None:
    flags = RunFlags(has_spoken=True, has_said_anything=True)
    assert flags.with_records(has_output=True, has_spoken=True, turn_completed=False) is flags


def test_what_an_agent_has_shown_stays_known() -> None:
    after = NEW.with_records(has_output=True, has_spoken=False, turn_completed=True)
    assert after == RunFlags(has_said_anything=True, has_served=True)
    assert after.with_records(has_output=False, has_spoken=False, turn_completed=False) is after


def test_records_do_not_change_what_was_decided() -> None:
    decided = RunFlags(asked_to_end=True, stopped=True, is_outdated=True)
    after = decided.with_records(has_output=False, has_spoken=True, turn_completed=False)
    assert after == RunFlags(asked_to_end=True, stopped=True, is_outdated=True, has_spoken=True)
