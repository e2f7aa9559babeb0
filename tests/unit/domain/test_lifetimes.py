"""How long a prompt waits: its end, what puts that off, and its reminders, over any course of events."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from betcode.domain.permissions.prompt_lifetime import MINUTE_NS, Lifetime, is_over
from betcode.domain.store.rows import PromptKind, PromptRow
from betcode.domain.values.identifiers import RunKey, Seq, SessionKey
from betcode.domain.values.times import short_duration

HOUR_NS = 60 * MINUTE_NS
DAY_NS = 24 * HOUR_NS
WEEK = Lifetime(7 * DAY_NS, (HOUR_NS, DAY_NS))

moments = st.integers(min_value=0, max_value=60 * DAY_NS)


def asked(at_ns: int = 1_000 * DAY_NS) -> PromptRow:
    return PromptRow("r", SessionKey(1), RunKey(1), PromptKind.PERMISSION, "Bash", "{}", b"", Seq(1), at_ns)


def opened(lifetime: Lifetime = WEEK) -> PromptRow:
    row = asked()
    return lifetime.opened(row, row.asked_ns, is_seen=False)


def test_a_prompt_ends_its_time_after_it_was_asked() -> None:
    row = asked()
    assert WEEK.opened(row, row.asked_ns + 5, is_seen=False).expires_ns == row.asked_ns + 7 * DAY_NS


def test_what_was_asked_while_no_daemon_was_there_has_all_its_time() -> None:
    row = asked()
    late_ns = row.asked_ns + 8 * DAY_NS
    assert WEEK.opened(row, late_ns, is_seen=True).expires_ns == late_ns + 7 * DAY_NS


@given(st.lists(moments, max_size=30))
def test_an_end_is_only_put_off_and_never_revived(offsets: list[int]) -> None:
    row = opened()
    for offset in sorted(offsets):
        now_ns = row.asked_ns + offset
        (after,) = WEEK.extended([row], now_ns) or (row,)
        assert after.expires_ns >= row.expires_ns
        if is_over(row, now_ns):
            assert after == row
        elif after != row:
            assert after.expires_ns == now_ns + WEEK.ttl_ns
            assert (after.last_extended_ns, after.extension_count) == (now_ns, row.extension_count + 1)
        row = after


@given(st.lists(st.integers(min_value=0, max_value=10 * MINUTE_NS), max_size=100))
def test_a_session_is_written_at_most_once_a_minute_however_busy_it_is(offsets: list[int]) -> None:
    rows = [opened(), replace(opened(), request_id="s", expires_ns=opened().expires_ns + MINUTE_NS // 2)]
    began_ns, writes = rows[0].asked_ns, 0
    for offset in sorted(offsets):
        after = {row.request_id: row for row in WEEK.extended(rows, began_ns + offset)}
        writes += bool(after)
        rows = [after.get(row.request_id, row) for row in rows]
    assert writes <= 10


@given(st.lists(moments, max_size=30), st.booleans())
def test_each_reminder_comes_once_in_order_and_never_early(offsets: list[int], is_busy: bool) -> None:
    row, sent = opened(), list[int]()
    for offset in sorted(offsets):
        now_ns = row.asked_ns + offset
        if is_busy:
            (row,) = WEEK.extended([row], now_ns) or (row,)
        numbers = WEEK.reminders_due(row, now_ns)
        for number in numbers:
            assert offset >= WEEK.reminders_ns[number - 1]
        if numbers:
            row = replace(row, reminders_sent=numbers[-1])
        sent += numbers
    assert sent == list(range(1, len(sent) + 1))
    assert len(sent) <= 2


@given(moments, st.integers(min_value=0, max_value=2))
def test_nothing_is_due_before_the_moment_that_is_waited_for(offset: int, reminders_sent: int) -> None:
    row = replace(opened(), reminders_sent=reminders_sent)
    now_ns = row.asked_ns + offset
    is_due = is_over(row, now_ns) or bool(WEEK.reminders_due(row, now_ns))
    assert is_due == (WEEK.next_ns(row) <= now_ns)


def test_a_prompt_of_an_earlier_version_is_not_over_before_it_was_given_an_end() -> None:
    assert not is_over(asked(), asked().asked_ns + 100 * DAY_NS)


@pytest.mark.parametrize(
    ("seconds", "text"), [(604800, "7d"), (3600, "1h"), (36 * 3600, "36h"), (5400, "90m"), (90, "90s"), (0, "0s")]
)
def test_a_duration_is_written_in_the_largest_unit_that_leaves_no_rest(seconds: float, text: str) -> None:
    assert short_duration(seconds) == text
