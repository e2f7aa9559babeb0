"""What is said of turns that were made outside, and what they count for."""

import pytest

from betcode.domain.store.rows import SessionState
from betcode.engine.core.counters import SessionCounters
from betcode.engine.operations.import_turns import notice_words
from betcode.v1 import agent_pb2 as v1


@pytest.mark.parametrize(
    ("imported", "omitted", "words"),
    [
        (1, 0, "1 turn was made outside betcode (`claude --resume`) and follows here"),
        (2, 0, "2 turns were made outside betcode (`claude --resume`) and follow here"),
        (
            100,
            3,
            "103 turns were made outside betcode (`claude --resume`). The newest 100 follow; 3 are not in this history",
        ),
    ],
)
def test_a_notice_counts_them(imported: int, omitted: int, words: str) -> None:
    assert notice_words(imported, omitted, "claude --resume") == words


@pytest.mark.parametrize(("origin", "turns"), [("", 1), ("outside", 0)])
def test_a_turn_made_outside_counts_against_no_budget(origin: str, turns: int) -> None:
    tally = SessionCounters(SessionState())
    event = v1.AgentEvent()
    event.turn_complete.stop_reason = "end_turn"
    event.turn_complete.origin = origin
    tally.number(event)
    assert tally.state(1).turns == turns
