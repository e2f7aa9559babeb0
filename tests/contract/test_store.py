"""What `betcode.domain.ports.Store` promises, shown with the real store."""

import hashlib
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from betcode.domain.errors import StorageFailed
from betcode.domain.runs.crash_policy import CrashHistory
from betcode.domain.runs.state import RunState
from betcode.domain.sessions.status import SessionStatus
from betcode.domain.sessions.transcript import TranscriptEnd
from betcode.domain.store.changes import (
    AddBlob,
    AddInput,
    AppendEvents,
    AssignInput,
    Change,
    MoveInput,
    SavePrompt,
    SaveRun,
    SaveSession,
)
from betcode.domain.store.rows import (
    Blob,
    InputKind,
    InputRow,
    InputState,
    NewRun,
    PromptKind,
    PromptRow,
    PromptState,
    RunRow,
    SessionState,
)
from betcode.domain.store.store_ports import Store
from betcode.domain.values.identifiers import RunKey, Seq, SessionKey, new_run_id
from betcode.storage import SqliteStore
from support.storage.rows import all_events, events, making, new_session, store_at

pytestmark = pytest.mark.anyio

STATE = SessionState(
    status=SessionStatus.ACTIVE,
    last_seq=Seq(3),
    epoch=2,
    name="a name",
    model="a model",
    conversation_id="its own id",
    conversation_began=True,
    transcript=TranscriptEnd.INTERRUPTED_AFTER_ABANDONED,
    message_count=4,
    input_tokens=5,
    output_tokens=6,
    cost_usd=0.25,
    context_percent=12.5,
    preview="the end of it \N{SNOWMAN}",
    updated_ns=7,
    crashes=CrashHistory((8, 9), in_a_row=1),
    api_pause="limit",
    api_pause_until_ns=2**62,
)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    async with store_at(tmp_path / "betcode.db") as opened:
        yield opened


async def test_the_store_implements_the_port(store: SqliteStore) -> None:
    port: Store = store
    assert (port.epoch, port.epoch_reason) == (0, "")


async def test_a_session_comes_back_as_it_was_made(store: SqliteStore) -> None:
    new = making(
        "/a/b",
        model="m",
        allowed_tools=("Read", "Bash(ls:*)"),
        plan_mode=True,
        worktree_id="w",
        metadata={"k": "\N{SNOWMAN}"},
        environment={"PATH": "/bin", "EMPTY": ""},
        created_ns=11,
    )
    key = await store.create_session(new, STATE, events(1, 3))
    row = await store.find_session(new.session_id)
    assert row is not None
    assert (row.key, row.new, row.state, row.pending_prompts, row.run_state) == (key, new, STATE, 0, None)
    assert await all_events(store, key) == [event.data for event in events(1, 3)]


async def test_no_environment_is_not_an_empty_one(store: SqliteStore) -> None:
    none, empty = making(), making(environment={})
    for new in (none, empty):
        await store.create_session(new, SessionState(), ())
        row = await store.find_session(new.session_id)
        assert row is not None
        assert row.new.environment == new.environment


async def test_an_unknown_session_is_none(store: SqliteStore) -> None:
    assert await store.find_session(making().session_id) is None


async def test_the_same_session_is_not_made_twice(store: SqliteStore) -> None:
    new = making()
    key = await store.create_session(new, SessionState(), events(1))
    with pytest.raises(StorageFailed):
        await store.create_session(new, SessionState(), events(1))
    assert await all_events(store, key) == [events(1)[0].data]


async def test_a_saved_state_replaces_the_old_one(store: SqliteStore) -> None:
    new = making()
    key = await store.create_session(new, SessionState(), ())
    await store.commit([SaveSession(key, STATE)])
    row = await store.find_session(new.session_id)
    assert row is not None
    assert row.state == STATE


@pytest.mark.behaviour("events.sequence.persisted")
async def test_each_session_numbers_its_own_events(store: SqliteStore) -> None:
    one, two = await new_session(store), await new_session(store)
    await store.commit([AppendEvents(one, events(1, 3, b"one")), AppendEvents(two, events(1, 2, b"two"))])
    await store.commit([AppendEvents(one, events(4, 1, b"one"))])
    assert await all_events(store, one) == [event.data for event in events(1, 4, b"one")]
    assert await all_events(store, two) == [event.data for event in events(1, 2, b"two")]


@pytest.mark.behaviour("events.sequence.monotonic")
@pytest.mark.parametrize("numbers", [(3,), (2,), (0,), (4, 4), (5, 4)], ids=str)
async def test_a_number_that_does_not_come_after_the_last_is_refused(
    store: SqliteStore, numbers: tuple[int, ...]
) -> None:
    session = await new_session(store)
    await store.commit([AppendEvents(session, (*events(1), *events(3)))])
    with pytest.raises(StorageFailed, match="Database operation failed"):
        await store.commit([AppendEvents(session, tuple(event for n in numbers for event in events(n)))])
    assert await all_events(store, session) == [events(1)[0].data, events(3)[0].data]


async def test_a_batch_names_its_first_and_last_event(store: SqliteStore) -> None:
    session = await new_session(store)
    await store.commit([AppendEvents(session, (*events(1, 2), *events(1_000_003, 2)))])
    batch = await store.read_events(session, Seq(1), 1000)
    assert batch is not None
    assert (batch.first, batch.last, len(batch.events)) == (2, 1_000_004, 3)
    assert await store.read_events(session, batch.last, 1000) is None


async def test_an_event_over_the_limit_comes_alone(store: SqliteStore) -> None:
    session = await new_session(store)
    await store.commit([AppendEvents(session, events(1, 3, os.urandom(300_000)))])
    batch = await store.read_events(session, Seq(0), 128 * 1024)
    assert batch is not None
    assert (batch.first, batch.last) == (1, 1)


async def test_a_run_moves_with_its_events(store: SqliteStore) -> None:
    new = making()
    session = await store.create_session(new, SessionState(), ())
    run = await store.create_run(NewRun(session, new_run_id(), 5))
    assert run == RunRow(run.key, session, run.run_id, RunState.SPAWNING, 5)
    assert await store.live_runs() == [(new.session_id, run)]
    moved = replace(
        run,
        state=RunState.RUNNING,
        holder_pid=1,
        agent_pid=2,
        agent_start=3,
        offset=4,
        dialogue_version=5,
        dialogue_state=b"\0state",
        last_input=6,
    )
    await store.commit([SaveRun(moved), AppendEvents(session, events(1))])
    assert await store.live_runs() == [(new.session_id, moved)]
    assert await store.newest_run(session) == moved
    ended = replace(moved, state=RunState.EXITED, ended_ns=8, exit_note="exit 0")
    await store.commit([SaveRun(ended)])
    assert await store.live_runs() == []
    row = await store.find_session(new.session_id)
    assert row is not None
    assert row.run_state is RunState.EXITED


async def test_the_newest_run_is_the_last_made(store: SqliteStore) -> None:
    session = await new_session(store)
    assert await store.newest_run(session) is None
    await store.create_run(NewRun(session, new_run_id(), 9))
    newer = await store.create_run(NewRun(session, new_run_id(), 1))
    assert await store.newest_run(session) == newer


def an_input(session: SessionKey, input_id: str, payload: bytes = b"to say") -> InputRow:
    return InputRow(input_id, session, InputKind.MESSAGE, payload, created_ns=3, content=b"hash")


async def test_open_inputs_come_in_the_order_they_were_accepted(store: SqliteStore) -> None:
    session, other = await new_session(store), await new_session(store)
    run = await store.create_run(NewRun(session, new_run_id(), 1))
    rows = [an_input(session, name) for name in ("z", "a", "m", "b")]
    await store.commit([AddInput(row) for row in rows])
    await store.commit([AddInput(an_input(other, "z", b"another's"))])
    await store.commit([AssignInput(session, "z", run.key, 1, b"bytes"), MoveInput(session, "z", InputState.DELIVERED)])
    await store.commit([MoveInput(session, "a", InputState.CONSUMED), MoveInput(session, "m", InputState.CANCELLED)])
    delivered = replace(rows[0], run=run.key, number=1, payload=b"bytes", state=InputState.DELIVERED)
    assert await store.open_inputs(session) == [delivered, rows[3]]
    assert await store.find_input(session, "a") == replace(rows[1], state=InputState.CONSUMED)
    assert await store.find_input(session, "nobody's") is None
    assert await store.find_input(other, "z") == an_input(other, "z", b"another's")


async def test_an_input_keeps_its_first_terminal_state(store: SqliteStore) -> None:
    session = await new_session(store)
    await store.commit([AddInput(an_input(session, "a")), MoveInput(session, "a", InputState.CANCELLED)])
    for state in InputState:
        with pytest.raises(StorageFailed):
            await store.commit([MoveInput(session, "a", state)])
    row = await store.find_input(session, "a")
    assert row is not None
    assert row.state is InputState.CANCELLED


def a_prompt(session: SessionKey, run: RunKey, request_id: str) -> PromptRow:
    return PromptRow(
        request_id, session, run, PromptKind.PERMISSION, "Bash", '{"command": "ls"}', b"event", Seq(1), asked_ns=4
    )


async def test_a_prompt_is_open_until_it_is_answered(store: SqliteStore) -> None:
    new = making()
    session = await store.create_session(new, SessionState(), ())
    other = await new_session(store)
    run = await store.create_run(NewRun(session, new_run_id(), 1))
    first, second = a_prompt(session, run.key, "q2"), a_prompt(session, run.key, "q1")
    await store.commit([SavePrompt(first), SavePrompt(second)])
    assert await store.open_prompts(session) == [(new.session_id, first), (new.session_id, second)]
    assert await store.open_prompts(None) == [(new.session_id, first), (new.session_id, second)]
    assert await store.open_prompts(other) == []
    row = await store.find_session(new.session_id)
    assert row is not None
    assert row.pending_prompts == 2
    answered = replace(
        first,
        state=PromptState.ANSWERED,
        decision="allow",
        answers={"Which?": "this"},
        answered_by="me",
        answered_ns=9,
        idempotency_key="k",
    )
    await store.commit([SavePrompt(answered)])
    assert await store.open_prompts(None) == [(new.session_id, second)]
    assert await store.find_prompt("q2") == (new.session_id, answered)
    assert await store.find_prompt("nobody's") is None
    assert await store.prompts_beginning("q2") == [(new.session_id, answered)]
    assert len(await store.prompts_beginning("q")) == 2
    assert await store.prompts_beginning("Q%") == []


async def test_a_prompt_of_another_session_is_not_taken_over(store: SqliteStore) -> None:
    session, other = await new_session(store), await new_session(store)
    run = await store.create_run(NewRun(session, new_run_id(), 1))
    await store.commit([SavePrompt(a_prompt(session, run.key, "q"))])
    with pytest.raises(StorageFailed):
        await store.commit([SavePrompt(a_prompt(other, run.key, "q"))])


async def test_a_blob_of_twenty_megabytes_is_read_in_pieces(store: SqliteStore) -> None:
    session, other = await new_session(store), await new_session(store)
    data = os.urandom(20 * 1024 * 1024 + 17)
    sha256 = hashlib.sha256(data).hexdigest()
    await store.commit([AddBlob(session, Blob(sha256, data))])
    await store.commit([AddBlob(session, Blob(sha256, data))])  # the same again changes nothing
    assert await store.blob_size(session, sha256) == len(data)
    assert await store.blob_size(other, sha256) is None
    found = bytearray()
    while piece := await store.read_blob(session, sha256, len(found), 64 * 1024):
        assert len(piece) <= 64 * 1024
        found += piece
    assert found == data
    assert await store.read_blob(session, sha256, 131_000, 100_000) == data[131_000:231_000]
    assert await store.read_blob(session, sha256, len(data), 10) == b""
    assert await store.read_blob(other, sha256, 0, 10) == b""


async def test_an_empty_blob_has_a_size(store: SqliteStore) -> None:
    session = await new_session(store)
    await store.commit([AddBlob(session, Blob("0" * 64, b""))])
    assert await store.blob_size(session, "0" * 64) == 0
    assert await store.read_blob(session, "0" * 64, 0, 10) == b""


NOWHERE = SessionKey(404)
NO_RUN = RunRow(RunKey(404), NOWHERE, new_run_id(), RunState.RUNNING, 1)


@pytest.mark.behaviour("error.code.sqlite-error")
@pytest.mark.parametrize(
    "change",
    [
        AppendEvents(NOWHERE, events(1)),
        SaveSession(NOWHERE, SessionState()),
        SaveRun(NO_RUN),
        AddInput(an_input(NOWHERE, "i")),
        AssignInput(NOWHERE, "i", RunKey(1), 1, b""),
        MoveInput(NOWHERE, "i", InputState.CONSUMED),
        SavePrompt(a_prompt(NOWHERE, RunKey(1), "q")),
        AddBlob(NOWHERE, Blob("0" * 64, b"data")),
    ],
    ids=lambda change: type(change).__name__,
)
async def test_nothing_is_reported_done_for_what_is_unknown(store: SqliteStore, change: Change) -> None:
    session = await new_session(store)
    with pytest.raises(StorageFailed, match=r"^Database operation failed$") as refused:
        await store.commit([AppendEvents(session, events(1)), change])
    assert refused.value.code == "SQLITE_ERROR"
    assert await all_events(store, session) == []  # all of a commit, or nothing


async def test_a_run_of_an_unknown_session_is_refused(store: SqliteStore) -> None:
    with pytest.raises(StorageFailed):
        await store.create_run(NewRun(NOWHERE, new_run_id(), 1))


async def test_what_was_committed_is_there_after_opening_again(tmp_path: Path) -> None:
    new = making(environment={"A": "b"})
    async with store_at(tmp_path / "betcode.db") as store:
        session = await store.create_session(new, STATE, events(1, 3))
    async with store_at(tmp_path / "betcode.db") as store:
        row = await store.find_session(new.session_id)
        assert row is not None
        assert (row.key, row.new, row.state) == (session, new, STATE)
        assert await all_events(store, session) == [event.data for event in events(1, 3)]
