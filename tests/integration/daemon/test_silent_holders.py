"""Holders that do not answer when a daemon starts: nobody waits for them, and they are taken over when they go on."""

import os
import signal
from contextlib import aclosing
from pathlib import Path

import anyio
import pytest

from betcode.client import open_client
from betcode.config.settings import EngineSettings
from betcode.domain.agents.commands import SendMessage
from betcode.domain.values.identifiers import Seq, SessionId, new_message_id
from betcode.engine import ClientName, Engine, open_engine
from betcode.engine.maintenance import adoption
from betcode.holder.launch import holder_pids
from betcode.providers.claude.provider import ClaudeProvider
from betcode.v1 import agent_pb2 as v1
from support.daemon.process import agent_program, obedient_daemon
from support.providers.claude_world import obedient_talk
from support.storage.rows import store_at

pytestmark = pytest.mark.anyio

BOUND_S = 60.0
ME = ClientName("me")


async def until_consumed(supervisor: Engine, session: SessionId, message_id: str) -> None:
    async with aclosing(supervisor.watching.follow(session, Seq(0), ME)) as batches:
        async for batch in batches:
            for event in map(v1.AgentEvent.FromString, batch.events):
                if message_id in event.turn_complete.message_ids:
                    return


@pytest.mark.behaviour("reconcile.sessions.adopted")
async def test_a_suspended_holder_does_not_block_the_daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adoption, "READ_WITHIN_S", 10 * BOUND_S)  # what has ended may be waited for, what lives may not
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        talk = await obedient_talk(daemon, client)
        await talk.say("wait go")
        await talk.until(lambda event: event.text_delta.text == "waiting")
        daemon.kill()
        (holder,) = holder_pids(daemon.paths.runs)
        os.kill(holder, signal.SIGSTOP)
        providers = {"claude": ClaudeProvider(agent_program(tmp_path))}
        with anyio.fail_after(BOUND_S):
            async with (
                store_at(daemon.paths.database) as store,
                open_engine(store, providers, EngineSettings(), daemon.paths.runs) as supervisor,
            ):
                session = SessionId(talk.session_id)
                message = SendMessage(new_message_id(), "say two")
                await supervisor.submit(session, message, ME)
                os.kill(holder, signal.SIGCONT)
                (daemon.work / "go").touch()
                await until_consumed(supervisor, session, message.message_id)
        assert len(daemon.agent_pids) == 1
