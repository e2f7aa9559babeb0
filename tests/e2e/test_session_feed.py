"""The screen's model of a session, from a daemon that continues, stops and restarts."""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from betcode.client import Client, ClientIdentity, LinkState, NewConversation, open_client
from betcode.tui.model.blocks import TurnEnd
from betcode.tui.model.conversation import ConversationModel
from betcode.tui.session_feed import SessionFeed
from betcode.v1 import agent_pb2 as v1
from support.daemon.process import Daemon, becomes_true, running_daemon
from support.patience import PATIENCE_S
from support.screens.blocks import dump
from support.screens.screen import QUICK_LADDER_MS

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def _connected(daemon: Daemon) -> AsyncIterator[Client]:
    identity = ClientIdentity(client_type="tui")
    async with open_client(daemon.paths, identity, ladder_ms=QUICK_LADDER_MS) as client:
        yield client


async def _flooded(client: Client, daemon: Daemon, deltas: int, *, size: int, rate: int = 0) -> v1.SessionSummary:
    """A session whose agent begins to stream; as it stood before."""
    how = {"BETCODE_DEMO_FLOOD": str(deltas), "BETCODE_DEMO_BYTES": str(size), "BETCODE_DEMO_RATE": str(rate)}
    session_id = await client.start_session(NewConversation(str(daemon.work), provider="demo", environment=how))
    summary = next(one for one in (await client.list_sessions()).sessions if one.id == session_id)
    await client.send(session_id, "stream")
    return summary


async def _whole(client: Client, session_id: str, until: int) -> list[dict[str, Any]]:
    """The blocks of all events up to one, taken in order."""
    read = ConversationModel(client.identity.client_id)
    async with aclosing(client.follow(session_id)) as events:
        async for event in events:
            read.take([event] if event.sequence else [])
            if event.sequence >= until:
                return dump(read.blocks)
    raise AssertionError("the session ended before")


def _has_ended_turn(feed: SessionFeed) -> bool:
    return any(isinstance(block, TurnEnd) for block in feed.conversation.blocks) and not feed.session_status.is_at_work


async def test_a_daemon_that_is_killed_under_a_feed_costs_it_nothing(tmp_path: Path) -> None:
    async with running_daemon(tmp_path) as daemon, _connected(daemon) as client:
        summary = await _flooded(client, daemon, 800, size=40, rate=800)
        links: list[LinkState] = []
        feed = SessionFeed(client, summary, lambda: links.append(feed.link.state) if feed.link else None)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(feed.run)
            await becomes_true(lambda: feed.conversation.newest > 100)
            await daemon.restart()
            await becomes_true(lambda: _has_ended_turn(feed))
            tasks.cancel_scope.cancel()
        assert LinkState.BROKEN in links
        assert links[-1] is LinkState.CONNECTED
        assert dump(feed.conversation.blocks) == await _whole(client, summary.id, feed.conversation.newest)


async def test_the_newest_page_comes_first_and_older_ones_on_wish(tmp_path: Path) -> None:
    async with running_daemon(tmp_path) as daemon, _connected(daemon) as client:
        summary = await _flooded(client, daemon, 3000, size=300)
        first = SessionFeed(client, summary, lambda: None)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(first.run)
            await becomes_true(lambda: _has_ended_turn(first))
            tasks.cancel_scope.cancel()
        feed = SessionFeed(client, summary, lambda: None)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(feed.run)
            await becomes_true(lambda: feed.link is not None)
            newest_page = feed.conversation.oldest
            assert feed.conversation.has_older
            assert newest_page > 1000
            with anyio.fail_after(PATIENCE_S):
                while await feed.load_older():
                    pass
            tasks.cancel_scope.cancel()
        assert feed.conversation.oldest == 1
        assert not feed.conversation.has_older
        assert dump(feed.conversation.blocks) == dump(first.conversation.blocks)
