"""A feed on a history of literals."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

import anyio
import grpc
import pytest

from betcode.client import ClientError, ClientIdentity, Link, LinkState, Refused, Unreachable
from betcode.client.connection import OnLink
from betcode.tui.model.conversation import ConversationModel
from betcode.tui.session_feed import SessionFeed
from betcode.v1 import agent_pb2 as v1
from support.patience import PATIENCE_S
from support.screens.blocks import dump, numbered

pytestmark = pytest.mark.anyio

_SUMMARY = v1.SessionSummary(id="s1", status="idle")


@dataclass
class Recorded:
    """A history that is read in pages of a few events; what is live comes after its end."""

    events: Sequence[v1.AgentEvent]
    page: int = 3
    boundary: int = 0  # what comes before it was compacted
    live: Sequence[Sequence[v1.AgentEvent]] = ()
    failures: list[ClientError] = field(default_factory=list)  # the next attempts to read a page
    identity: ClientIdentity = field(default_factory=ClientIdentity)
    asked: list[int] = field(default_factory=list)
    stays_open: anyio.Event | None = None  # until then

    async def read_events(self, _: str, *, before: int = 0, include_compacted: bool = False) -> v1.ReadEventsResponse:
        self.asked.append(before)
        await anyio.lowlevel.checkpoint()
        if self.failures:
            raise self.failures.pop(0)
        lowest = 0 if include_compacted else self.boundary
        left = [one for one in self.events if lowest <= one.sequence < (before or len(self.events) + 1)]
        given = left[-self.page :]
        has_more = len(left) > len(given)
        compacted = self.boundary if self.boundary and not has_more and not include_compacted else 0
        info = v1.SessionInfo(context_usage_percent=40.0, commands=[v1.AgentCommand(name="compact")])
        return v1.ReadEventsResponse(
            events=given, has_more=has_more, compacted_before=compacted, session_info=None if before else info
        )

    async def follow_batches(
        self, _: str, after: int = 0, *, on_link: OnLink, include_compacted: bool = False
    ) -> AsyncGenerator[Sequence[v1.AgentEvent], None]:
        assert include_compacted  # what is compacted while the line is broken must not be missing
        on_link(Link(LinkState.CONNECTED))
        assert after == len(self.events)
        for batch in self.live:
            yield batch
        if self.stays_open is not None:
            await self.stays_open.wait()


def _history(count: int = 10) -> list[v1.AgentEvent]:
    said = [v1.AgentEvent(text_delta=v1.TextDelta(text=f"word {n} ", message_id=f"m{n // 4}")) for n in range(count)]
    return numbered(said)


def _refused(message: str) -> ClientError:
    return Refused(message, code="", details={}, status=grpc.StatusCode.INVALID_ARGUMENT)


def _whole(events: Sequence[v1.AgentEvent]) -> ConversationModel:
    whole = ConversationModel()
    whole.take(events)
    return whole


async def _read(history: Recorded) -> SessionFeed:
    """A feed that has come to the end of it."""
    feed = SessionFeed(history, _SUMMARY, lambda: None)
    with anyio.fail_after(PATIENCE_S):
        await feed.run()
    return feed


async def test_pages_and_live_events_make_one_history() -> None:
    events = _history(12)
    feed = await _read(Recorded(events[:10], live=[events[10:11], events[11:]]))
    assert feed.conversation.oldest == 8
    while await feed.load_older():
        pass
    whole = _whole(events)
    whole.end()
    assert dump(feed.conversation.blocks) == dump(whole.blocks)
    assert (feed.conversation.has_older, feed.has_ended) == (False, True)


async def test_one_page_is_loaded_at_a_time() -> None:
    history = Recorded(_history())
    feed = await _read(history)
    answers: list[bool] = []

    async def load() -> None:
        answers.append(await feed.load_older())

    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(load)
    assert sorted(answers) == [False, False, True]
    assert history.asked == [0, 8]


async def test_compacted_events_are_loaded_on_request() -> None:
    feed = await _read(Recorded(_history(), page=4, boundary=5))
    await feed.load_older()
    assert (feed.conversation.oldest, feed.conversation.compacted_before) == (5, 5)
    assert not await feed.load_older()
    assert await feed.load_older(compacted=True)
    assert feed.conversation.oldest == 1
    assert not feed.conversation.compacted_before


async def test_an_unreadable_page_is_reported_and_can_be_retried() -> None:
    history = Recorded(_history())
    feed = await _read(history)
    history.failures.append(_refused("The disk is gone"))
    assert not await feed.load_older()
    assert feed.trouble == "The disk is gone"
    assert await feed.load_older()
    assert feed.trouble == ""


async def test_a_page_is_waited_for_while_the_daemon_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("betcode.tui.session_feed._RETRY_S", 0.0)
    history = Recorded(_history())
    feed = await _read(history)
    away = Unreachable("nobody is there", code="", details={}, status=grpc.StatusCode.UNAVAILABLE)
    history.failures += [away, away]
    assert await feed.load_older()
    assert feed.link == Link(LinkState.CONNECTED)


async def test_a_permanent_refusal_ends_the_feed_with_a_sentence() -> None:
    history = Recorded(_history(), failures=[_refused("Session does not exist")])
    with pytest.raises(ClientError, match="Session does not exist"):
        await _read(history)


async def test_a_daemon_that_is_away_at_first_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("betcode.tui.session_feed._RETRY_S", 0.0)
    away = Unreachable("nobody is there", code="", details={}, status=grpc.StatusCode.UNAVAILABLE)
    links: list[Link | None] = []
    feed = SessionFeed(Recorded(_history(), failures=[away]), _SUMMARY, lambda: links.append(feed.link))
    await feed.run()
    assert [link.state for link in links if link][:1] == [LinkState.BROKEN]
    assert feed.conversation.newest == 10


async def test_a_daemon_without_pages_is_followed_from_the_beginning() -> None:
    older = Refused("unknown call", code="", details={}, status=grpc.StatusCode.UNIMPLEMENTED)
    events = _history()
    feed = await _read(Recorded([], failures=[older], live=[events]))
    assert feed.conversation.oldest == 1


async def test_things_to_do_are_found_further_back_while_the_agent_works() -> None:
    todo = v1.AgentEvent(todo_update=v1.TodoUpdate(items=[v1.TodoItem(subject="Test it", status=v1.PENDING)]))
    events = numbered([todo, *_history(8)])
    history = Recorded(events, stays_open=anyio.Event())
    at_work = v1.SessionSummary(id="s1", status="active")

    def found() -> None:
        if feed.session_status.todos and history.stays_open is not None:
            history.stays_open.set()

    feed = SessionFeed(history, at_work, found)
    with anyio.fail_after(PATIENCE_S):
        await feed.run()
    assert [item.subject for item in feed.session_status.todos] == ["Test it"]
    assert feed.session_status.context_percent == pytest.approx(40.0)
    assert [one.name for one in feed.session_status.commands] == ["compact"]
