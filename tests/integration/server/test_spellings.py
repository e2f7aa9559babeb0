"""Keys are UUIDs: however one is spelled, it is the same key."""

import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from betcode.client import Client, open_client
from betcode.domain.values.identifiers import MessageId
from betcode.v1 import agent_pb2 as v1
from support.daemon.compaction import a_place
from support.daemon.process import Agent, Daemon
from support.daemon.session import is_idle, kinds, settled_text, states_of

pytestmark = pytest.mark.anyio


@pytest.fixture
async def client(daemon: Daemon) -> AsyncIterator[Client]:
    async with open_client(daemon.paths) as client:
        yield client


async def test_a_message_sent_again_in_capitals_is_the_same_message(
    daemon: Daemon, client: Client, tmp_path: Path
) -> None:
    talk = (await a_place(daemon, client, tmp_path)).talk
    key = str(uuid.uuid4())
    first = await client.send(talk.session_id, "say once", message_id=MessageId(key.upper()))
    await talk.until(is_idle)
    again = await client.send(talk.session_id, "say once", message_id=MessageId(key))
    assert (first.message_id, first.sequence) == (again.message_id, again.sequence)
    assert again.message_id == key
    assert states_of(talk.events, key) == ["DELIVERED", "CONSUMED"]
    assert settled_text(await talk.turn("say twice")) == "twice"
    assert kinds(talk.events).count("user_input") == 2


async def test_a_compaction_asked_for_again_in_capitals_is_the_same_one(
    daemon: Daemon, client: Client, agent: Agent, tmp_path: Path
) -> None:
    talk = (await a_place(daemon, client, tmp_path, "say one")).talk
    key = str(uuid.uuid4())
    request = v1.CompactSessionRequest(session_id=talk.session_id, idempotency_key=key.upper())
    first = await agent.CompactSession(request, timeout=30)
    await talk.until(is_idle)
    await talk.turn("say two")
    request.idempotency_key = key
    assert await agent.CompactSession(request, timeout=30) == first
    assert settled_text(await talk.turn("say three")) == "three"
    assert kinds(talk.events).count("compaction") == 1
