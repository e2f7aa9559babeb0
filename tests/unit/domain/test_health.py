"""When the pool is well, and when the daemon serves with a loss."""

import pytest

from betcode.domain.metrics.health import AGENT_MISSING, HIGH_MEMORY, POOL_FULL, memory_states, pool_outcome


@pytest.mark.behaviour("health.component.pool")
def test_the_pool_is_well_until_its_line_is_full_too() -> None:
    assert pool_outcome(4, 5, 0, 2).is_well
    assert pool_outcome(5, 5, 1, 2).is_well
    assert not pool_outcome(5, 5, 2, 2).is_well
    assert not pool_outcome(5, 5, 0, 0).is_well  # refused at once: there is no line
    assert pool_outcome(3, 5, 0, 2).message == "3/5 slots used"


@pytest.mark.behaviour("health.degraded.pool")
def test_all_slots_in_use_is_degraded_before_the_line_is_full() -> None:
    assert pool_outcome(4, 5, 0, 2).degraded == ()
    assert pool_outcome(5, 5, 0, 2).degraded == (POOL_FULL,)
    assert (POOL_FULL.name, POOL_FULL.reason) == ("subprocess_pool_full", "All subprocess slots in use")


def test_a_pool_without_its_agent_is_not_well_and_says_why() -> None:
    outcome = pool_outcome(0, 5, 0, 2, "claude is gone")
    assert (outcome.is_well, outcome.degraded) == (False, (AGENT_MISSING,))
    assert outcome.message.endswith("claude is gone")


@pytest.mark.behaviour("health.degraded.memory")
def test_memory_is_high_above_four_fifths_of_its_limit() -> None:
    assert memory_states(80, 100) == ()
    assert memory_states(81, 100) == (HIGH_MEMORY,)
    assert (HIGH_MEMORY.name, HIGH_MEMORY.reason) == ("high_memory", "Memory usage > 80%")
