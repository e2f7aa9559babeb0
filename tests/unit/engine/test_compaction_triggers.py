"""Short of memory, a daemon acts once for each time."""

import pytest

from betcode.engine.shell.compaction_triggers import MemoryPressure

LIMIT = 1000


@pytest.mark.behaviour("compaction.trigger.memory")
def test_it_is_due_past_eighty_percent() -> None:
    pressure = MemoryPressure()
    assert [pressure.is_due(used, LIMIT) for used in (0, 799, 800, 801, 2000)] == [False, False, False, True, True]


@pytest.mark.behaviour("compaction.trigger.memory")
def test_answered_once_it_is_not_due_again_before_memory_was_well_below() -> None:
    pressure = MemoryPressure(answered=True)
    assert [pressure.is_due(used, LIMIT) for used in (900, 790, 900, 700, 900)] == [False] * 5
    assert not pressure.is_due(699, LIMIT)
    assert pressure.is_due(801, LIMIT)
