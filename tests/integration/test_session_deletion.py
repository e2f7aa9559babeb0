"""Deleting a session erases it: no byte of the conversation stays in any file of the state directory."""

import gzip
import os
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
import pytest
from grpc import aio

from betcode.client import Client, NewConversation, open_client
from betcode.domain.agents.commands import AttachedFile
from betcode.v1 import agent_pb2 as v1
from support.daemon.process import Daemon, becomes_true, obedient_daemon
from support.daemon.session import Talk, is_idle
from support.git.repositories import commit, make_repository
from support.patience import PATIENCE_S
from support.providers.claude_world import obedient_talk

pytestmark = pytest.mark.anyio

SECRET = "quetzalcoatlus"


def holding(state: Path, words: str = SECRET) -> list[str]:
    """The files that have the words in their name or their bytes, as they are or decompressed."""
    wanted = words.encode()
    found = []
    # Unlike rglob, walk skips a directory that is deleted meanwhile.
    entries = (Path(top, name) for top, directories, files in os.walk(state) for name in (*directories, *files))
    for file in sorted(entries):
        if words in file.name:
            found.append(f"{file.relative_to(state)} (name)")
        elif file.is_file() and any(wanted in data for data in _readings(file)):
            found.append(str(file.relative_to(state)))
    return found


def _readings(file: Path) -> list[bytes]:
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        return []  # it was removed meanwhile
    readings = [data]
    if data.startswith(b"\x1f\x8b"):
        readings.append(gzip.decompress(data))
    elif data.startswith(b"x"):
        with suppress(zlib.error):  # an object of git
            readings.append(zlib.decompress(data))
    return readings


async def conversation(daemon: Daemon, client: Client) -> Talk:
    """Words in messages, answers, tool input and output, file names, files, an attachment, a name and a draft."""
    (daemon.work / "input").write_text(SECRET)
    talk = await obedient_talk(daemon, client)
    await talk.turn(f"say {SECRET}\nsay another {SECRET}")
    await client.send(
        talk.session_id,
        f"tool\nspawn echo {SECRET}",
        [AttachedFile(f"{SECRET}.txt", "text/plain", SECRET.encode() * 20_000)],
    )
    await talk.answer(await talk.asked(), allow=True)
    await talk.until(is_idle)
    (daemon.work / f"{SECRET}.py").write_text(SECRET)
    await talk.turn("say files changed")
    await talk.say(f"tool\nsay {SECRET}")
    await talk.answer(await talk.asked(), allow=False, message=f"no {SECRET}")
    await talk.until(is_idle)
    await client.rename(talk.session_id, f"about {SECRET}")
    draft = daemon.paths.state_dir / "screen" / "drafts" / talk.session_id
    draft.mkdir(parents=True)
    (draft / "draft.json").write_text(SECRET)
    return talk


@asynccontextmanager
async def world(root: Path) -> AsyncIterator[tuple[Daemon, Client, Talk, Talk]]:
    """A session with the words, and another one beside it."""
    async with obedient_daemon(root) as daemon, open_client(daemon.paths) as client:
        make_repository(daemon.work)
        commit(daemon.work, {"README": "a project"})
        elsewhere = root / "elsewhere"
        elsewhere.mkdir()
        new = NewConversation(str(elsewhere), provider="claude", environment=daemon.environment)
        other = Talk(client, await client.start_session(new))
        await other.turn("say something else")
        yield daemon, client, await conversation(daemon, client), other


async def test_no_byte_of_a_deleted_session_is_left_in_the_state_directory(tmp_path: Path) -> None:
    async with world(tmp_path) as (daemon, client, talk, other):
        state = daemon.paths.state_dir
        await becomes_true(lambda: any("snapshots" in name for name in holding(state)))
        assert {name.split("/")[0] for name in holding(state)} >= {"runs", "screen", "snapshots"}
        assert await client.delete(talk.session_id)
        assert holding(state) == []
        await other.turn("say it goes on")  # nothing of it comes back with later commits
        assert holding(state) == []
        assert len(list(daemon.paths.runs.iterdir())) == 1
    assert holding(tmp_path / "state") == []


@pytest.mark.parametrize("step", ["delete-marked", "delete-files-removed"])
async def test_a_deletion_that_was_cut_short_is_finished_at_the_next_start(tmp_path: Path, step: str) -> None:
    async with world(tmp_path) as (daemon, _client, talk, _other):
        state = daemon.paths.state_dir
        daemon.kill()
        await daemon.start(BETCODE_FAULT=step)
        async with daemon.agent_service() as agent:
            with pytest.raises(aio.AioRpcError):
                await agent.DeleteSession(v1.DeleteSessionRequest(session_id=talk.session_id))
        await daemon.ended()
        assert holding(state)
        await daemon.start()
        async with daemon.agent_service() as agent:
            assert talk.session_id not in {
                each.id for each in (await agent.ListSessions(v1.ListSessionsRequest())).sessions
            }
        await becomes_true(lambda: holding(state) == [])


async def test_a_caller_that_leaves_does_not_stop_the_deletion(tmp_path: Path) -> None:
    async with world(tmp_path) as (daemon, _client, talk, _other):
        async with daemon.agent_service() as agent:
            call = agent.DeleteSession(v1.DeleteSessionRequest(session_id=talk.session_id))
            with anyio.fail_after(PATIENCE_S):
                while talk.session_id in {
                    each.id for each in (await agent.ListSessions(v1.ListSessionsRequest())).sessions
                }:
                    pass
            call.cancel()
        await becomes_true(lambda: holding(daemon.paths.state_dir) == [])
