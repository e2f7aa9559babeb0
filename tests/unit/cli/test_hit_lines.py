"""Search results on a terminal of any width."""

import pytest

from betcode.cli.session.history_commands import hit_lines
from betcode.v1 import agent_pb2 as v1
from betcode.wording.terminal_text import columns

TEXT = (
    "the agent said that the okapi sleeps in the shade 日本語のテキストもある and then said-a-very-long-word-"
    + "x" * 60
)


def hit(session_id: str = "01a1ddff-31fb-7000-8000-000000000001", name: str = "") -> v1.SearchHit:
    found = v1.SearchHit(session_id=session_id, session_name=name, speaker="assistant", excerpt=TEXT)
    found.timestamp.FromSeconds(1_790_000_000)
    return found


HITS = [hit(name="a name that is rather long"), hit("01a1ddff-31fb-7000-8000-000000000002"), hit("02b1ddff-31fb-7000")]


@pytest.mark.parametrize("width", [40, 60, 80, 109, 110, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    assert max(map(columns, hit_lines(HITS, width))) <= width


@pytest.mark.parametrize("width", [40, 60, 80])
def test_a_narrow_terminal_shows_all_of_the_text_and_the_whole_id(width: int) -> None:
    lines = hit_lines(HITS, width)
    assert [line.split(" · ")[0] for line in lines if line.startswith("0")] == [
        HITS[0].session_id,  # the beginning would name two
        HITS[1].session_id,
        "02b1ddff-31fb",
    ]
    assert "".join("".join(lines).split()).count("".join(TEXT.split())) == len(HITS)


def test_a_wide_terminal_has_a_line_for_each() -> None:
    heading, *lines = hit_lines(HITS, 200)
    assert heading.split() == ["SESSION", "TIME", "WHO", "TEXT"]
    assert len(lines) == len(HITS)
