"""The order, numbers and rows of sessions."""

from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta

import pytest

from betcode.tui.sessions.directory import SessionDirectory, SessionNumbers, in_order, matches
from betcode.tui.sessions.rows import row
from betcode.tui.sessions.search import hit_lines, search_query
from betcode.v1 import agent_pb2 as v1
from betcode.wording.terminal_text import columns

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def session(
    name: str, status: str = "idle", *, minutes: int = 5, prompts: int = 0, where: str = "/w"
) -> v1.SessionSummary:
    one = v1.SessionSummary(id=name, name=name, status=status, pending_prompts=prompts, working_directory=where)
    one.updated_at.FromDatetime(NOW - timedelta(minutes=minutes))
    return one


def test_waiting_sessions_come_first_then_working_then_newest_then_closed() -> None:
    several = [
        session("closed", "closed", minutes=0),
        session("old", minutes=90),
        session("new", minutes=1),
        session("busy", "active", minutes=50),
        session("asks", "active", minutes=70, prompts=1),
    ]
    assert [one.id for one in in_order(several)] == ["asks", "busy", "new", "old", "closed"]
    elsewhere = session("asks there", "active", prompts=1, where="/other")
    assert [one.id for one in in_order([elsewhere, *several[:2]], "/w")] == ["old", "closed", "asks there"]


def test_sessions_keep_their_numbers_until_they_end() -> None:
    numbers = SessionNumbers()
    numbers.see([session("a"), session("b"), session("c")])
    numbers.see([session("d"), session("c"), session("b"), session("a")])
    assert [numbers.of(name) for name in "abcd"] == [1, 2, 3, 4]
    numbers.see([session("e"), session("d"), session("c"), session("b", "closed"), session("a")])
    assert (numbers.of("b"), numbers.session(2), numbers.of("d")) == (0, "e", 4)


def test_only_nine_sessions_have_numbers() -> None:
    numbers = SessionNumbers()
    numbers.see([session(f"s{number}") for number in range(20)])
    assert (numbers.session(9), numbers.of("s9")) == ("s8", 0)


def test_the_session_beside_goes_around_the_end() -> None:
    numbers = SessionNumbers()
    assert numbers.beside("a", 1) == ""
    numbers.see([session("a"), session("b"), session("c")])
    assert [numbers.beside("a", 1), numbers.beside("a", -1), numbers.beside("c", 1)] == ["b", "c", "a"]
    assert numbers.beside("unknown", 1) == "a"


def test_words_find_a_session_by_name_directory_and_id_prefix() -> None:
    one = session("Payment API", where="/home/me/shop")
    assert matches(one, "pay shop")
    assert matches(v1.SessionSummary(id="01a1-77"), "01a1")
    assert not matches(one, "pay cart")
    assert matches(one, "")


@pytest.mark.parametrize("width", [30, 59, 60, 89, 90, 150])
def test_a_row_fits_its_width_and_shows_the_state(width: int) -> None:
    line = row(session("日本語 " * 40, "active", prompts=1), 3, NOW, width)
    assert columns(line) <= width
    assert line.startswith("3 ? ")
    assert ("waits for you" in line) == (width >= 60)


def test_a_row_shows_nothing_that_moves_the_cursor() -> None:
    assert "\x1b" not in row(session("\x1b[2J\nowned"), 0, NOW, 80)


@pytest.mark.parametrize(
    ("typed", "asked"),
    [("pay", "pay*"), ("pay ", "pay"), ('"a phr', '"a phr"'), ('"a phrase"', '"a phrase"'), ("", ""), ("x-", "x-")],
)
def test_a_word_that_is_being_typed_may_be_the_beginning_of_one(typed: str, asked: str) -> None:
    assert search_query(typed) == asked


def test_a_hit_shows_its_author_session_and_time() -> None:
    hit = v1.SearchHit(session_id="01a1", session_name="shop", speaker="agent", excerpt="the \x1b[31mtapir")
    head, text = hit_lines(hit, 60)
    assert head.startswith("agent · ")
    assert head.endswith("shop")
    assert text == "  the ␛[31mtapir"


class ManySessions:
    """A daemon with 450 of them; while a page is read a new one begins, and all others move on by one."""

    def __init__(self) -> None:
        self.sessions = [session(f"s{number}") for number in range(450)]

    async def list_sessions(self, *, limit: int = 0, offset: int = 0) -> v1.ListSessionsResponse:
        page = v1.ListSessionsResponse(sessions=self.sessions[offset : offset + limit], total=len(self.sessions))
        self.sessions.insert(0, session(f"new{len(self.sessions)}"))
        return page

    async def all_sessions(self) -> AsyncGenerator[v1.SessionSummary, None]:
        for one in self.sessions:
            yield one


@pytest.mark.anyio
async def test_a_list_that_is_open_has_all_sessions_and_each_once() -> None:
    directory = SessionDirectory(ManySessions())
    await directory.fetch()
    assert len(directory.sessions) == 200
    directory.lists += 1
    await directory.fetch()
    names = [one.name for one in directory.sessions]
    assert len(set(names)) == len(names)
    assert {f"s{number}" for number in range(450)} <= set(names)
