"""The search index: behind the log, never in its way, and always to be made again."""

import os
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

from betcode.domain.events.search_documents import DOCUMENT_CHARACTERS, SearchPage, SearchQuery, Speaker
from betcode.domain.store.changes import AppendEvents, SaveSession
from betcode.domain.store.rows import NewSession, SessionState, StoredEvent
from betcode.domain.values.identifiers import Seq, SessionId, SessionKey
from betcode.storage import SqliteStore
from betcode.v1.agent_pb2 import AgentEvent, TextDelta, ToolCallResult, UserInput
from support.patience import PATIENCE_S
from support.storage.rows import ask, locked_by_another_program, making, store_at

pytestmark = pytest.mark.anyio

KINDS = {"text_delta": 10, "tool_call_result": 12, "user_input": 22}


def stored(seq: int, event: AgentEvent) -> StoredEvent:
    event.sequence = seq
    event.timestamp.FromNanoseconds(1_000_000_000 * seq)
    return StoredEvent(Seq(seq), KINDS[event.WhichOneof("event") or ""], event.SerializeToString())


def said(text: str) -> AgentEvent:
    return AgentEvent(text_delta=TextDelta(text=text, is_complete=True, message_id="m"))


async def session_saying(
    store: SqliteStore, *happened: AgentEvent, new: NewSession | None = None
) -> tuple[SessionId, SessionKey]:
    made = new or making()
    told = [stored(seq, event) for seq, event in enumerate(happened, start=1)]
    key = await store.create_session(made, SessionState(last_seq=Seq(len(told)), name="called"), told)
    return made.session_id, key


async def found(store: SqliteStore, query: str, **more: object) -> SearchPage:
    """What the index has once it has read everything."""
    with anyio.fail_after(PATIENCE_S):
        while True:
            page = await store.search(SearchQuery(query, **more))  # type: ignore[arg-type]
            if page.complete:
                return page


def numbers(page: SearchPage) -> Sequence[int]:
    return [hit.seq for hit in page.hits]


async def test_settled_messages_results_and_what_people_said_are_found_with_place_and_time(
    tmp_path: Path,
) -> None:
    async with store_at(tmp_path / "betcode.db") as store:
        session, _ = await session_saying(
            store,
            AgentEvent(user_input=UserInput(content="please find the Walrus")),
            AgentEvent(text_delta=TextDelta(text="a walr", message_id="m")),
            AgentEvent(text_delta=TextDelta(text="us streams by", message_id="m")),
            said("a walrus settles"),
            AgentEvent(tool_call_result=ToolCallResult(tool_id="t", output="zoo/walrus.txt: 12 walruses")),
        )
        page = await found(store, "WALRUS")
        assert numbers(page) == [5, 4, 1]
        assert [hit.speaker for hit in page.hits] == [Speaker.TOOL, Speaker.AGENT, Speaker.USER]
        assert {(hit.session, hit.session_name) for hit in page.hits} == {(session, "called")}
        assert (page.hits[2].excerpt, page.hits[2].at_ns) == ("please find the Walrus", 1_000_000_000)
        assert page.total == 3
        assert (await found(store, "streams")).hits == ()


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("disk full", [2, 1]),  # all words, in any order
        ('"disk full"', [1]),
        ('"disk full', [1]),  # an end that was forgotten
        ("dis*", [2, 1]),
        ("dis", []),
        ("NOT disk", []),  # no operators: these are words
        ("error-handling", [3]),
        ("ERROR AND (disk", []),
        ("naive cafe", [3]),
        ("C++ error", [3]),
        ("++ ** -- ''", []),
        ("text : disk", []),
        ("*", []),
        ("\0disk\0", [2, 1]),
    ],
)
async def test_whatever_is_typed_is_words_and_phrases(tmp_path: Path, query: str, expected: list[int]) -> None:
    async with store_at(tmp_path / "betcode.db") as store:
        await session_saying(
            store,
            said("the disk full of stars"),
            said("full is the disk"),
            said("naïve error-handling of C++ at a café"),
        )
        assert numbers(await found(store, query)) == expected


async def test_what_is_committed_later_is_found_by_the_next_search(tmp_path: Path) -> None:
    async with store_at(tmp_path / "betcode.db") as store:
        _, key = await session_saying(store, said("before"))
        assert numbers(await found(store, "before")) == [1]
        for seq in range(2, 30):
            await store.commit([AppendEvents(key, (stored(seq, said(f"word{seq}")),))])
            assert numbers(await found(store, f"word{seq}")) == [seq]


async def test_pages_hold_every_hit_once_newest_first_and_one_session_can_be_asked(tmp_path: Path) -> None:
    async with store_at(tmp_path / "betcode.db") as store:
        first, _ = await session_saying(store, *[said(f"apple {number}") for number in range(7)])
        second, _ = await session_saying(store, *[said(f"apple {number}") for number in range(4)])
        whole = await found(store, "apple", limit=100)
        assert [(hit.session, hit.seq) for hit in whole.hits] == [
            *((second, seq) for seq in range(4, 0, -1)),
            *((first, seq) for seq in range(7, 0, -1)),
        ]
        pages = [await found(store, "apple", limit=4, offset=offset) for offset in (0, 4, 8, 12)]
        assert [hit for page in pages for hit in page.hits] == list(whole.hits)
        assert {page.total for page in pages} == {11}
        assert numbers(await found(store, "apple", session=first)) == list(range(7, 0, -1))
        assert (await found(store, "apple", session=making().session_id)).hits == ()


async def test_a_deleted_session_is_found_no_more_and_leaves_the_index(tmp_path: Path) -> None:
    async with store_at(tmp_path / "betcode.db") as store:
        kept, _ = await session_saying(store, said("pear"))
        _, gone = await session_saying(store, *[said("pear secretword") for _ in range(5_000)])
        assert (await found(store, "pear")).total == 5_001
        await store.mark_deleted(gone)
        page = await store.search(SearchQuery("pear"))
        assert ([hit.session for hit in page.hits], page.total) == ([kept], 1)
        assert (await found(store, "secretword")).total == 0
        index = tmp_path / "search.db"
        assert ask(index, "SELECT count(*) FROM documents WHERE documents MATCH 'secretword'") == [(0,)]
        assert ask(index, "SELECT count(*) FROM positions") == [(1,)]


async def test_documents_and_excerpts_are_bounded(tmp_path: Path) -> None:
    long = "x " * DOCUMENT_CHARACTERS + "beyond"
    deep = "word " * 3_000 + "needle " + "word " * 3_000
    async with store_at(tmp_path / "betcode.db") as store:
        await session_saying(store, said(long), said(deep), said("a" * 200_000))
        assert (await found(store, "beyond")).hits == ()
        (hit,) = (await found(store, "needle")).hits
        assert "needle" in hit.excerpt
        assert len(hit.excerpt) <= 400
        (hit,) = (await found(store, "aaaa*")).hits
        assert len(hit.excerpt) <= 400


async def test_an_index_that_is_gone_damaged_or_another_logs_is_made_again(tmp_path: Path) -> None:
    path, index = tmp_path / "betcode.db", tmp_path / "search.db"
    async with store_at(path) as store:
        await session_saying(store, said("plum"))
        assert numbers(await found(store, "plum")) == [1]
    assert index.stat().st_mode & 0o777 == 0o600
    whole = index.read_bytes()
    damages = [b"", b"no database at all" * 1_000, whole[:4096] + os.urandom(len(whole) - 4096), None]
    for damage in damages:
        index.unlink() if damage is None else index.write_bytes(damage)
        async with store_at(path) as store:
            assert numbers(await found(store, "plum")) == [1]
    path.rename(tmp_path / "away.db")
    async with store_at(path) as store:
        assert (await found(store, "plum")).hits == ()


async def test_after_a_power_cut_the_index_begins_again(tmp_path: Path) -> None:
    path = tmp_path / "betcode.db"
    async with store_at(path, boot_id="boot-1") as store:
        await session_saying(store, said("fig"))
        assert numbers(await found(store, "fig")) == [1]
    assert ask(path, "UPDATE meta SET value = '0' WHERE name = 'clean'") == []  # as a power cut leaves it
    ask(tmp_path / "search.db", "INSERT INTO documents (rowid, text) VALUES ((1 << 40) | 9, 'never said')")
    async with store_at(path, boot_id="boot-2") as store:
        assert store.epoch == 1
        assert numbers(await found(store, "fig")) == [1]
        assert ask(tmp_path / "search.db", "SELECT count(*) FROM documents WHERE documents MATCH 'never'") == [(0,)]


async def test_what_an_earlier_daemon_left_unread_is_read(tmp_path: Path) -> None:
    path = tmp_path / "betcode.db"
    async with store_at(path) as store:
        _, key = await session_saying(store, *[said("kiwi") for _ in range(3_000)])
        await found(store, "kiwi")
    ask(tmp_path / "search.db", "UPDATE positions SET seq = 1500")
    ask(tmp_path / "search.db", "DELETE FROM documents WHERE rowid & 1099511627775 > 1500")
    async with store_at(path) as store:
        assert (await found(store, "kiwi", session=None)).total == 3_000
        await store.mark_deleted(key)
    async with store_at(path) as store:
        assert (await found(store, "kiwi")).total == 0
        assert ask(tmp_path / "search.db", "SELECT count(*) FROM documents WHERE documents MATCH 'kiwi'") == [(0,)]


async def test_an_index_that_cannot_be_written_stops_no_commit_and_catches_up(tmp_path: Path) -> None:
    async with store_at(tmp_path / "betcode.db") as store:
        _, gone = await session_saying(store, said("lime"))
        _, key = await session_saying(store, said("lime"))
        assert (await found(store, "lime")).total == 2
        with locked_by_another_program(tmp_path / "search.db"):
            with anyio.fail_after(PATIENCE_S):
                state = SessionState(last_seq=Seq(2))
                await store.commit([AppendEvents(key, (stored(2, said("lemon")),)), SaveSession(key, state)])
            await store.mark_deleted(gone)
            page = await store.search(SearchQuery("lime"))
            assert (page.complete, page.total, numbers(page)) == (False, 1, [1])
        assert numbers(await found(store, "lemon")) == [2]


async def test_damage_that_a_search_meets_is_mended(tmp_path: Path) -> None:
    index = tmp_path / "search.db"
    async with store_at(tmp_path / "betcode.db") as store:
        await session_saying(store, *[said(f"date {number}") for number in range(500)])
        assert (await found(store, "date")).total == 500
        ask(index, "PRAGMA wal_checkpoint(TRUNCATE)")
        ask(index, "UPDATE documents_data SET block = x'00' WHERE id > 10")

        with anyio.fail_after(PATIENCE_S):
            while (await store.search(SearchQuery("date"))).total != 500:
                pass


async def test_an_event_that_cannot_be_read_hides_no_other(tmp_path: Path) -> None:
    async with store_at(tmp_path / "betcode.db") as store:
        _, key = await session_saying(store, said("melon"))
        await store.commit([AppendEvents(key, (StoredEvent(Seq(2), 10, b"\xff\xff"), stored(3, said("melon"))))])
        assert numbers(await found(store, "melon")) == [3, 1]
