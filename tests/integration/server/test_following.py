"""ResumeSession and Follow: replay, then live, each event once and in order, for any number of followers."""

import os
import uuid
from pathlib import Path

import anyio
import grpc
import pytest
from grpc import aio

from betcode.v1 import agent_pb2 as v1
from support.daemon.process import Agent, Daemon, obedient_daemon
from support.daemon.stream import (
    conversation,
    finished_session,
    history,
    info_of,
    is_idle,
    kind_of,
    kinds,
    message,
    sequences,
    status_of,
    text_of,
)
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio


async def followed(agent: Agent, session_id: str, after: int = 0) -> list[v1.AgentEvent]:
    """What Follow brings, up to the end of the turn."""
    seen: list[v1.AgentEvent] = []
    call = agent.Follow(v1.FollowRequest(session_id=session_id, from_sequence=after))
    try:
        with anyio.fail_after(PATIENCE_S):
            async for batch in call:
                seen.extend(event for event in batch.events if event.sequence)
                if is_idle(seen[-1]):
                    return seen
    finally:
        call.cancel()
    raise AssertionError(f"the stream ended early: {kinds(seen)}")


@pytest.mark.behaviour("resume.zero-is-everything", "resume.ascending", "resume.exclusive-start", "resume.read-only")
async def test_every_position_gives_exactly_what_comes_after_it(agent: Agent, tmp_path: Path) -> None:
    session_id = await finished_session(agent, str(tmp_path))
    whole = await history(agent, session_id, is_idle)
    assert sequences(whole) == list(range(1, len(whole) + 1))
    assert kinds(whole)[:2] == ["session_info", "user_input"]
    for position in range(len(whole)):
        assert await history(agent, session_id, is_idle, position) == whole[position:]
        assert await followed(agent, session_id, position) == whole[position:]
    assert len((tmp_path / "agent.pids").read_text().split()) == 1


async def test_following_a_session_that_never_had_a_turn_starts_nothing(agent: Agent, tmp_path: Path) -> None:
    made = await agent.Submit(
        v1.SubmitRequest(request=v1.AgentRequest(start=v1.StartConversation(working_directory=str(tmp_path))))
    )
    assert (await history(agent, made.session_id, "session_info"))[0].sequence == 1
    assert not (tmp_path / "agent.pids").exists()


@pytest.mark.behaviour("resume.goes-live", "resume.beside-converse", "followers.broadcast")
async def test_replay_goes_over_into_live_without_a_seam(agent: Agent, tmp_path: Path) -> None:
    async with conversation(agent, working_directory=str(tmp_path)) as stream:
        await stream.say("count 500\nwait go\ncount 500")
        await stream.until(lambda event: event.text_delta.text == "waiting")
        seen: list[list[v1.AgentEvent]] = [[], [], []]

        async def resume(number: int, after: int) -> None:
            seen[number] = await history(agent, stream.session_id, is_idle, after)

        async def follow(number: int) -> None:
            seen[number] = await followed(agent, stream.session_id)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(resume, 0, 0)
            tasks.start_soon(resume, 1, 300)
            tasks.start_soon(follow, 2)
            (tmp_path / "go").touch()
            await stream.until(is_idle)
        whole = [event for event in stream.events if event.sequence]
        assert sequences(whole) == list(range(1, len(whole) + 1))
        assert len(whole) > 1000
        assert seen == [whole, whole[300:], whole]


@pytest.mark.behaviour("resume.unknown-session", "error.status.not-found")
@pytest.mark.parametrize("call_name", ["ResumeSession", "Follow", "CancelTurn", "CloseSession", "DeleteSession"])
async def test_an_unknown_session_is_not_found(agent: Agent, call_name: str) -> None:
    request = {
        "ResumeSession": v1.ResumeSessionRequest,
        "Follow": v1.FollowRequest,
        "CancelTurn": v1.CancelTurnRequest,
        "CloseSession": v1.CloseSessionRequest,
        "DeleteSession": v1.DeleteSessionRequest,
    }[call_name]
    call = getattr(agent, call_name)(request(session_id=str(uuid.uuid4())))
    with pytest.raises(aio.AioRpcError) as error, anyio.fail_after(PATIENCE_S):
        await (call.read() if call_name in ("ResumeSession", "Follow") else call)
    assert error.value.code() is grpc.StatusCode.NOT_FOUND
    assert info_of(error.value).reason == "SESSION_NOT_FOUND"
    assert "session_id" in info_of(error.value).metadata


@pytest.mark.behaviour("resume.out-of-range")
async def test_a_position_beyond_the_newest_is_out_of_range(agent: Agent, tmp_path: Path) -> None:
    session_id = await finished_session(agent, str(tmp_path))
    newest = (await history(agent, session_id, is_idle))[-1].sequence
    for beyond in (newest + 1, 2**64 - 1):
        call = agent.ResumeSession(v1.ResumeSessionRequest(session_id=session_id, from_sequence=beyond))
        assert await status_of(call) is grpc.StatusCode.OUT_OF_RANGE
        follow = agent.Follow(v1.FollowRequest(session_id=session_id, from_sequence=beyond))
        assert await status_of(follow) is grpc.StatusCode.OUT_OF_RANGE


@pytest.mark.behaviour("reconnect.after-end")
async def test_a_stream_of_a_closed_session_gives_everything_and_ends(agent: Agent, tmp_path: Path) -> None:
    session_id = await finished_session(agent, str(tmp_path))
    open_stream = agent.ResumeSession(v1.ResumeSessionRequest(session_id=session_id))
    assert (await agent.CloseSession(v1.CloseSessionRequest(session_id=session_id))).was_open
    with anyio.fail_after(PATIENCE_S):
        live = [event async for event in open_stream if event.sequence]
        after = [event async for event in agent.ResumeSession(v1.ResumeSessionRequest(session_id=session_id))]
    assert "turn_complete" in kinds(after)
    assert live == after
    assert await status_of(open_stream) is grpc.StatusCode.OK
    assert not (await agent.CloseSession(v1.CloseSessionRequest(session_id=session_id))).was_open


async def test_a_deleted_session_ends_its_streams_and_is_gone(agent: Agent, tmp_path: Path) -> None:
    session_id = await finished_session(agent, str(tmp_path))
    call = agent.Follow(v1.FollowRequest(session_id=session_id))
    with anyio.fail_after(PATIENCE_S):
        await call.read()
        assert (await agent.DeleteSession(v1.DeleteSessionRequest(session_id=session_id))).deleted
        while isinstance(await call.read(), v1.AgentEventBatch):
            pass
    assert await status_of(call) is grpc.StatusCode.OK
    gone = agent.Follow(v1.FollowRequest(session_id=session_id))
    assert await status_of(gone) is grpc.StatusCode.NOT_FOUND


@pytest.mark.behaviour("followers.slow.agent-never-blocked", "followers.slow.resync", "followers.slow.lagging")
@pytest.mark.behaviour("followers.slow.bounded", "followers.every-line")
async def test_a_client_that_reads_nothing_costs_nobody_anything(tmp_path: Path) -> None:
    lines, size = 12_000, 4_000  # about 50 MB: far more than any buffer on the way
    async with (
        obedient_daemon(tmp_path) as daemon,
        daemon.agent_service() as agent,
        daemon.agent_service() as slow_agent,
        conversation(agent, working_directory=str(daemon.work)) as stream,
    ):
        await stream.next()
        request = v1.ResumeSessionRequest(session_id=stream.session_id)
        slow = slow_agent.ResumeSession(request, metadata=(("x-client-id", "slow"),))
        await slow.read()
        before = resident_bytes(daemon.pid)
        events = await stream.turn(f"count {lines} {size}")
        numbered = [event for event in events if event.sequence]
        assert sequences(numbered) == list(range(2, len(numbered) + 2))
        deltas = [event.text_delta for event in numbered if kind_of(event) == "text_delta"]
        assert sum(not delta.is_complete for delta in deltas) == lines
        present = [client for event in stream.standing for client in event.presence.clients]
        assert "slow" in [client.client_id for client in present if client.lagging]
        assert resident_bytes(daemon.pid) - before < 40_000_000
        late: list[v1.AgentEvent] = []
        with anyio.fail_after(PATIENCE_S):
            while len(late) < len(numbered) and isinstance(event := await slow.read(), v1.AgentEvent):
                late += [event] if event.sequence else []
        assert late == numbered


async def numbered_until_idle(
    agent: Agent, session_id: str, after: int, limit: int, stall_until: anyio.Event | None = None
) -> list[v1.AgentEvent]:
    """At most `limit` events after a position, reading on after the first only when told to."""
    call = agent.ResumeSession(v1.ResumeSessionRequest(session_id=session_id, from_sequence=after))
    seen: list[v1.AgentEvent] = []
    try:
        while len(seen) < limit and isinstance(event := await call.read(), v1.AgentEvent):
            if event.sequence:
                seen.append(event)
            if is_idle(event):
                break
            if stall_until is not None:
                await stall_until.wait()
    finally:
        call.cancel()
    return seen


def resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.behaviour("followers.broadcast", "followers.slow.resync")
async def test_ten_followers_some_stalled_some_vanishing_all_see_the_same(agent: Agent, tmp_path: Path) -> None:
    async with conversation(agent, working_directory=str(tmp_path)) as stream:
        await stream.next()
        session_id = stream.session_id
        seen: dict[int, list[v1.AgentEvent]] = {}

        async def steady(number: int) -> None:
            seen[number] = await numbered_until_idle(agent, session_id, 0, 1_000_000)

        async def vanishing(number: int) -> None:
            mine: list[v1.AgentEvent] = []
            while not mine or not is_idle(mine[-1]):
                after = mine[-1].sequence if mine else 0
                mine += await numbered_until_idle(agent, session_id, after, 40 + number)
            seen[number] = mine

        async def stalled(number: int) -> None:
            seen[number] = await numbered_until_idle(agent, session_id, 0, 1_000_000, stall_until=ended)

        ended = anyio.Event()
        with anyio.fail_after(PATIENCE_S):
            async with anyio.create_task_group() as tasks:
                for number in range(4):
                    tasks.start_soon(steady, number)
                    tasks.start_soon(vanishing, 10 + number)
                for number in (20, 21):
                    tasks.start_soon(stalled, number)
                await stream.turn("count 1000 200")
                ended.set()
        whole = [event for event in stream.events if event.sequence]
        assert len(seen) == 10
        assert all(events == whole for events in seen.values())


@pytest.mark.behaviour(
    "followers.persist-then-announce", "session.persistence.all-messages", "recovery.sqlite.write-failure"
)
async def test_nothing_that_was_shown_is_gone_after_a_kill(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon:
        async with (
            daemon.agent_service() as agent,
            conversation(agent, working_directory=str(daemon.work)) as stream,
        ):
            await stream.say("count 3000 100\nwait never")
            for _ in range(700):
                await stream.next()
            daemon.kill()
            shown = [event for event in stream.events if event.sequence]
        await daemon.start()
        async with daemon.agent_service() as agent:
            stored = await history(agent, stream.session_id, lambda event: event.sequence >= shown[-1].sequence)
        assert stored == shown


async def test_a_message_sent_twice_is_accepted_once(agent: Agent, tmp_path: Path) -> None:
    made = await agent.Submit(
        v1.SubmitRequest(request=v1.AgentRequest(start=v1.StartConversation(working_directory=str(tmp_path))))
    )
    again = v1.SubmitRequest(session_id=made.session_id, request=message("say once"))
    first = await agent.Submit(again)
    second = await agent.Submit(again)
    assert first == second
    events = await history(agent, made.session_id, is_idle)
    assert kinds(events).count("user_input") == 1
    assert text_of(events) == "once"
    acknowledgement = next(event for event in events if kind_of(event) == "user_input")
    assert acknowledgement.sequence == first.sequence
    assert acknowledgement.user_input.message_id == first.message_id


async def test_either_spelling_of_a_session_id_is_taken(agent: Agent, daemon: Daemon, tmp_path: Path) -> None:
    from betcode.domain.values.identifiers import SessionId, ulid_spelling

    session_id = await finished_session(agent, str(tmp_path))
    assert len(await history(agent, ulid_spelling(SessionId(session_id)), is_idle)) > 3
    assert len(await history(agent, session_id.upper(), is_idle)) > 3
