"""The reason for waiting, in a few words."""

from datetime import UTC, datetime, timedelta

import pytest

from betcode.v1 import agent_pb2 as v1
from betcode.wording.pending import session_state, wait_text

NOW = datetime(2026, 11, 15, 9, 0, tzinfo=UTC)


def summary(waiting_for: str, after: timedelta | None = None) -> v1.SessionSummary:
    one = v1.SessionSummary(id="s", status="active", waiting_for=waiting_for)
    if after is not None:
        one.waiting_until.FromDatetime(NOW + after)
    return one


@pytest.mark.parametrize(
    ("waiting_for", "after", "words"),
    [
        ("", None, ""),
        ("person", None, "waits for you"),
        ("slot", None, "waiting for a slot"),
        ("retry", timedelta(seconds=8), "crashed, restarts in 8 s"),
        ("retry", timedelta(milliseconds=200), "crashed, restarts in 1 s"),
        ("retry", timedelta(seconds=-1), "crashed, restarts"),
        ("limit", None, "limit reached"),
        ("overload", timedelta(seconds=40), "API overloaded, retries in 40 s"),
        ("api", timedelta(seconds=40), "API fails, retries in 40 s"),
        ("moonrise", None, "waits for moonrise"),
    ],
)
def test_each_has_its_words(waiting_for: str, after: timedelta | None, words: str) -> None:
    assert wait_text(summary(waiting_for, after), NOW) == words


@pytest.mark.parametrize(
    ("status", "run_state", "words"), [("idle", "crashed", "crashed"), ("idle", "running", "idle")]
)
def test_a_session_whose_agent_is_not_started_again_is_not_just_idle(status: str, run_state: str, words: str) -> None:
    assert session_state(v1.SessionSummary(id="s", status=status, run_state=run_state), NOW) == words


def test_a_time_hours_away_is_a_clock_time_and_days_away_a_date() -> None:
    hours = NOW + timedelta(hours=2)
    days = NOW + timedelta(days=3)
    assert wait_text(summary("limit", hours - NOW), NOW).endswith(f"until {hours.astimezone():%H:%M}")
    assert wait_text(summary("limit", days - NOW), NOW).endswith(f"until {days.astimezone():%Y-%m-%d %H:%M}")
