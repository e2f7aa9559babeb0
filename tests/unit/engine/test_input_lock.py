"""The input lock: one holder, nobody lost, everybody decided."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from betcode.engine.core.input_lock import InputLock, LockDecision, LockGranted, LockRefused, LockTimes, Waiter

TIMES = LockTimes(answer_s=10, idle_s=300)
CLIENTS = ("ann", "ben", "cy", "dee")
client = st.sampled_from(CLIENTS)


def held_by_ann() -> InputLock:
    return InputLock().sent("ann", 0)


@pytest.mark.behaviour("input-lock.single-holder")
def test_the_first_to_send_holds_it_and_nobody_else_is_admitted() -> None:
    lock = held_by_ann()
    assert lock.holder == "ann"
    assert lock.admits("ann")
    assert not lock.admits("ben")


def test_a_message_that_was_not_taken_leaves_the_lock_as_it_was() -> None:
    assert held_by_ann().unsent("ann", InputLock(), 1, TIMES) == (InputLock(), ())
    again = held_by_ann().sent("ann", 7)
    assert again.unsent("ann", held_by_ann(), 8, TIMES) == (held_by_ann(), ())
    asked, _ = held_by_ann().asked("ben", 1, TIMES)
    assert asked.unsent("ann", InputLock(), 2, TIMES) == (InputLock("ben", 2), (LockGranted("ben", "ann"),))
    given, _ = asked.answered("ben", True, 2, TIMES)
    assert given.unsent("ann", InputLock(), 3, TIMES) == (given, ())


@pytest.mark.behaviour("input-lock.request.free")
def test_a_free_lock_is_given_at_once() -> None:
    lock, decided = InputLock().asked("ben", 5, TIMES)
    assert lock == InputLock("ben", 5)
    assert decided == (LockGranted("ben", ""),)
    assert lock.asked("ben", 6, TIMES) == (lock, (LockGranted("ben", ""),))


@pytest.mark.behaviour("input-lock.request.ten-seconds", "input-lock.request.previous-holder")
def test_silence_of_ten_seconds_gives_the_lock_and_not_before() -> None:
    lock, decided = held_by_ann().asked("ben", 100, TIMES)
    assert (lock.holder, lock.asking, lock.answer_by, decided) == ("ann", "ben", 110, ())
    assert lock.due(TIMES) == 110
    assert lock.ticked(109.9, TIMES) == (lock, ())
    assert lock.ticked(110, TIMES) == (InputLock("ben", 110), (LockGranted("ben", "ann"),))


def test_input_of_the_holder_is_no_answer() -> None:
    lock, _ = held_by_ann().asked("ben", 100, TIMES)
    assert lock.sent("ann", 109).due(TIMES) == 110


def test_the_holder_gives_it() -> None:
    lock, _ = held_by_ann().asked("ben", 100, TIMES)
    assert lock.answered("ben", True, 101, TIMES) == (InputLock("ben", 101), (LockGranted("ben", "ann"),))


def test_who_is_refused_stays_in_line() -> None:
    lock, _ = held_by_ann().asked("ben", 100, TIMES)
    lock, decided = lock.answered("ben", False, 101, TIMES)
    assert decided == (LockRefused("ben"),)
    assert (lock.holder, lock.asking, lock.line) == ("ann", "", (Waiter("ben", 100, refused=True),))
    assert lock.left("ann", 102, TIMES) == (InputLock("ben", 102), (LockGranted("ben", "ann"),))


@pytest.mark.behaviour("input-lock.holder-disconnects")
def test_the_longest_waiter_has_it_when_the_holder_leaves() -> None:
    lock, _ = held_by_ann().asked("ben", 1, TIMES)
    lock, _ = lock.asked("cy", 2, TIMES)
    lock, decided = lock.left("ann", 3, TIMES)
    assert decided == (LockGranted("ben", "ann"),)
    assert (lock.holder, lock.asking, lock.answer_by) == ("ben", "cy", 13), "the new holder has its own ten seconds"


@pytest.mark.behaviour("input-lock.holder-disconnects.no-waiter")
def test_it_is_free_when_the_holder_leaves_and_nobody_waits() -> None:
    assert held_by_ann().left("ann", 3, TIMES) == (InputLock(), ())


@pytest.mark.behaviour("input-lock.idle.offered")
def test_rest_of_five_minutes_gives_it_to_who_waits() -> None:
    lock, _ = held_by_ann().sent("ann", 50).asked("ben", 100, TIMES)
    lock, _ = lock.answered("ben", False, 101, TIMES)
    assert lock.due(TIMES) == 350
    assert lock.ticked(349, TIMES) == (lock, ())
    assert lock.sent("ann", 349).ticked(351, TIMES)[1] == (), "input begins the five minutes anew"
    assert lock.ticked(350, TIMES) == (InputLock("ben", 350), (LockGranted("ben", "ann"),))


def test_who_asks_a_holder_that_rests_has_it_at_once() -> None:
    assert held_by_ann().asked("ben", 1000, TIMES) == (InputLock("ben", 1000), (LockGranted("ben", "ann"),))


@pytest.mark.behaviour("input-lock.idle.kept-without-waiters")
def test_a_holder_that_rests_keeps_it_while_nobody_waits() -> None:
    lock = held_by_ann()
    assert lock.due(TIMES) is None
    assert lock.ticked(100_000, TIMES) == (lock, ())


def test_an_asker_that_leaves_makes_room_for_the_next() -> None:
    lock, _ = held_by_ann().asked("ben", 1, TIMES)
    lock, _ = lock.asked("cy", 2, TIMES)
    lock, decided = lock.left("ben", 5, TIMES)
    assert decided == ()
    assert (lock.asking, lock.answer_by, lock.line) == ("cy", 15, (Waiter("cy", 2),))


def test_who_asks_again_and_again_does_not_come_before_who_asked_first() -> None:
    lock = held_by_ann()
    for now, asker in enumerate(("ben", "cy", "dee"), 1):
        lock, _ = lock.asked(asker, now, TIMES)
    lock, _ = lock.answered("ben", False, 4, TIMES)
    lock, _ = lock.asked("ben", 5, TIMES)
    lock, _ = lock.answered("cy", False, 6, TIMES)
    assert (lock.asking, lock.answer_by) == ("dee", 16)
    assert [waiter.client for waiter in lock.line] == ["ben", "cy", "dee"], "the line is of who waits longest"


@given(st.lists(client, min_size=1, max_size=8))
def test_everyone_who_asks_is_decided_in_turn(askers: list[str]) -> None:
    lock, now = InputLock().sent("holder", 0), 1.0
    for asker in askers:
        lock, _ = lock.asked(asker, now, TIMES)
    order: list[LockDecision] = []
    while (due := lock.due(TIMES)) is not None:
        lock, decided = lock.ticked(due, TIMES)
        order += decided
    assert [each.client for each in order] == list(dict.fromkeys(askers))
    assert [each.previous for each in order if isinstance(each, LockGranted)] == [
        "holder",
        *[e.client for e in order][:-1],
    ]


@dataclass
class Told:
    """What a desk knows from decisions alone."""

    open_asks: set[str] = field(default_factory=set)
    holder: str = ""


class LockLife(RuleBasedStateMachine):
    """Any order of what clients do and of time."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = InputLock()
        self.now = 0.0
        self.here: set[str] = set()
        self.told = Told()
        self.asked_at: dict[str, tuple[float, int]] = {}

    @initialize(who=st.sets(client, min_size=2))
    def some_are_here(self, who: set[str]) -> None:
        self.here = set(who)

    def take(self, after: tuple[InputLock, tuple[LockDecision, ...]]) -> None:
        before, (self.lock, decided) = self.lock, after
        for each in decided:
            if isinstance(each, LockGranted):
                assert each.previous in ("", before.holder)
                self.told.holder = each.client
            self.told.open_asks.discard(each.client)
            self.asked_at.pop(each.client, None)

    @rule(who=client)
    def come(self, who: str) -> None:
        self.here.add(who)

    @rule(who=client)
    def send(self, who: str) -> None:
        if who not in self.here:
            return
        if self.lock.admits(who):
            assert self.told.holder in ("", who), "a message was admitted beside the holder"
            self.lock = self.lock.sent(who, self.now)
            self.told.holder = who
        else:
            assert self.told.holder not in ("", who)

    @rule(who=client)
    def ask(self, who: str) -> None:
        if who not in self.here:
            return
        self.told.open_asks.add(who)
        self.asked_at.setdefault(who, (self.now, len(self.told.open_asks)))  # those who asked before, and itself
        self.take(self.lock.asked(who, self.now, TIMES))

    @precondition(lambda self: self.lock.line)
    @rule(grant=st.booleans(), pick=st.integers(0, 3))
    def answer(self, grant: bool, pick: int) -> None:
        who = self.lock.line[pick % len(self.lock.line)].client
        self.take(self.lock.answered(who, grant, self.now, TIMES))

    @rule(who=client)
    def leave(self, who: str) -> None:
        if who not in self.here:
            return
        self.here.discard(who)
        self.told.open_asks.discard(who)
        self.asked_at.pop(who, None)
        if self.told.holder == who:
            self.told.holder = ""
        self.take(self.lock.left(who, self.now, TIMES))

    @rule(seconds=st.floats(0, 400))
    def time_passes(self, seconds: float) -> None:
        end = self.now + seconds
        while (due := self.lock.due(TIMES)) is not None and due <= end:
            self.now = max(self.now, due)
            self.take(self.lock.ticked(self.now, TIMES))
        self.now = end

    @invariant()
    def it_is_sound(self) -> None:
        lock, waiting = self.lock, [waiter.client for waiter in self.lock.line]
        assert lock.holder == self.told.holder
        assert lock.holder not in waiting
        assert len(set(waiting)) == len(waiting)
        assert self.here.issuperset({lock.holder, *waiting} - {""}), "who is gone holds nothing"
        assert lock.holder or not waiting, "nobody waits for a free lock"
        assert {w.client for w in lock.line if not w.refused} == self.told.open_asks, "nobody who asks is lost"
        assert bool(lock.asking) == bool(self.told.open_asks), "somebody asks while anybody does"

    @invariant()
    def everybody_is_decided_in_time(self) -> None:
        for asked_at, ahead in self.asked_at.values():
            assert self.now <= asked_at + TIMES.answer_s * ahead + 0.001


def test_in_any_order_of_events_one_holds_it_nobody_is_lost_and_everybody_is_decided() -> None:
    run_state_machine_as_test(LockLife)
