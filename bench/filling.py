"""Stores with a past: sessions and events written the way the daemon writes them, before it starts."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio

from betcode.domain.sessions.status import SessionStatus
from betcode.domain.store.changes import AppendEvents, Change, SaveSession
from betcode.domain.store.rows import NewSession, SessionState, StoredEvent
from betcode.domain.values.identifiers import Seq, new_session_id
from betcode.storage import open_store
from betcode.v1.agent_pb2 import AgentEvent, TextDelta

_EVENTS_AT_ONCE = 2_000
_SESSIONS_AT_ONCE = 250


Making = Callable[[int], AgentEvent]  # the event of a number


def delta(text_bytes: int) -> Making:
    """Deltas as an agent says them."""
    text, message_id = "." * text_bytes, "msg_01ABCDEFGHJKMNPQRSTVWXYZ"
    return lambda seq: AgentEvent(sequence=seq, text_delta=TextDelta(text=text, message_id=message_id))


def event(seq: int, making: Making) -> StoredEvent:
    """One event, said now."""
    made = making(seq)
    made.timestamp.FromNanoseconds(time.time_ns())
    kind = made.WhichOneof("event")
    assert kind is not None
    return StoredEvent(Seq(seq), AgentEvent.DESCRIPTOR.fields_by_name[kind].number, made.SerializeToString())


async def fill_sessions(state_dir: Path, number: int) -> list[str]:
    """Idle sessions with one event each; their ids."""
    made: list[str] = []

    async def one() -> None:
        new = _new()
        state = SessionState(status=SessionStatus.IDLE, last_seq=Seq(1), epoch=store.epoch, updated_ns=new.created_ns)
        await store.create_session(new, state, [event(1, delta(20))])
        made.append(new.session_id)

    async with open_store(_database(state_dir), on_fatal=_give_up) as store:
        while len(made) < number:
            async with anyio.create_task_group() as tasks:
                for _ in range(min(_SESSIONS_AT_ONCE, number - len(made))):
                    tasks.start_soon(one)
    return made


async def fill_events(state_dir: Path, number: int, making: Making) -> str:
    """One idle session with so many events; its id."""
    async with open_store(_database(state_dir), on_fatal=_give_up) as store:
        new = _new()
        first = SessionState(status=SessionStatus.IDLE, last_seq=Seq(1), epoch=store.epoch, updated_ns=new.created_ns)
        key = await store.create_session(new, first, [event(1, making)])
        for seqs in _slices(2, number + 1):
            state = SessionState(
                status=SessionStatus.IDLE, last_seq=Seq(seqs[-1]), epoch=store.epoch, updated_ns=new.created_ns
            )
            events = tuple(event(seq, making) for seq in seqs)
            changes: list[Change] = [AppendEvents(key, events), SaveSession(key, state)]
            await store.commit(changes)
        return new.session_id


def _slices(first: int, end: int) -> Iterator[range]:
    for at in range(first, end, _EVENTS_AT_ONCE):
        yield range(at, min(at + _EVENTS_AT_ONCE, end))


def _new() -> NewSession:
    return NewSession(new_session_id(), "demo", "/", created_ns=time.time_ns(), environment={"PATH": "/usr/bin:/bin"})


def _database(state_dir: Path) -> Path:
    state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    return state_dir / "betcode.db"


_give_up: Callable[[BaseException], None] = print
