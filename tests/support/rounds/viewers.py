"""Clients that watch: by a stream, by the client library, or as a process; each keeps what it was shown."""

import asyncio
import os
import signal
import struct
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio
import anyio.lowlevel
import grpc
from grpc import aio

import support.rounds.viewer_process
from betcode.client import ClientIdentity, open_client
from betcode.client.errors import ClientError
from betcode.config.paths import Paths
from betcode.v1 import agent_pb2 as v1
from support.daemon.process import Daemon
from support.paths import TESTS
from support.rounds.evidence import Numbered, View
from support.rounds.plan import Way

_AGAIN_AFTER_S = 0.03
_QUICK_LADDER_MS = (5, 20, 50, 100)
_OVER = (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.OUT_OF_RANGE, grpc.StatusCode.INVALID_ARGUMENT)
_OURS_TO_MEND = (grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN, grpc.StatusCode.OUT_OF_RANGE)
_CLOSED = grpc.StatusCode.FAILED_PRECONDITION
_CUT_WHILE_WRITING = "Internal error from Core"  # what grpc calls a connection that is lost before the first word


@dataclass(slots=True)
class Viewer:
    """One client that watches one session until it is told to leave."""

    name: str
    session_id: str
    way: Way
    after: int
    views: list[tuple[int, list[Numbered]]] = field(default_factory=list)  # one for each stream
    refusals: list[str] = field(default_factory=list)
    leaving: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    has_ended: bool = False  # the daemon ended the stream: there is nothing more to see
    is_shut_out: bool = False  # nobody attaches to a closed session; Follow reads its history
    process: "ViewerProcess | None" = None
    doing: str = "nothing yet"

    @property
    def position(self) -> int:
        if self.process is not None:
            self.views = [(self.after, self.process.shown())]
        seen = [seq for _, shown in self.views for seq, _ in shown]
        return max([self.after, *seen])

    def evidence(self) -> Iterator[View]:
        _ = self.position
        for after, shown in self.views:
            yield from in_pieces(self.name, after, shown)

    async def watch(self, daemon: Daemon, cut_paths: Paths, identity: ClientIdentity) -> None:
        with self.leaving:
            if self.way is Way.LIBRARY:
                await self._by_the_library(cut_paths, identity)
            else:
                await self._by_streams(daemon)

    async def _by_streams(self, daemon: Daemon) -> None:
        while not self.has_ended:
            after, shown = self.position, list[Numbered]()
            self.views.append((after, shown))
            self.doing = "opens a stream"
            async with daemon.channel() as channel:
                try:
                    async with aclosing(_stream(channel, self.way, self.session_id, after)) as events:
                        async for data in events:
                            self.doing = "reads"
                            shown += noted(v1.AgentEvent.FromString(data), data)
                    self.has_ended = True
                except aio.AioRpcError as error:
                    if error.code() in _OURS_TO_MEND and error.details() != _CUT_WHILE_WRITING:
                        self.refusals.append(f"{self.name} got {error.code().name}: {error.details()}")
                    self.is_shut_out = self.way is Way.CONVERSE and error.code() is _CLOSED
                    self.has_ended = self.is_shut_out or error.code() in _OVER
                except asyncio.CancelledError:
                    # The scope that cancels the viewer must recognise its own cancellation; gRPC raises another one.
                    await anyio.lowlevel.checkpoint_if_cancelled()
                    task = asyncio.current_task()
                    if task is None or task.cancelling():
                        raise  # else gRPC says so of a stream that broke before it was open
                self.doing = "lets go of a stream"
            await anyio.sleep(_AGAIN_AFTER_S)

    async def _by_the_library(self, paths: Paths, identity: ClientIdentity) -> None:
        shown: list[Numbered] = []
        self.views.append((self.after, shown))
        async with open_client(paths, identity, ladder_ms=_QUICK_LADDER_MS) as client:
            try:
                async with aclosing(client.follow(self.session_id, self.after)) as events:
                    async for event in events:
                        shown += noted(event, event.SerializeToString())
            except ClientError as error:
                if error.status in _OURS_TO_MEND:
                    self.refusals.append(f"{self.name} got {error.status.name}: {error.message}")
            self.has_ended = True


def noted(event: v1.AgentEvent, data: bytes) -> list[Numbered]:
    """History, and the snapshot that stands for what was compacted of it; its number is 0."""
    is_history = event.sequence > 0 or event.session_info.is_compacted
    return [(event.sequence, data)] if is_history else []


def in_pieces(client: str, after: int, shown: Sequence[Numbered]) -> Iterator[View]:
    """What a client was shown, with a new piece behind each snapshot."""
    piece: list[Numbered] = []
    asked_after: int | None = None
    for seq, data in shown:
        if seq:
            piece.append((seq, data))
            continue
        yield View(client, after, tuple(piece), asked_after)
        asked_after = piece[-1][0] if piece else after
        after, piece = v1.AgentEvent.FromString(data).session_info.compacted_before - 1, []
    yield View(client, after, tuple(piece), asked_after)


async def _stream(channel: aio.Channel, way: Way, session_id: str, after: int) -> AsyncGenerator[bytes, None]:
    """The bytes of every event, just as they come."""
    if way is Way.CONVERSE:
        both: aio.StreamStreamMultiCallable[bytes, bytes] = channel.stream_stream("/betcode.v1.AgentService/Converse")
        talk = both()
        start = v1.StartConversation(session_id=session_id, from_sequence=after)
        await talk.write(v1.AgentRequest(start=start).SerializeToString())
        async for data in talk:
            yield data
    elif way is Way.RESUME:
        resume: aio.UnaryStreamMultiCallable[bytes, bytes] = channel.unary_stream(
            "/betcode.v1.AgentService/ResumeSession"
        )
        request = v1.ResumeSessionRequest(session_id=session_id, from_sequence=after)
        async for data in resume(request.SerializeToString()):
            yield data
    else:
        follow: aio.UnaryStreamMultiCallable[bytes, bytes] = channel.unary_stream("/betcode.v1.AgentService/Follow")
        request_follow = v1.FollowRequest(session_id=session_id, from_sequence=after)
        async for batch in follow(request_follow.SerializeToString()):
            for data in split_batch(batch):
                yield data


def split_batch(batch: bytes) -> Iterator[bytes]:
    """The events of an AgentEventBatch as bytes, without parsing and writing them anew."""
    place = 0
    while place < len(batch):
        assert batch[place] == 0x0A, "a batch holds events and nothing else"
        place, length, shift = place + 1, 0, 0
        while True:
            byte = batch[place]
            length |= (byte & 0x7F) << shift
            place, shift = place + 1, shift + 7
            if byte < 0x80:
                break
        yield batch[place : place + length]
        place += length


async def read_all(daemon: Daemon, way: Way, session_id: str, last: int) -> tuple[Numbered, ...]:
    """The history from its beginning to number `last`, as a client gets it."""
    shown: list[Numbered] = []
    async with daemon.channel() as channel, aclosing(_stream(channel, way, session_id, 0)) as events:
        async for data in events:
            seq = v1.AgentEvent.FromString(data).sequence
            if seq:
                shown.append((seq, data))
            if seq >= last:
                break
    return tuple(shown)


class ViewerProcess:
    """A client as a process, which can be killed and paused; what it was shown is in a file."""

    def __init__(self, daemon: Daemon, session_id: str, after: int, file: Path) -> None:
        self._file = file
        paths = daemon.paths
        program = support.rounds.viewer_process.__file__
        self._process = subprocess.Popen(
            [sys.executable, program, str(paths.state_dir), str(paths.socket), session_id, str(after), str(file)],
            env=daemon.environment | {"PYTHONPATH": str(TESTS)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def shown(self) -> list[Numbered]:
        """Whole entries only: a killed process may have left half of one."""
        data = self._file.read_bytes() if self._file.exists() else b""
        found: list[Numbered] = []
        place = 0
        while place + 12 <= len(data):
            seq, length = struct.unpack_from("<QI", data, place)
            place += 12
            if place + length > len(data):
                break
            found.append((seq, data[place : place + length]))
            place += length
        return found

    def signal(self, number: signal.Signals) -> None:
        if self.is_running:
            os.kill(self._process.pid, number)

    def end(self) -> None:
        self._process.kill()
        self._process.wait()


def through(paths: Paths, socket: Path) -> Paths:
    """The same daemon over another socket."""
    return replace(paths, socket=socket)
