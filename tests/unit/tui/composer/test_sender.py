"""Sending messages over a connection that breaks."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import grpc
import pytest

from betcode.client import ClientError
from betcode.client.errors import Refused, Unreachable
from betcode.domain.agents.commands import AttachedFile
from betcode.domain.values.identifiers import MessageId
from betcode.tui.composer.outbox import Outbox, UnsentMessage
from betcode.tui.composer.queue_bar import queue_lines
from betcode.tui.composer.sender import Sender
from betcode.tui.model.queue import QueuedMessage
from betcode.v1 import agent_pb2 as v1
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio

AWAY = Unreachable("nobody answers", code="", details={}, status=grpc.StatusCode.UNAVAILABLE)
NO = Refused("no", code="", details={}, status=grpc.StatusCode.INVALID_ARGUMENT)


class BrokenRoad:
    """Ends each call as it is told to, and counts what came."""

    def __init__(self, *ends: ClientError | None) -> None:
        self._ends = list(ends)
        self.came: list[tuple[MessageId | None, str]] = []
        self.has_come = anyio.Event()
        self.request = len(ends)

    async def send(
        self,
        session_id: str,
        text: str,
        attachments: Sequence[AttachedFile] = (),
        *,
        message_id: MessageId | None = None,
    ) -> None:
        assert (session_id, attachments) == ("session", ())
        self.came.append((message_id, text))
        if len(self.came) == self.request:
            self.has_come.set()
        if (end := self._ends.pop(0)) is not None:
            raise end


class Shown:
    """A sender at work, and what it told."""

    def __init__(self, road: BrokenRoad, data_dir: Path) -> None:
        self.refused: list[str] = []
        self.changed = anyio.Event()
        self.sender = Sender(road, "session", data_dir, self._changed, self._refused)

    def _changed(self) -> None:
        self.changed.set()
        self.changed = anyio.Event()

    def _refused(self, message: UnsentMessage, error: ClientError) -> None:
        assert error is NO
        self.refused.append(message.text)

    async def until_settled(self) -> None:
        while self.sender.unsent:
            await self.changed.wait()


@asynccontextmanager
async def at_work(road: BrokenRoad, data_dir: Path) -> AsyncIterator[Shown]:
    shown = Shown(road, data_dir)
    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(shown.sender.run)
            yield shown
            tasks.cancel_scope.cancel()


async def test_it_is_tried_again_under_one_id_and_in_order(tmp_path: Path) -> None:
    road = BrokenRoad(AWAY, None, None)
    async with at_work(road, tmp_path) as shown:
        shown.sender.send("one")
        shown.sender.send("two")
        await road.has_come.wait()
        await shown.until_settled()
    assert [text for _, text in road.came] == ["one", "one", "two"]
    assert road.came[0] == road.came[1]


async def test_a_refused_message_returns_and_blocks_no_other(tmp_path: Path) -> None:
    road = BrokenRoad(NO, None)
    async with at_work(road, tmp_path) as shown:
        shown.sender.send("one")
        shown.sender.send("two")
        await shown.until_settled()
    assert shown.refused == ["one"]
    assert not Outbox(tmp_path / "outbox", "session").unsent


async def test_nothing_is_tried_while_the_connection_is_down(tmp_path: Path) -> None:
    road = BrokenRoad(None)
    async with at_work(road, tmp_path) as shown:
        shown.sender.link_changed(is_up=False)
        shown.sender.send("back")
        shown.sender.send("kept")
        back = shown.sender.withdraw(shown.sender.unsent[0].message_id)
        assert back is not None
        assert not road.came
        shown.sender.link_changed(is_up=True)
        await shown.until_settled()
        assert shown.sender.withdraw(back.message_id) is None
    assert [text for _, text in road.came] == ["kept"]


async def test_unsent_messages_are_sent_by_the_next_screen(tmp_path: Path) -> None:
    Shown(BrokenRoad(), tmp_path).sender.send("left")
    road = BrokenRoad(None)
    async with at_work(road, tmp_path) as shown:
        await shown.until_settled()
    assert [text for _, text in road.came] == ["left"]


async def test_a_message_written_just_before_quitting_is_sent(tmp_path: Path) -> None:
    road = BrokenRoad(None, AWAY)
    sender = Shown(road, tmp_path).sender
    for text in ("one", "two"):
        sender.send(text)
    await sender.leave()
    assert [one.text for one in Outbox(tmp_path / "outbox", "session").unsent] == ["two"]


def test_each_message_has_one_line_with_its_state() -> None:
    accepted, delivered = v1.MESSAGE_STATE_ACCEPTED, v1.MESSAGE_STATE_DELIVERED
    queue = [QueuedMessage("1", "a", delivered), QueuedMessage("2", "b", accepted)]
    unsent = [UnsentMessage(MessageId(name), name, (), 0, was_tried=name == "4") for name in ("2", "3", "4")]
    lines = queue_lines(queue, unsent)
    assert [(line.message_id, line.state) for line in lines] == [
        ("1", "queued for after this turn"),
        ("2", "queued"),
        ("3", "not sent yet"),
        ("4", "not sent yet: no connection"),
    ]
