"""Rows of agents' processes."""

from pathlib import Path

import pytest

from betcode.domain.store.rows import NewRun
from betcode.domain.values.identifiers import new_run_id
from support.storage.rows import new_session, store_at


@pytest.mark.anyio
async def test_a_run_is_created_with_its_first_dialogue_state(tmp_path: Path) -> None:
    async with store_at(tmp_path / "betcode.db") as store:
        session = await new_session(store)
        created = await store.create_run(NewRun(session, new_run_id(), 2, 3, b"carried"))
        assert (created.started_ns, created.dialogue_version, created.dialogue_state) == (2, 3, b"carried")
        assert await store.newest_run(session) == created
