"""Watching sessions: chains without a gap, an end where there is one, and nobody who is slow harms another."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

import anyio
import pytest
from grpc import aio

from betcode.client import NewConversation, open_client
from betcode.domain.values.identifiers import parse_session_id
from obey.local.v1 import local_pb2 as pb
from support.daemon.session import Talk, is_idle, kinds
from support.obey.daemon import Obeyed, add_campaign, obey_stub, refused, rest
from support.patience import PATIENCE_S
from support.storage.rows import ask

if TYPE_CHECKING:
    from typing import Any

pytestmark = pytest.mark.anyio

CLAUDE = pb.SESSION_PROVIDER_CLAUDE_CODE
Watch: TypeAlias = "aio.UnaryStreamCall[Any, pb.SessionStatusEvent]"


async def watched(it: Obeyed, session_id: str) -> Watch:
    call = it.stub.WatchSession(pb.WatchSessionRequest(session_id=session_id), timeout=PATIENCE_S)
    await call.initial_metadata()  # from here on nothing is missed
    return call


async def all_watched(it: Obeyed, campaign_id: str = "") -> Watch:
    call = it.stub.WatchAllSessions(pb.WatchAllSessionsRequest(campaign_id=campaign_id), timeout=PATIENCE_S)
    await call.initial_metadata()
    return call


async def until_terminal(call: Watch, session_id: str) -> list[pb.SessionStatusEvent]:
    """What a watch of all sessions says of one, to its end."""
    seen = []
    while True:
        event = await call.read()
        assert isinstance(event, pb.SessionStatusEvent)
        if event.session_id == session_id:
            seen.append(event)
            if event.new_status in (pb.SESSION_STATUS_STOPPED, pb.SESSION_STATUS_FAILED):
                return seen


def names(events: Sequence[pb.SessionStatusEvent]) -> list[str]:
    """Where each came to, once it is seen that they chain."""
    assert all(after.previous_status == before.new_status for before, after in pairwise(events))
    return [pb.SessionStatus.Name(event.new_status).removeprefix("SESSION_STATUS_") for event in events]


@pytest.mark.behaviour("obey.status.flow", "obey.watch-all", "obey.create.row-first", "obey.create.starts")
async def test_all_sessions_are_watched_from_their_making_to_their_end(it: Obeyed) -> None:
    everything = await all_watched(it)
    info = await it.create(CLAUDE)
    await it.send(info.id, "say hello")
    await it.stop(info.id, graceful=True)
    seen = await until_terminal(everything, info.id)
    everything.cancel()
    assert names(seen) == ["CREATED", "STARTING", "RUNNING", "WORKING", "RUNNING", "STOPPING", "STOPPED"]
    assert seen[0].previous_status == pb.SESSION_STATUS_UNSPECIFIED
    assert all(event.message and event.timestamp.seconds for event in seen)


@pytest.mark.behaviour("obey.watch.transitions", "obey.watch.no-missed", "obey.watch.ends", "obey.watch.unknown")
async def test_one_session_is_watched_to_its_end(it: Obeyed) -> None:
    info = await it.create(CLAUDE)
    watch = await watched(it, info.id)
    for number in range(3):
        await it.send(info.id, f"say {number}")
    await it.restart(info.id)
    await it.stop(info.id)
    turns = ["WORKING", "RUNNING"] * 3
    seen = await rest(watch)
    assert names(seen) == [*turns, "STOPPING", "STARTING", "RUNNING", "STOPPING", "STOPPED"]
    assert seen[0].previous_status == pb.SESSION_STATUS_RUNNING
    assert {event.session_id for event in seen} == {info.id}
    assert await rest(await watched(it, info.id)) == [], "it has ended already"
    nobody = it.stub.WatchSession(pb.WatchSessionRequest(session_id="sess_01JMXYZ0000000000000000000"))
    assert (await refused(nobody)).reason == "OBEY-2010"


@pytest.mark.behaviour("obey.watch.transitions")
async def test_a_failed_session_reports_the_reason(it: Obeyed) -> None:
    everything = await all_watched(it)
    doomed = {"BETCODE_OBEDIENT_KILLED_ONCE": str(it.root / "killed-in-watch")}
    error = await refused(it.create(CLAUDE, environment=doomed))
    seen = await until_terminal(everything, error.facts["session_id"])
    everything.cancel()
    assert names(seen) == ["CREATED", "STARTING", "STOPPING", "FAILED"]
    assert "SIGKILL" in seen[-1].message


@pytest.mark.behaviour("obey.watch-all.by-campaign", "obey.list.by-campaign")
async def test_one_campaign_can_be_watched_and_listed(it: Obeyed) -> None:
    other = add_campaign(it.daemon.root / "home", it.daemon.root / "elsewhere", "elsewhere")
    watch = await all_watched(it, other)
    here, there = await it.create(), await it.create(campaign_id=other)
    assert await it.listed(campaign_id=other) == [there.id]
    assert await it.listed(campaign_id="elsewhere") == [there.id]
    assert there.id not in await it.listed(campaign_id=it.campaign_id)
    await it.stop(here.id)
    await it.stop(there.id)
    seen: list[pb.SessionStatusEvent] = []
    while not seen or seen[-1].new_status != pb.SESSION_STATUS_STOPPED:
        event = await watch.read()
        assert isinstance(event, pb.SessionStatusEvent)
        seen.append(event)
    watch.cancel()
    assert {event.session_id for event in seen} == {there.id}
    assert (await refused(all_watched_call(it, "nobody"))).reason == "OBEY-2001"


def all_watched_call(it: Obeyed, campaign_id: str) -> Watch:
    return it.stub.WatchAllSessions(pb.WatchAllSessionsRequest(campaign_id=campaign_id), timeout=PATIENCE_S)


async def test_a_watcher_who_never_reads_harms_nobody(it: Obeyed) -> None:
    small = [("grpc.http2.lookahead_bytes", 1024), ("grpc.max_receive_message_length", 64 * 1024)]
    async with obey_stub(it.daemon.paths.obey_socket, small) as lazy:
        ignored = lazy.WatchAllSessions(pb.WatchAllSessionsRequest())
        await ignored.initial_metadata()
        deaf = lazy.WatchActivity(pb.WatchActivityRequest())
        await deaf.initial_metadata()
        info = await it.create(CLAUDE)
        watch = await watched(it, info.id)
        for _ in range(10):
            await it.send(info.id, "count 100 100\nsay word")
        await it.stop(info.id)
        assert names(await rest(watch)) == [*(["WORKING", "RUNNING"] * 10), "STOPPING", "STOPPED"]
        ignored.cancel()
        deaf.cancel()


@pytest.mark.behaviour(
    "obey.activity.recorded", "obey.existing.stream-activity", "obey.create.event", "obey.stop.event"
)
async def test_one_watch_reports_all_kinds_of_activities(it: Obeyed) -> None:
    watch = it.stub.WatchActivity(pb.WatchActivityRequest(), timeout=PATIENCE_S)
    await watch.initial_metadata()
    info = await it.create(CLAUDE)
    await it.send(info.id, "peek\nsay looked")
    reported = pb.AgentActivityEvent(
        session_id=info.id, event_type="AGENT_TOOL_CALL", tool_name="Elsewhere", content="c"
    )

    async def push() -> "object":
        async def reports() -> "object":
            yield reported
            yield pb.AgentActivityEvent(session_id="theirs", event_type="AGENT_COMPLETION", content="over there")

        return await it.stub.StreamAgentActivity(reports())  # type: ignore[arg-type]

    ack = await push()
    assert isinstance(ack, pb.ActivityAck)
    assert ack.accepted == 2
    seen: list[pb.SessionActivityEvent] = []
    while not seen or seen[-1].session_id != "theirs":
        event = await watch.read()
        assert isinstance(event, pb.SessionActivityEvent)
        seen.append(event)
    mine = [event for event in seen if event.session_id == info.id]
    assert [(event.type, event.tool_name) for event in mine] == [
        (pb.ACTIVITY_TYPE_STATUS, ""),
        (pb.ACTIVITY_TYPE_STATUS, ""),
        (pb.ACTIVITY_TYPE_TOOL_CALL, "Bash"),
        (pb.ACTIVITY_TYPE_TOOL_RESULT, "Bash"),
        (pb.ACTIVITY_TYPE_COMPLETION, ""),
        (pb.ACTIVITY_TYPE_STATUS, ""),
        (pb.ACTIVITY_TYPE_TOOL_CALL, "Elsewhere"),
    ]
    assert mine[0].content.startswith("SESSION_STARTED")
    pushed = ask(it.daemon.paths.database, "SELECT tool_name, content FROM agent_activities ORDER BY 1")
    assert pushed == [("", "over there"), ("Elsewhere", "c")], "what is pushed, and nothing of our own sessions"
    async with open_client(it.daemon.paths) as client:
        events = await Talk(client, str(parse_session_id(info.id))).until(is_idle)
    assert {"tool_call_start", "tool_call_result", "turn_complete"} <= set(kinds(events)), "which are events"
    await it.stop(info.id)
    last = await watch.read()
    assert isinstance(last, pb.SessionActivityEvent)
    assert last.content.startswith("SESSION_STOPPED")
    watch.cancel()


async def test_a_watch_that_begins_in_a_turn_knows_its_tools(it: Obeyed) -> None:
    info = await it.create(CLAUDE)
    stream = await it.at_work(info.id, "tool\nsay done")
    asked = None
    while asked is None or not asked.content.startswith("permission_requested"):
        event = await stream.read()
        assert isinstance(event, pb.SessionActivityEvent)
        asked = event
    watch = it.stub.WatchActivity(pb.WatchActivityRequest(session_id=info.id), timeout=PATIENCE_S)
    await watch.initial_metadata()
    await it.stub.AnswerPermission(pb.AnswerPermissionRequest(request_id=asked.tool_call_id, allow=True))
    seen: list[pb.SessionActivityEvent] = []
    while not seen or seen[-1].type != pb.ACTIVITY_TYPE_COMPLETION:
        event = await watch.read()
        assert isinstance(event, pb.SessionActivityEvent)
        seen.append(event)
    watch.cancel()
    result = next(event for event in seen if event.type == pb.ACTIVITY_TYPE_TOOL_RESULT)
    assert result.tool_name == "Bash"
    await it.stop(info.id)


@pytest.mark.behaviour("obey.campaign-required", "obey.list.default-active")
async def test_sessions_of_the_other_face_are_seen_and_used_here(it: Obeyed) -> None:
    async with open_client(it.daemon.paths) as client:
        inside = it.root / "deeper"
        inside.mkdir()
        outside = it.daemon.root / "outside"
        outside.mkdir()
        everything = await all_watched(it)
        made = [
            await client.start_session(NewConversation(working_directory=str(place), provider="claude"))
            for place in (inside, outside)
        ]
        talk = Talk(client, made[0])
        await talk.say("say from there")
        with anyio.fail_after(PATIENCE_S):
            infos = [await it.until(made[0], pb.SESSION_STATUS_RUNNING), await it.get(made[1])]
        assert [info.campaign_id for info in infos] == [it.campaign_id, ""]
        assert infos[1].status == pb.SESSION_STATUS_CREATED
        assert {info.id for info in infos} <= set(await it.listed())
        assert (await it.send(infos[0].id, "say from here"))[-1].content == "from here"
        await client.close(made[0])
        seen = await until_terminal(everything, infos[0].id)
        everything.cancel()
        assert names(seen) == ["CREATED", "WORKING", "RUNNING", "WORKING", "RUNNING", "STOPPING", "STOPPED"]
        assert (await it.get(made[0])).status == pb.SESSION_STATUS_STOPPED
        await client.close(made[1])
