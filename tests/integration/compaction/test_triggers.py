"""Compaction that nobody asked for."""

from pathlib import Path

import pytest

from betcode.client import open_client
from support.daemon.compaction import a_place, boundary_of, is_compacting
from support.daemon.process import obedient_daemon
from support.daemon.session import is_idle, kinds, settled_text

pytestmark = pytest.mark.anyio


@pytest.mark.behaviour("compaction.trigger.auto")
async def test_a_context_past_the_threshold_is_compacted_after_its_turn(tmp_path: Path) -> None:
    settings = {"sessions": {"auto_compact_threshold": 500}}
    async with obedient_daemon(tmp_path, settings=settings) as daemon, open_client(daemon.paths) as client:
        place = await a_place(
            daemon, client, tmp_path / "here", "tokens 500\nsay just enough", "tokens 501\nsay too much"
        )
        events = await place.talk.until("compaction")
        because = next(event.status_change.message for event in events if is_compacting(event))
        assert "501 tokens" in because
        assert boundary_of(place.talk.events).tokens_saved == 501 - 40
        await place.talk.until(is_idle)
        assert settled_text(await place.talk.turn("say two")) == "two"


@pytest.mark.behaviour("compaction.trigger.auto")
async def test_what_failed_or_did_not_help_is_not_tried_after_every_turn(tmp_path: Path) -> None:
    settings = {"sessions": {"auto_compact_threshold": 30}}  # less than a compaction leaves
    async with obedient_daemon(tmp_path, settings=settings) as daemon, open_client(daemon.paths) as client:
        place = await a_place(daemon, client, tmp_path / "here", "say one")
        await place.talk.until("compaction")
        await place.talk.until(is_idle)
        for _ in range(3):
            await place.talk.turn("say more")
        assert kinds(place.talk.events).count("compaction") == 1
        # Asked for, it is done all the same.
        assert (await client.compact(place.talk.session_id)).messages_after == 1


@pytest.mark.behaviour("compaction.trigger.memory")
async def test_short_of_memory_the_longest_idle_agent_compacts_once(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        first = await a_place(daemon, client, tmp_path / "first", "say one")
        second = await a_place(daemon, client, tmp_path / "second", "say one")
        daemon.reload({"daemon": {"memory_limit": "4MB"}})
        events = await first.talk.until("compaction")
        assert "daemon.memory_limit" in next(event.status_change.message for event in events if is_compacting(event))
        await first.talk.until(is_idle)
        for place in (first, second):
            await place.talk.turn("say more")
            await place.talk.turn("say more")
        assert "compaction" not in kinds(second.talk.events)
        assert kinds(first.talk.events).count("compaction") == 1
