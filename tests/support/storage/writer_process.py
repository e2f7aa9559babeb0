"""A process that writes to a store until it is killed, and says what was acknowledged.

`store_child.py DATABASE [STEP COUNT]`: with a step, the process kills itself when that step comes for the COUNTth time.
Every line on stdout is one acknowledged commit: session id and the last number in it.
"""

import os
import random
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import anyio

from betcode.domain.sessions.status import SessionStatus
from betcode.domain.store.changes import AddBlob, AddInput, AppendEvents, SaveRun, SaveSession
from betcode.domain.store.rows import Blob, InputKind, InputRow, NewRun, SessionState, StoredEvent
from betcode.domain.values.identifiers import Seq, new_message_id, new_run_id
from betcode.storage import SqliteStore, open_store
from support.storage.rows import Fatal, making

SESSIONS = 3


def die_at(step: str, count: int) -> Callable[[str], None]:
    seen = 0

    def fault(now: str) -> None:
        nonlocal seen
        seen += now == step
        if seen == count:
            os.kill(os.getpid(), signal.SIGKILL)

    return fault


async def write(store: SqliteStore) -> None:
    new = making()
    state = SessionState(status=SessionStatus.ACTIVE)
    session = await store.create_session(new, state, ())
    run = await store.create_run(NewRun(session, new_run_id(), 1))
    while True:
        first, count = state.last_seq + 1, random.choice((1, 1, 2, 7, 90))
        events = tuple(
            StoredEvent(Seq(n), 1, b"event %d " % n + b"x" * random.choice((10, 200, 5000)))
            for n in range(first, first + count)
        )
        state = replace(state, last_seq=events[-1].seq, message_count=state.message_count + 1)
        run = replace(run, offset=int(state.last_seq), dialogue_state=b"%d" % state.last_seq)
        await store.commit(
            [
                SaveRun(run),
                AppendEvents(session, events),
                AddInput(InputRow(new_message_id(), session, InputKind.MESSAGE, b"said")),
                AddBlob(session, Blob(f"{state.last_seq:064}", b"y" * 1000)),
                SaveSession(session, state),
            ]
        )
        os.write(1, f"{new.session_id} {state.last_seq}\n".encode())


async def main() -> None:
    faults = die_at(sys.argv[2], int(sys.argv[3])) if len(sys.argv) > 2 else None
    async with (
        open_store(Path(sys.argv[1]), on_fatal=Fatal(), faults=faults) as store,
        anyio.create_task_group() as tasks,
    ):
        for _ in range(SESSIONS):
            tasks.start_soon(write, store)


if __name__ == "__main__":
    anyio.run(main, backend="asyncio")
