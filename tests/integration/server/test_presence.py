"""Who is there: clients by name, as they come and go."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import anyio
import pytest

from betcode.client import ClientError, ClientIdentity, open_client
from betcode.engine.follow.followers import PRESENCE_EVERY_S
from betcode.v1 import agent_pb2 as v1
from support.daemon.lock_clients import Typist, new_session, typist
from support.daemon.process import Agent, Daemon, obedient_daemon
from support.daemon.stream import history, message
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio


def people(one: Typist) -> set[str]:
    return set(one.present)


@pytest.fixture(scope="module")
async def daemon(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Daemon]:
    async with obedient_daemon(tmp_path_factory.mktemp("presence")) as daemon:
        yield daemon


async def test_a_client_without_a_name_gets_one(daemon: Daemon, agent: Agent, tmp_path: Path) -> None:
    session = await new_session(daemon, tmp_path)
    call = agent.Converse()
    await call.write(v1.AgentRequest(start=v1.StartConversation(session_id=session)))
    with anyio.fail_after(PATIENCE_S):
        given = dict(await call.initial_metadata())["x-client-id"]
    await call.write(message("say hello"))
    async with typist(daemon, session, "ben") as ben:
        await ben.holds(str(given))
    call.cancel()


async def test_a_client_is_shown_by_the_name_it_gives_itself_on_one_short_line(daemon: Daemon, tmp_path: Path) -> None:
    session = await new_session(daemon, tmp_path)
    ann = ClientIdentity("ann", "phone", "Ann's   phone\x1b[2J " + "é" * 100)
    shown = "Ann's phone?[2J " + "?" * 47 + "…"
    async with (
        open_client(daemon.paths, ann) as phone,
        typist(daemon, session, "ben") as ben,
        aclosing(phone.follow(session)) as events,
    ):
        await anext(events)
        await phone.send(session, "say hello")
        await ben.until(lambda one: one.holder == "ann" and "ann" in one.present)
        assert ben.lock is not None
        assert ben.lock.holder_client_name == shown
        assert {one.client_id: one.client_name for one in ben.presence[-1].clients} == {"ann": shown, "ben": ""}
        with pytest.raises(ClientError) as error:
            await ben.say("say other")
        assert error.value.details["holder_client_name"] == shown
        summary = next(one for one in (await phone.list_sessions(limit=1000)).sessions if one.id == session)
        assert {one.client_name for one in summary.clients} == {"", shown}


async def test_presence_changes_are_reported_in_batches(daemon: Daemon, agent: Agent, tmp_path: Path) -> None:
    session = await new_session(daemon, tmp_path)
    names = [f"guest-{number}" for number in range(60)]
    async with typist(daemon, session, "ann", "phone") as ann:
        assert ann.present == {"ann": "phone"}
        began = anyio.current_time()
        calls = [
            agent.Follow(v1.FollowRequest(session_id=session), metadata=(("x-client-id", name),)) for name in names
        ]
        await ann.until(lambda one: people(one) == {"ann", *names})
        for call in calls:
            call.cancel()
        await ann.until(lambda one: people(one) == {"ann"})
        lasted = anyio.current_time() - began
        assert len(ann.presence) <= 4 + lasted / PRESENCE_EVERY_S, "each is not told by itself"
        summary = next(one for one in (await ann.client.list_sessions(limit=1000)).sessions if one.id == session)
        assert [(one.client_id, one.client_type) for one in summary.clients] == [("ann", "phone")]
        assert len(await history(agent, session, "session_info")) == 1, "presence is not history"
