"""The tail: what is in memory of a session, and who is woken."""

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from betcode.domain.store.rows import StoredEvent
from betcode.domain.values.identifiers import Seq
from betcode.engine.follow.tail import LIMIT_BYTES, LIMIT_EVENTS, Tail
from support.patience import PATIENCE_S


def stored(*numbers: int, size: int = 4) -> list[StoredEvent]:
    return [StoredEvent(Seq(number), 10, f"{number}".encode().ljust(size, b".")) for number in numbers]


def test_a_position_at_the_head_gets_nothing() -> None:
    tail = Tail(Seq(5))
    batch = tail.since(Seq(5), 1000)
    assert batch is not None
    assert batch.events == ()


def test_a_position_before_memory_is_sent_to_the_log() -> None:
    tail = Tail(Seq(5))
    assert tail.since(Seq(4), 1000) is None


@given(
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=60),
    limit=st.integers(1, 200),
)
def test_any_limit_gives_every_event_once_and_in_order(sizes: list[int], limit: int) -> None:
    tail = Tail(Seq(0))
    for number, size in enumerate(sizes, 1):
        tail.announce([StoredEvent(Seq(number), 10, bytes([number % 256]) * size)])
    got: list[bytes] = []
    position = Seq(0)
    while True:
        batch = tail.since(position, limit)
        assert batch is not None
        if not batch.events:
            break
        assert len(batch.events) == 1 or sum(map(len, batch.events)) <= limit
        got.extend(batch.events)
        position = batch.last
    assert got == [bytes([number % 256]) * size for number, size in enumerate(sizes, 1)]


@pytest.mark.behaviour("followers.slow.bounded")
def test_memory_holds_no_more_than_its_limits() -> None:
    tail = Tail(Seq(0))
    for number in range(1, LIMIT_EVENTS * 3):
        tail.announce(stored(number))
    held = 0
    position = Seq(LIMIT_EVENTS * 3 - 1 - LIMIT_EVENTS)
    while tail.since(position, 1) is None:
        position = Seq(position + 1)
    held = tail.head - position
    assert held <= LIMIT_EVENTS
    tail.announce(stored(LIMIT_EVENTS * 3, size=LIMIT_BYTES + 1))
    assert tail.since(Seq(LIMIT_EVENTS * 3 - 1), 1) is None, "one event larger than the memory is read from the log"


def test_followers_at_one_position_share_one_batch_and_its_bytes() -> None:
    tail = Tail(Seq(0))
    tail.announce(stored(1, 2, 3))
    first, second = tail.since(Seq(0), 1000), tail.since(Seq(0), 1000)
    assert first is second
    assert first is not None
    assert first.joined is first.joined


def test_a_jump_in_numbers_is_passed_over() -> None:
    tail = Tail(Seq(0))
    tail.announce(stored(1, 2, 1_000_003))
    batch = tail.since(Seq(2), 1000)
    assert batch is not None
    assert (batch.first, batch.last) == (1_000_003, 1_000_003)


@pytest.mark.anyio
async def test_an_announcement_wakes_everyone_who_waits() -> None:
    tail = Tail(Seq(0))
    woken: list[int] = []

    async def wait(name: int) -> None:
        await tail.change()
        woken.append(name)

    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as tasks:
            for name in range(3):
                tasks.start_soon(wait, name)
            await anyio.wait_all_tasks_blocked()
            tail.announce(stored(1))
    assert sorted(woken) == [0, 1, 2]


def test_asides_are_heard_only_by_those_who_listen() -> None:
    tail = Tail(Seq(0))
    heard = tail.asides_said
    for number in range(40):
        tail.say(b"%d" % number)
    missed_some = tail.asides_since(heard)
    assert missed_some[-1] == b"39"
    assert len(missed_some) <= 16
    assert tail.asides_since(tail.asides_said) == ()


def test_the_board_has_the_newest_of_each_subject_for_who_has_not_read_it() -> None:
    tail = Tail(Seq(0))
    for number in range(100):
        tail.post("a", b"a%d" % number)
    tail.post("b", b"b")
    assert tail.posted_since(0) == (b"a99", b"b")
    assert tail.posted_since(100) == (b"b",)
    assert tail.posted_since(tail.posted) == ()
