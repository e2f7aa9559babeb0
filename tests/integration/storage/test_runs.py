"""Rows of agents' processes."""

from dataclasses import replace
from pathlib import Path

import pytest

from betcode.domain.changes import SaveRun
from betcode.domain.identifiers import new_run_id
from support.stored import new_session, store_at


@pytest.mark.anyio
async def test_a_run_that_never_said_anything_stands_where_the_one_before_it_stood(tmp_path: Path) -> None:
    async with store_at(tmp_path / "betcode.db") as store:
        session, other = await new_session(store), await new_session(store)
        first = await store.create_run(session, new_run_id(), 1)
        await store.commit([SaveRun(replace(first, dialogue_version=3, dialogue_state=b"so far"))])
        await store.create_run(session, new_run_id(), 2)
        await store.create_run(other, new_run_id(), 3)
        newest, others = await store.newest_run(session), await store.newest_run(other)
        assert newest is not None
        assert others is not None
        assert (newest.started_ns, newest.dialogue_version, newest.dialogue_state) == (2, 3, b"so far")
        assert (others.dialogue_version, others.dialogue_state) == (0, b"")
