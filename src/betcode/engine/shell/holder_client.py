"""The daemon's end of a holder: commands one way, a ring when the journal grew the other.

Leaving an attachment leaves the agent running. The ring goes from the socket to whoever waits without a thread or task
in between, because every delta an agent says passes here.
"""

import asyncio
import errno
import itertools
import json
import os
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.to_thread

from betcode.domain.store.rows import RunRow
from betcode.holder import protocol
from betcode.holder.launch import bar, end_leftovers, holder_pid, is_alive
from betcode.holder.platform import ShortName
from betcode.util.signal import ChangeSignal
from betcode.util.state_files import UnusableEntry, shown

END_GRACE_S = 5.0
_LOOK_EVERY_S = 0.02
_ASK_AGAIN_S = 0.5
_LEAVES_WITHIN_S = 10.0
_AGENT_ENDED = "the agent has ended"
_INPUT_CLOSED = "the agent's input is closed"
_LINE_LIMIT_BYTES = 1024 * 1024  # an answer is a few hundred bytes
_NUMBERS = ("protocol", "holder_pid", "agent_pid", "agent_start", "last_input", "last_written", "journal_end")
_NUMBER_LIMIT = 1 << 62
_NUMBER_DIGITS = 18
_SHOWN_CHARACTERS = 200
_SHORTAGE = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS})


class HolderGone(Exception):
    """The holder is not there, or not any more; its journal is. Its lock may fall a moment after its connections."""


class AgentGone(HolderGone):
    """The agent has ended, so the command reached nobody."""


class InputClosed(HolderGone):
    """The agent was told to end, by a daemon before us perhaps: it takes nothing any more."""


class HolderRefused(Exception):
    """The holder is there and will not do it; the text says why."""


class HolderProtocolError(HolderRefused):
    """What listens at the run's socket does not speak the holder's protocol."""


def is_shortage(error: BaseException) -> bool:
    """Whether only the system is short of something (descriptors, say), which is no reason to end an agent."""
    if isinstance(error, BaseExceptionGroup):
        return all(is_shortage(each) for each in error.exceptions)
    return isinstance(error, OSError) and error.errno in _SHORTAGE


@dataclass(frozen=True, slots=True)
class Hello:
    """What a holder says of itself when somebody connects."""

    protocol: int
    holder_pid: int
    agent_pid: int
    agent_start: int
    last_input: int  # the highest number in the journal
    last_written: int  # the highest number written whole to the agent
    journal_end: int
    exit: dict[str, object] | None
    blocked: str | None  # why the journal's disk takes nothing, while it does not


class Attachment:
    """A connection to a living holder."""

    def __init__(self, wire: "_Wire", hello: Hello) -> None:
        self._wire = wire
        self._one_input = anyio.Lock()
        self.hello = hello

    async def hand_over(self, number: int, data: bytes) -> None:
        """Give the agent an input; returns when it is in the journal. A number seen before does nothing.

        Raises: HolderGone, and AgentGone when the agent has ended.
        """
        async with self._one_input:  # a second one would make the holder stop listening to us until the first is taken
            await self._wire.ask(protocol.INPUT, str(number), data)

    async def grown(self, beyond: int) -> int:
        """Wait until the journal's end is beyond an offset, and return it.

        Raises: HolderGone, when the holder has gone and the end is not beyond it.
        """
        return await self._wire.grown(beyond)

    async def close_input(self) -> None:
        """EOF for the agent. It is an answer to some: only when nothing is open."""
        with suppress(AgentGone):  # which is what was wanted
            await self._wire.ask(protocol.EOF)

    async def signal(self, name: str) -> None:
        """Signal the agent alone, by a name such as SIGINT."""
        await self._wire.ask(protocol.SIGNAL, signal.Signals[name].name)

    async def end(self, grace_s: float, *, nothing_open: bool = False) -> None:
        """Begin to end the agent and all it started; the journal tells when it is done.

        SIGTERM with stdin open, `grace_s`, then stop and kill. With `nothing_open` EOF and `grace_s` come before that.
        """
        with suppress(AgentGone):  # which is what was wanted
            await self._wire.ask(protocol.END, f"{grace_s:g}", b"idle" if nothing_open else b"")

    async def quit(self) -> None:
        """Let the holder leave, its agent having ended. Raises: HolderRefused when it has not."""
        with suppress(HolderGone):  # it left before it was told
            await self._wire.ask(protocol.QUIT)

    async def status(self) -> Hello:
        """What the holder says of itself now."""
        return parse_hello(await self._wire.ask(protocol.STATUS))


@asynccontextmanager
async def attach(run_dir: Path, *, timeout_s: float = 5) -> AsyncIterator[Attachment]:
    """Talk to the holder of a run; leaving the block lets go of it and leaves the agent running.

    Raises: HolderGone when none lives or it does not answer in time, HolderRefused when it will not talk to us.
    """
    wire = _Wire()
    try:
        with anyio.fail_after(timeout_s):
            connection = await _connect(run_dir)
            await asyncio.get_running_loop().create_unix_connection(lambda: wire, sock=connection)
            hello = await wire.hello()
    except TimeoutError as error:
        wire.close()
        raise HolderGone(f"the holder of {shown(run_dir)} does not answer") from error
    except BaseException:
        wire.close()
        raise
    try:
        yield Attachment(wire, hello)
    finally:
        wire.close()


async def give_up(run_dir: Path, run: RunRow) -> None:
    """End everything of a run: nothing of it may be left without a daemon that knows of it."""
    try:
        async with attach(run_dir) as attachment:
            await attachment.end(END_GRACE_S)
    except (HolderGone, HolderRefused, OSError):
        pass  # its processes are found by their marker
    while True:
        try:
            with suppress(UnusableEntry):  # then no holder can take its lock either
                await anyio.to_thread.run_sync(bar, run_dir)  # one that is only starting finds that it is too late
            await anyio.to_thread.run_sync(end_leftovers, run.run_id, run.agent_pid, run.agent_start)
            return
        except OSError as error:
            if not is_shortage(error):
                raise
        await anyio.sleep(_ASK_AGAIN_S)


async def see_off(run_dir: Path) -> None:
    """The agent has ended: wait until its holder has left, and remove the socket of one that was killed just then."""
    with anyio.move_on_after(_LEAVES_WITHIN_S), suppress(OSError):  # what is missed here is found by the next sweep
        while not await anyio.to_thread.run_sync(bar, run_dir):  # noqa: ASYNC110 - a lock falls silently
            await anyio.sleep(_LOOK_EVERY_S)


async def _connect(run_dir: Path) -> socket.socket:
    asked_at = anyio.current_time() - _ASK_AGAIN_S
    while True:
        connection = socket.socket(socket.AF_UNIX)
        connection.setblocking(False)
        try:
            await anyio.to_thread.run_sync(_connect_by_short_name, connection, run_dir)
            return connection
        except BlockingIOError:
            pass  # too many are waiting to be let in
        except (FileNotFoundError, ConnectionRefusedError) as error:
            connection.close()
            if not await anyio.to_thread.run_sync(is_alive, run_dir):
                raise HolderGone(f"no holder is running in {shown(run_dir)}") from error
            pid = await anyio.to_thread.run_sync(holder_pid, run_dir)
            if pid is not None and anyio.current_time() - asked_at >= _ASK_AGAIN_S:
                asked_at = anyio.current_time()
                _ask_to_bind_again(pid)
        except OSError as error:
            connection.close()
            if is_shortage(error):
                raise
            raise UnusableEntry(f"`socket` cannot be used: {error.strerror or error}") from error
        except BaseException:
            connection.close()
            raise
        connection.close()
        await anyio.sleep(_LOOK_EVERY_S)


def _connect_by_short_name(connection: socket.socket, run_dir: Path) -> None:
    short = ShortName(str(run_dir.absolute()))
    try:
        connection.connect(short.path)
    finally:
        short.close()


def _ask_to_bind_again(pid: int) -> None:
    """Its socket was removed under a living holder."""
    with suppress(ProcessLookupError, PermissionError):  # the next look at its lock will tell
        os.kill(pid, signal.SIGUSR1)


def parse_hello(text: str) -> Hello:
    """Raises: HolderRefused, HolderProtocolError when it is no greeting."""
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise HolderProtocolError("its greeting is not JSON") from error
    if not isinstance(fields, dict):
        raise HolderProtocolError("its greeting is not a JSON object")
    if "refused" in fields:
        raise HolderRefused(str(fields["refused"])[:_SHOWN_CHARACTERS])
    numbers = {name: _number(fields, name) for name in _NUMBERS}
    ended, blocked = fields.get("exit"), fields.get("blocked")
    if not isinstance(ended, dict | None) or not isinstance(blocked, str | None):
        raise HolderProtocolError("its greeting has fields of a wrong type")
    return Hello(**numbers, exit=ended, blocked=blocked)


def _number(fields: dict[str, object], name: str) -> int:
    value = fields.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _NUMBER_LIMIT:
        raise HolderProtocolError(f"its greeting has no usable `{name}`")
    return value


class _Wire(asyncio.Protocol):
    """The socket itself: lines in, frames out, and whoever waits for either."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._rest = b""
        self._serials = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[str]] = {}
        self._greeting: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._end = 0
        self._listens_beyond: int | None = None
        self._news = ChangeSignal()
        self._lost: Exception | None = None  # why there is nobody at the other end

    async def hello(self) -> Hello:
        hello = parse_hello(await self._greeting)
        self._end = max(self._end, hello.journal_end)
        return hello

    async def ask(self, verb: str, argument: str = "-", payload: bytes = b"") -> str:
        """Send a command and wait for its answer, however long that takes; what the answer said."""
        serial = next(self._serials)
        self._send(protocol.encode_frame(verb, serial, argument, payload))
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._waiting[serial] = answer
        try:
            word, _, text = (await answer).partition(" ")
        finally:
            self._waiting.pop(serial, None)
        if word == "refused":
            if text.startswith(_INPUT_CLOSED):
                raise InputClosed(text)
            raise AgentGone(text) if text.startswith(_AGENT_ENDED) else HolderRefused(f"{verb}: {text}")
        return text

    async def grown(self, beyond: int) -> int:
        while self._end <= beyond:
            if self._lost is not None:
                raise self._lost
            # Asked for once and answered once, so that a busy daemon is not rung while it cannot listen.
            if self._listens_beyond is None or self._listens_beyond > beyond:
                self._listens_beyond = beyond
                self._send(protocol.encode_frame(protocol.LISTEN, 0, str(beyond)))
            await self._news.wait()
        return self._end

    def close(self) -> None:
        self._lost = self._lost or HolderGone("the holder has gone")
        if self._transport is not None:
            self._transport.abort()

    def _send(self, data: bytes) -> None:
        if self._lost is not None or self._transport is None:
            raise self._lost or HolderGone("the holder has gone")
        self._transport.write(data)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        try:
            for line in lines:
                self._hear(line.decode("utf-8", "replace"))
            if len(self._rest) > _LINE_LIMIT_BYTES:
                raise HolderProtocolError(f"it sent more than {_LINE_LIMIT_BYTES} bytes without a newline")
        except HolderProtocolError as error:
            self._rest = b""
            self._lose(error)
            self.close()

    def _hear(self, line: str) -> None:
        if not self._greeting.done():
            self._greeting.set_result(line)
            return
        word, _, rest = line.partition(" ")
        if word == "grew":
            self._end = max(self._end, _parse_number(rest))
            self._listens_beyond = None
            self._news.notify()
        elif word in ("done", "refused", "status"):
            serial, _, text = rest.partition(" ")
            waiting = self._waiting.get(_parse_number(serial))
            if waiting is not None and not waiting.done():
                waiting.set_result(f"{word} {text}")

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 (why does not matter)
        self._lose(HolderGone("the holder has gone"))

    def _lose(self, why: Exception) -> None:
        """Nobody is at the other end any more; only the first reason counts."""
        self._lost = why = self._lost or why
        for waiting in [self._greeting, *self._waiting.values()]:
            if not waiting.done():
                waiting.set_exception(why)
        if self._greeting.done() and not self._greeting.cancelled():
            self._greeting.exception()  # heard or not, it is no loose end
        self._news.notify()


def _parse_number(text: str) -> int:
    """Raises: HolderProtocolError."""
    if not text.isascii() or not text.isdigit() or len(text) > _NUMBER_DIGITS:
        raise HolderProtocolError("it sent a line that is not a valid answer")
    return int(text)
