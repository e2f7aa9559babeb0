"""One session, as a person with a client sees it: say something, watch until something happens, answer."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import aclosing

import anyio

from betcode.client import Accepted, Client
from betcode.v1 import agent_pb2 as v1
from support.patience import PATIENCE_S


def kind_of(event: v1.AgentEvent) -> str:
    return event.WhichOneof("event") or ""


def kinds(events: Iterable[v1.AgentEvent]) -> list[str]:
    return [kind_of(event) for event in events]


def settled_text(events: Iterable[v1.AgentEvent]) -> str:
    """What the agent said in the end, whatever its deltas were."""
    return "".join(event.text_delta.text for event in events if event.text_delta.is_complete)


def streamed_text(events: Iterable[v1.AgentEvent]) -> str:
    return "".join(event.text_delta.text for event in events if not event.text_delta.is_complete)


def is_idle(event: v1.AgentEvent) -> bool:
    return event.status_change.status == v1.IDLE


def states_of(events: Iterable[v1.AgentEvent], message_id: str) -> list[str]:
    """What became of a message, without the prefix: DELIVERED, CONSUMED, ..."""
    return [
        v1.MessageState.Name(event.message_state.state).removeprefix("MESSAGE_STATE_")
        for event in events
        if event.message_state.message_id == message_id
    ]


def ends_of(events: Iterable[v1.AgentEvent], message_id: str) -> list[str]:
    """The terminal states that a message reached; more than one is always a fault."""
    return [state for state in states_of(events, message_id) if state in ("CONSUMED", "CANCELLED", "UNKNOWN")]


class Talk:
    """Remembers every numbered event it was shown."""

    def __init__(self, client: Client, session_id: str) -> None:
        self.client = client
        self.session_id = session_id
        self.events: list[v1.AgentEvent] = []

    @property
    def position(self) -> int:
        return self.events[-1].sequence if self.events else 0

    async def say(self, text: str) -> Accepted:
        return await self.client.send(self.session_id, text)

    async def until(self, wanted: str | Callable[[v1.AgentEvent], bool]) -> list[v1.AgentEvent]:
        """The new events up to and with the first that is wanted: a kind, or what a function says."""
        new: list[v1.AgentEvent] = []
        try:
            with anyio.fail_after(PATIENCE_S):
                async with aclosing(self.client.follow(self.session_id, self.position)) as events:
                    async for event in events:
                        if event.sequence:
                            self.events.append(event)
                            new.append(event)
                        if kind_of(event) == wanted if isinstance(wanted, str) else wanted(event):
                            return new
        except TimeoutError:
            raise AssertionError(f"no {wanted} in {PATIENCE_S:g} s; new events: {kinds(new)}") from None
        raise AssertionError(f"the stream ended before {wanted}; new events: {kinds(new)}")

    async def turn(self, text: str) -> list[v1.AgentEvent]:
        """Say something and watch until the agent rests again."""
        await self.say(text)
        return await self.until(is_idle)

    async def asked(self) -> v1.PermissionRequest:
        """The next permission that the agent asks for."""
        return (await self.until("permission_request"))[-1].permission_request

    async def answer(self, request: v1.PermissionRequest, *, allow: bool, message: str = "") -> bool:
        decision = v1.ALLOW_ONCE if allow else v1.DENY
        return await self.client.answer_permission(request.request_id, decision, message=message)

    async def summary(self) -> v1.SessionSummary:
        page = await self.client.list_sessions()
        return next(summary for summary in page.sessions if summary.id == self.session_id)

    async def summary_when(self, wanted: Callable[[v1.SessionSummary], bool]) -> v1.SessionSummary:
        """The session's line in the list as soon as it is as wanted."""
        summary = await self.summary()
        with anyio.move_on_after(PATIENCE_S):
            while not wanted(summary):
                await anyio.sleep(0.02)
                summary = await self.summary()
        assert wanted(summary), summary
        return summary


def assert_whole(events: Sequence[v1.AgentEvent], *, outside_notices: int = 0) -> None:
    """Numbers from 1, without a gap, a repeat or a swap; and no turn of ours was taken for one made outside."""
    assert [event.notice.details.get("event") for event in events].count("outside") == outside_notices
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
