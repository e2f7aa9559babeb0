"""The delays between attempts."""

import pytest

from betcode.client.backoff import LADDER_MS, Backoff


@pytest.mark.behaviour("reconnect.backoff")
def test_waits_grow_by_the_ladder_and_stay_at_thirty_seconds() -> None:
    ladder = Backoff()
    waits = [ladder.next_s() for _ in range(12)]
    assert waits == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 10.0, 30.0, 30.0, 30.0, 30.0]


@pytest.mark.behaviour("reconnect.backoff.reset")
def test_success_leads_back_to_the_first_wait() -> None:
    ladder = Backoff()
    for _ in range(5):
        ladder.next_s()
    ladder.reset()
    assert ladder.next_s() == LADDER_MS[0] / 1000
