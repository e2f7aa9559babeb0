"""Deleting: gone at once for everyone, and from the file in slices."""

import os
from pathlib import Path

import anyio
import pytest

from betcode.domain.errors import StorageFailed
from betcode.domain.events.search_documents import SearchQuery
from betcode.domain.store.changes import AddBlob, AddInput, AppendEvents, SavePrompt, SaveSession
from betcode.domain.store.rows import (
    Blob,
    InputKind,
    InputRow,
    NewRun,
    PromptKind,
    PromptRow,
    SessionState,
    StoredEvent,
)
from betcode.domain.store.store_ports import SessionFilter
from betcode.domain.values.identifiers import RunKey, Seq, SessionId, SessionKey, new_run_id
from betcode.storage import SqliteStore, open_store
from betcode.v1 import agent_pb2 as v1
from support.storage.rows import Fatal, all_events, ask, events, making, store_at

pytestmark = pytest.mark.anyio

_TEXT_DELTA = v1.AgentEvent.DESCRIPTOR.fields_by_name["text_delta"].number
TABLES = (
    "sessions",
    "session_makings",
    "events",
    "runs",
    "inputs",
    "input_payloads",
    "pending_permissions",
    "blobs",
    "blob_pieces",
)


async def full_session(store: SqliteStore, name: str, many: int) -> tuple[SessionId, SessionKey]:
    """One with something in every table."""
    new = making()
    session = await store.create_session(new, SessionState(), events(1, many))
    run = await store.create_run(NewRun(session, new_run_id(), 1))
    prompt = PromptRow(name, session, run.key, PromptKind.PERMISSION, "Bash", "{}", b"", Seq(1), 1)
    blob = Blob("0" * 64, os.urandom(6_000_000))
    message = InputRow(name, session, InputKind.MESSAGE, b"payload")
    await store.commit([AddInput(message), SavePrompt(prompt), AddBlob(session, blob)])
    return new.session_id, session


def rows(path: Path) -> dict[str, object]:
    return {table: ask(path, f"SELECT count(*) FROM {table}")[0][0] for table in TABLES}


@pytest.mark.behaviour("permission.store.cascade")
async def test_a_deleted_session_is_gone_at_once_and_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "betcode.db"
    async with store_at(path) as store:
        kept_id, kept = await full_session(store, "kept", 10)
        before = rows(path)
        session_id, session = await full_session(store, "deleted", 9_000)
        await store.mark_deleted(session)
        assert await store.find_session(session_id) is None
        assert [row.new.session_id for row in (await store.list_sessions(SessionFilter()))[0]] == [kept_id]
        assert [found for found, _run in await store.live_runs()] == [kept_id]
        assert [found for found, _prompt in await store.open_prompts(None)] == [kept_id]
        assert await store.find_prompt("deleted") is None
        for change in (AppendEvents(session, events(9_001)), SaveSession(session, SessionState())):
            with pytest.raises(StorageFailed):
                await store.commit([change])
        await store.erase_session(session)
        assert rows(path) == before
        assert len(await all_events(store, kept)) == 10


async def test_other_commits_do_not_wait_for_a_large_one_to_go(tmp_path: Path) -> None:
    path = tmp_path / "betcode.db"
    async with store_at(path) as store:
        other = await store.create_session(making(), SessionState(), ())
        session = await store.create_session(making(), SessionState(), ())
        for first in range(1, 100_000, 5_000):
            await store.commit([AppendEvents(session, events(first, 5_000, b"x" * 200))])
        await store.mark_deleted(session)
        number = 0
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(store.erase_session, session)
            while ask(path, "SELECT count(*) FROM sessions") != [(1,)]:
                number += 1
                await store.commit([AppendEvents(other, events(number))])
        assert number > 10  # they went between the slices


async def test_a_delete_that_was_cut_off_is_finished_at_the_next_start(tmp_path: Path) -> None:
    path = tmp_path / "betcode.db"
    fatal = Fatal()
    slices: list[str] | None = None

    def end_after_three_slices(step: str) -> None:
        if slices is not None and step == "before-commit":
            slices.append(step)
            if len(slices) > 4:  # the mark, and three slices
                raise RuntimeError("the writer ends here")

    async with open_store(path, on_fatal=fatal, faults=end_after_three_slices, boot_id="boot-1") as store:
        await full_session(store, "kept", 10)
        before = rows(path)
        _id, session = await full_session(store, "deleted", 20_000)
        slices = []
        await store.mark_deleted(session)
        with pytest.raises(StorageFailed):
            await store.erase_session(session)
        assert fatal.happened.is_set()
    assert rows(path) != before
    async with store_at(path) as store:
        (half,) = store.half_deleted
        assert half.key == session
        assert len(half.run_ids) == 1  # their directories can still be found
        await store.erase_session(half.key)
        assert rows(path) == before
    async with store_at(path) as store:
        assert not store.half_deleted


async def test_no_byte_of_a_deleted_session_stays_in_the_database_files(tmp_path: Path) -> None:
    path = tmp_path / "betcode.db"
    secret = b"thecrownjewels"
    async with store_at(path) as store:
        sessions = [await store.create_session(making(), SessionState(), ()) for _ in range(20)]
        gone = sessions[7]
        for seq in range(1, 400):  # interleaved, so that pages are split and merged
            for session in sessions:
                text = (secret if session is gone else b"otherwise known") * (seq % 40 + 1)
                state = SessionState(last_seq=Seq(seq), preview=text.decode()[: seq % 200], name=f"n{seq}")
                event = _message(seq, text.decode())
                await store.commit([AppendEvents(session, (event,)), SaveSession(session, state)])
        blob = Blob("1" * 64, secret * 50_000)
        prompts = [
            PromptRow(f"{n}", gone, RunKey(1), PromptKind.PERMISSION, "Bash", secret.decode() * n, secret, Seq(1), 1)
            for n in range(1, 60)
        ]
        inputs = [InputRow(f"{n}", gone, InputKind.MESSAGE, secret * n * 100) for n in range(1, 60)]
        await store.commit([AddBlob(gone, blob), *map(SavePrompt, prompts), *map(AddInput, inputs)])
        assert (await store.search(SearchQuery(secret.decode() + "*"))).total
        await store.mark_deleted(gone)
        # The name and the preview go with the mark: erasing may have to wait for a full disk.
        assert ask(path, "SELECT name, preview FROM sessions WHERE deleted = 1") == [("", "")]
        await store.erase_session(gone)
        left = {file.name: file.read_bytes().count(secret) for file in tmp_path.iterdir()}
        assert set(left.values()) == {0}, left
        assert len(await all_events(store, sessions[8])) == 399


def _message(seq: int, text: str) -> StoredEvent:
    event = v1.AgentEvent(sequence=seq, text_delta=v1.TextDelta(text=text, is_complete=True))
    return StoredEvent(Seq(seq), _TEXT_DELTA, event.SerializeToString())
