"""Forks, as far as the daemon makes them: whole or not at all, and independent of what they came from."""

from contextlib import aclosing
from pathlib import Path

import anyio
import pytest

from betcode.client import open_client
from betcode.client.errors import Refused
from betcode.domain.error_codes import ErrorCode
from betcode.v1 import agent_pb2 as v1
from support.daemon.process import obedient_daemon
from support.daemon.session import Talk, assert_whole, is_idle, states_of
from support.providers.claude_world import obedient_talk

pytestmark = pytest.mark.anyio


async def whole(talk: Talk) -> list[v1.AgentEvent]:
    """Everything that a session has, read afresh."""
    reader = Talk(talk.client, talk.session_id)
    last = (await talk.summary()).last_sequence
    return await reader.until(lambda event: event.sequence == last)


async def test_a_fork_outlives_what_it_came_from(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        talk = await obedient_talk(daemon, client)
        await talk.turn("say the word elephant")
        await talk.turn("count 1 300000")  # its settled text is a blob
        await client.close(talk.session_id)
        made = await client.fork(talk.session_id, name="A second try")
        fork = Talk(client, made.session_id)
        events = await whole(fork)
        assert_whole(events)
        shared = [event.SerializeToString() for event in events[: made.at_sequence]]
        assert shared == [event.SerializeToString() for event in (await whole(talk))[: made.at_sequence]]
        assert [hit.session_id for hit in (await client.search("elephant")).hits] == [talk.session_id] * 2
        within = await client.search("elephant", session_id=fork.session_id)
        assert [hit.session_id for hit in within.hits] == [fork.session_id] * 2
        await client.delete(talk.session_id)
        assert [hit.session_id for hit in (await client.search("elephant")).hits] == [fork.session_id] * 2
        assert (await whole(fork)) == events
        cut = next(cut for event in events for cut in event.cuts)
        async with aclosing(client.read_blob(fork.session_id, cut.sha256)) as pieces:
            assert sum([len(piece) async for piece in pieces]) == cut.size_bytes == 300_000
        fork.events = list(events)
        assert "you said: hello" in str(await fork.turn("hello"))
        summary = await fork.summary()
        assert (summary.name, summary.budget_use.turns, summary.message_count) == ("A second try", 1, 6)


async def test_where_nothing_can_be_forked_nothing_is_made(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        talk = await obedient_talk(daemon, client)
        wanted = {
            ErrorCode.FORK_REFUSED: client.fork(talk.session_id),
            ErrorCode.SEQUENCE_OUT_OF_RANGE: client.fork(talk.session_id, at_sequence=2),
            ErrorCode.INVALID_REQUEST: client.fork(talk.session_id, name="two\nlines"),
            ErrorCode.SESSION_NOT_FOUND: client.fork("00000000-0000-7000-8000-000000000000"),
        }
        for code, call in wanted.items():
            with pytest.raises(Refused) as refused:
                await call
            assert refused.value.code == code
        assert (await client.list_sessions()).total == 1


async def test_what_was_queued_or_asked_in_the_original_is_not_open_in_the_fork(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        talk = await obedient_talk(daemon, client)
        await talk.say("wait go")
        await talk.until("text_delta")
        queued = await talk.say("tool")
        await talk.until(lambda event: event.message_state.message_id == queued.message_id)
        (daemon.work / "go").touch()
        request = await talk.asked()
        made = await client.fork(talk.session_id)
        fork = Talk(client, made.session_id)
        events = await whole(fork)
        assert states_of(events, queued.message_id) == ["DELIVERED", "CANCELLED"]
        assert [pending.session_id for pending in await client.pending()] == [talk.session_id]
        assert request.request_id not in str(events)
        assert (await fork.summary()).status == "idle"
        await talk.answer(request, allow=True)
        await talk.until(is_idle)
        assert states_of(talk.events, queued.message_id)[-1] == "CONSUMED"


async def test_a_fork_that_races_the_deletion_of_the_original_is_whole_or_not_there(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        base = await obedient_talk(daemon, client)
        await base.turn("count 6000 1")
        last = (await base.summary()).last_sequence
        made: list[str] = []
        refusals: list[str] = []

        async def fork(session_id: str) -> None:
            try:
                made.append((await client.fork(session_id)).session_id)
            except Refused as refused:
                refusals.append(refused.code)

        async def delete(session_id: str) -> None:
            await client.delete(session_id)

        for order in ((fork, delete), (delete, fork), (fork, delete)):
            original = (await client.fork(base.session_id)).session_id
            async with anyio.create_task_group() as tasks:
                for work in order:
                    tasks.start_soon(work, original)
        ids = {summary.id for summary in (await client.list_sessions()).sessions}
        assert ids == {base.session_id, *made}
        assert set(refusals) <= {ErrorCode.SESSION_NOT_FOUND}
        assert len(made) + len(refusals) == 3
        for session_id in made:
            events = await whole(Talk(client, session_id))
            assert_whole(events)
            assert len(events) >= last
