"""The client library over a broken connection: real sockets, and a service with injected faults."""

from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import anyio
import grpc
import pytest

from betcode.client import ClientIdentity, Link, LinkState, NewConversation, Refused, Unreachable, open_client
from betcode.v1 import agent_pb2 as v1
from support.daemon.scripted_service import Break, ScriptedService, Waits, scripted, text_event
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio
GONE = Break(grpc.StatusCode.UNAVAILABLE)
STOPPING = Break(grpc.StatusCode.UNAVAILABLE, "DAEMON_STOPPING")


async def followed(root: Path, service: ScriptedService, waits: Waits, links: list[Link] | None = None) -> list[int]:
    async with scripted(root, service) as paths, open_client(paths, sleep=waits) as client:
        with anyio.fail_after(PATIENCE_S):
            on_link = (lambda _link: None) if links is None else links.append
            async with aclosing(client.follow("s", on_link=on_link)) as events:
                return [event.sequence async for event in events]


@pytest.mark.behaviour("reconnect.from-last-sequence", "converse.reopen.replays-missed")
async def test_cut_at_every_event_nothing_is_lost_or_repeated(tmp_path: Path) -> None:
    for cut in range(11):
        service = ScriptedService(script=[(cut, GONE)])
        (tmp_path / str(cut)).mkdir()
        assert await followed(tmp_path / str(cut), service, Waits()) == list(range(1, 11))
        assert service.asked_from == [0, cut]


async def test_cut_after_each_single_event_in_turn_nothing_is_lost(tmp_path: Path) -> None:
    service = ScriptedService(script=[(1, GONE)] * 9)
    assert await followed(tmp_path, service, Waits()) == list(range(1, 11))
    assert service.asked_from == list(range(10))


@pytest.mark.behaviour("reconnect.deduplicates")
async def test_events_that_come_again_are_dropped(tmp_path: Path) -> None:
    service = ScriptedService(script=[(4, GONE), (5, GONE)], overlap=3)
    assert await followed(tmp_path, service, Waits()) == list(range(1, 11))


@pytest.mark.behaviour("reconnect.backoff", "error.client.retry", "error.status.unavailable")
async def test_a_line_that_stays_broken_is_tried_by_the_ladder(tmp_path: Path) -> None:
    service = ScriptedService(script=[(0, GONE)] * 10)
    waits = Waits()
    await followed(tmp_path, service, waits)
    assert waits.seconds == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 10.0, 30.0, 30.0]


@pytest.mark.behaviour("reconnect.backoff.reset")
async def test_a_line_that_stood_begins_at_the_foot_of_the_ladder_again(tmp_path: Path) -> None:
    service = ScriptedService(script=[(0, GONE), (0, GONE), (1, GONE), (0, GONE)])
    waits = Waits()
    await followed(tmp_path, service, waits)
    assert waits.seconds == [0.1, 0.2, 0.1, 0.2]


async def test_the_state_of_the_line_can_be_watched(tmp_path: Path) -> None:
    links: list[Link] = []
    await followed(tmp_path, ScriptedService(script=[(2, STOPPING)]), Waits(), links)
    assert [link.state for link in links] == [LinkState.CONNECTED, LinkState.BROKEN, LinkState.CONNECTED]
    assert links[1].retry_in_s == 0.1
    assert links[1].error is not None
    assert links[1].error.code == "DAEMON_STOPPING"


@pytest.mark.behaviour("error.client.retry")
@pytest.mark.parametrize("status", [grpc.StatusCode.UNKNOWN, grpc.StatusCode.INTERNAL, grpc.StatusCode.CANCELLED])
async def test_a_fault_of_the_daemon_is_tried_again(tmp_path: Path, status: grpc.StatusCode) -> None:
    service = ScriptedService(script=[(3, Break(status))])
    assert await followed(tmp_path, service, Waits()) == list(range(1, 11))


async def test_a_permanent_fault_is_reported_in_the_end(tmp_path: Path) -> None:
    service = ScriptedService(script=[(0, Break(grpc.StatusCode.INTERNAL))] * 100)
    with pytest.raises(Refused):
        await followed(tmp_path, service, Waits())
    assert len(service.asked_from) == 10


@pytest.mark.behaviour("error.client.retry", "error.status.invalid-argument")
async def test_a_malformed_request_is_never_repeated(tmp_path: Path) -> None:
    service = ScriptedService(replies=[Break(grpc.StatusCode.INVALID_ARGUMENT, "INVALID_REQUEST", {"field": "x"})])
    waits = Waits()
    async with scripted(tmp_path, service) as paths, open_client(paths, sleep=waits) as client:
        with pytest.raises(Refused) as refused:
            await client.send("s", "hello")
    assert (refused.value.code, refused.value.details) == ("INVALID_REQUEST", {"field": "x"})
    assert len(service.submitted) == 1
    assert waits.seconds == []


@pytest.mark.behaviour("error.client.retry")
async def test_a_full_daemon_is_called_again_after_its_delay(tmp_path: Path) -> None:
    full = Break(grpc.StatusCode.RESOURCE_EXHAUSTED, "POOL_EXHAUSTED", {"retry_after_ms": "5000"})
    service = ScriptedService(replies=[full, full])
    waits = Waits()
    async with scripted(tmp_path, service) as paths, open_client(paths, sleep=waits) as client:
        await client.send("s", "hello")
    assert waits.seconds == [5.0, 5.0]


async def test_a_repeated_message_keeps_its_id(tmp_path: Path) -> None:
    service = ScriptedService(replies=[GONE, GONE, Break(grpc.StatusCode.INTERNAL)])
    async with scripted(tmp_path, service) as paths, open_client(paths, sleep=Waits()) as client:
        accepted = await client.send("s", "hello")
    assert {request.request.message.idempotency_key for request in service.submitted} == {accepted.message_id}
    assert len(service.submitted) == 4
    assert accepted.sequence == 7


async def test_a_repeated_creation_asks_for_the_same_session(tmp_path: Path) -> None:
    service = ScriptedService(replies=[GONE, Break(grpc.StatusCode.INTERNAL)])
    async with scripted(tmp_path, service) as paths, open_client(paths, sleep=Waits()) as client:
        await client.start_session(NewConversation("/tmp"))
        first = {request.request.start.new_session_id for request in service.submitted}
        await client.start_session(NewConversation("/tmp"))
    assert (len(service.submitted), len(first)) == (4, 1)
    assert service.submitted[-1].request.start.new_session_id not in first | {""}


async def test_every_call_carries_the_client_identity(tmp_path: Path) -> None:
    service = ScriptedService()
    phone = ClientIdentity("phone-1", "phone")
    async with scripted(tmp_path, service) as paths, open_client(paths, phone, sleep=Waits()) as client:
        await client.send("s", "hello")
        async with aclosing(client.follow("s")) as events:
            await anext(events)
    assert [(one["x-client-id"], one["x-client-type"]) for one in service.metadata] == [("phone-1", "phone")] * 2


async def test_a_socket_without_a_daemon_is_unreachable(tmp_path: Path) -> None:
    service = ScriptedService()
    async with scripted(tmp_path, service) as paths:
        pass
    waits = Waits()
    async with open_client(paths, sleep=waits) as client:
        with pytest.raises(Unreachable):
            await client.list_sessions()
    assert len(waits.seconds) == 6


@pytest.mark.parametrize("directory", ["a b%20#?ü", "x" * 100])
async def test_a_socket_with_an_odd_or_a_long_path_can_be_reached(tmp_path: Path, directory: str) -> None:
    service = ScriptedService()
    async with scripted(tmp_path, service) as paths:
        place = tmp_path / directory
        place.mkdir()
        (place / "daemon.sock").symlink_to(paths.socket)
        other = replace(paths, socket=place / "daemon.sock")
        async with open_client(other, sleep=Waits()) as client:
            assert (await client.send("s", "hello")).sequence == 7


async def test_a_conversation_resends_unacknowledged_messages(tmp_path: Path) -> None:
    service = ScriptedService(log=[text_event(1)], script=[(1, GONE)])
    heard: list[v1.AgentEvent] = []
    first = second = ""
    async with scripted(tmp_path, service) as paths, open_client(paths, sleep=Waits()) as client:
        conversation = client.converse("s")
        with anyio.fail_after(PATIENCE_S):
            async with aclosing(conversation.events()) as events:
                async for event in events:
                    heard.append(event)
                    if event.WhichOneof("event") == "text_delta":
                        first = await conversation.say("first")
                    if event.user_input.content == "first":
                        second = await conversation.say("second")
                        assert conversation.unacknowledged == (second,)
                    if event.user_input.content == "second":
                        await conversation.finish()
    assert service.said == [first, second, second]
    assert [event.sequence for event in heard if event.sequence] == [1, 2, 3]
    assert service.asked_from == [0, 2]
    assert conversation.unacknowledged == ()
