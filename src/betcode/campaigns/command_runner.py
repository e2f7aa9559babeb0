"""Commands in campaigns: validated, run, and streamed."""

import asyncio
import logging
import signal
import time
import uuid
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias, TypeVar, assert_never

import anyio
import anyio.to_thread

from betcode.campaigns.child import GRACE_S, Child, Start, Starting, end_commands
from betcode.campaigns.environment import command_environment
from betcode.campaigns.manifest import HAVE_ONE, WORD, Manifest, WrongManifest, understood
from betcode.campaigns.sandbox import Sandbox
from betcode.domain.bounded_io import BoundedIOPort, FilesystemTimeout
from betcode.domain.errors import InvalidRequest
from betcode.domain.obey.campaign_errors import CampaignUnusable, CommandRefused
from betcode.domain.obey.campaigns import Campaign
from betcode.proc.child import next_piece

logger = logging.getLogger(__name__)

DEFAULT_TIMEOUT_S = 600.0
LONGEST_TIMEOUT_S = 24 * 3600.0
LINE_BYTES = 1024 * 1024
_CUT = b" [the rest of this line is left out]"
_AT_ONCE = 8
_MANIFEST_BYTES = 1024 * 1024
_MANIFEST_WITHIN_S = 5.0
_KILLED_WITHIN_S = 5.0  # what hangs in the kernel is not waited for


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Output:
    data: bytes
    is_error: bool = False  # from stderr


@dataclass(frozen=True, slots=True)
class Exit:
    code: int  # as in a shell: 128 and the signal, if one ended it
    duration_ms: int
    timed_out: bool = False


Piece: TypeAlias = Output | Exit


class Executor:
    """Runs commands for callers, a few at a time."""

    def __init__(self, file_io: BoundedIOPort, *, socket: str, umask: int = -1, grace_s: float = GRACE_S) -> None:
        self._file_io = file_io
        self._socket = socket
        self._mine = f"{uuid.uuid4()}/"  # the prefix of each command's marker
        self._umask = umask
        self._grace_s = grace_s  # between TERM and KILL
        self._at_work = 0
        self._has_swept = False
        self._manifests: dict[tuple[str, int, int, int], Manifest | None] = {}

    async def execute(
        self, campaign: Campaign, argv: Sequence[str], inherited: Mapping[str, str], *, timeout_s: float = 0.0
    ) -> AsyncGenerator[Piece, None]:
        """Yield a command's output, and last its end. Hold it in `aclosing`: leaving ends the command.

        `timeout_s` 0 means the default.

        Raises:
            CommandRefused, CampaignUnusable, InvalidRequest: nothing was run.
        """
        bound_s = _bound(timeout_s)
        if self._at_work >= _AT_ONCE:
            raise CommandRefused(f"{_AT_ONCE} commands are already running: try again when one has ended")
        self._at_work += 1
        try:
            await self._end_left_behind()
            environment = command_environment(inherited, campaign, self._socket)
            sandbox = Sandbox(campaign)
            program = await self._look(campaign, partial(sandbox.program, argv, environment["PATH"]))
            manifest = None
            if argv[0] in HAVE_ONE:
                manifest = await self._manifest(campaign, argv[0], program, environment)

            def checked() -> Start:
                sandbox.check_command(argv, manifest)
                return self._start(campaign, program, argv, environment)

            child = await self._begin(campaign, Starting(checked))
            async with aclosing(output_of(child, bound_s)) as pieces:
                async for piece in pieces:
                    yield piece
        finally:
            self._at_work -= 1

    async def _end_left_behind(self) -> None:
        """End the commands of the last daemon of this socket once; there are some only if it was killed."""
        if self._has_swept:
            return
        self._has_swept = True
        left = await anyio.to_thread.run_sync(end_commands, f"@{self._socket}", self._mine)
        if left:
            logger.info("the last daemon left %d processes of commands running; they were ended", left)

    async def _manifest(
        self, campaign: Campaign, name: str, program: str, environment: Mapping[str, str]
    ) -> Manifest | None:
        """Return the program's manifest; None: it has none."""
        seen = await self._look(campaign, lambda: Path(program).stat())
        key = (program, seen.st_mtime_ns, seen.st_size, seen.st_ino)
        if key not in self._manifests:
            start = self._start(campaign, program, [name, WORD], environment)
            said = await self._said(await self._begin(campaign, Starting(lambda: start)), name)
            try:
                self._manifests[key] = understood(name, said) if said is not None else None
            except WrongManifest as wrong:
                raise CommandRefused(f"{name} {WORD} should list what agents may run, but {wrong}") from None
        return self._manifests[key]

    async def _said(self, child: Child, name: str) -> bytes | None:
        said = bytearray()
        async with aclosing(output_of(child, _MANIFEST_WITHIN_S)) as pieces:
            async for piece in pieces:
                match piece:
                    case Exit(timed_out=True):
                        raise CommandRefused(f"{name} {WORD} should list what agents may run, but timed out")
                    case Exit():
                        return bytes(said) if piece.code == 0 else None
                    case Output():
                        said += b"" if piece.is_error else piece.data
                    case _:
                        assert_never(piece)
                if len(said) > _MANIFEST_BYTES:
                    raise CommandRefused(f"{name} {WORD} should list what agents may run, but its output is too long")
        return None

    def _start(self, campaign: Campaign, program: str, argv: Sequence[str], environment: Mapping[str, str]) -> Start:
        return Start(
            program,
            argv,
            str(campaign.root),
            environment,
            f"{self._mine}{uuid.uuid4()}@{self._socket}",
            self._umask,
            self._grace_s,
        )

    async def _begin(self, campaign: Campaign, starting: Starting) -> Child:
        try:
            return await self._look(campaign, starting.begin)
        except BaseException:
            if child := starting.give_up():  # it began just when its caller disconnected
                try:
                    await child.end()
                finally:
                    child.close()
            raise

    async def _look(self, campaign: Campaign, work: Callable[[], T]) -> T:
        try:
            return await self._file_io.run(str(campaign.root), work)
        except FilesystemTimeout:
            why: object = "its files cannot be read (timeout)"
        except (OSError, ValueError) as trouble:
            why = getattr(trouble, "strerror", None) or trouble
        raise CampaignUnusable(f"Nothing can be run in {campaign.root}: {why}") from None


async def output_of(child: Child, bound_s: float) -> AsyncGenerator[Piece, None]:
    """Yield a command's output at the reader's pace, and last its end. Hold it in `aclosing`."""
    began = time.monotonic()
    limit = _TimeLimit(child, bound_s)
    lines = {child.out: _Lines(), child.err: _Lines()}
    code = None
    try:
        pipes = set(lines)
        while (pieces := await _next(child, pipes, limit)) is not None:
            for descriptor, data in pieces:
                if not data:
                    pipes.discard(descriptor)
                elif kept := lines[descriptor].cut(data):
                    yield Output(kept, descriptor == child.err)  # in no task group: one may leave here
        limit.cancel()
        code = await child.end()
        for descriptor in pipes:
            if kept := lines[descriptor].cut(child.left_over(descriptor)):
                yield Output(kept, descriptor == child.err)
        duration_ms = round((time.monotonic() - began) * 1000)
        yield Exit(code if code >= 0 else 128 - code, duration_ms, limit.is_over)
    finally:
        limit.cancel()
        try:
            if code is None:
                await child.end()
        finally:
            child.close()


async def _next(child: Child, pipes: Collection[int], limit: "_TimeLimit") -> list[tuple[int, bytes]] | None:
    """Return its next output, empty at a pipe's end; None: it has ended, or hangs although it was killed."""
    found: list[tuple[int, bytes]] = []
    has_ended = False

    async with anyio.create_task_group() as tasks:

        async def read(descriptor: int) -> None:
            found.append((descriptor, await next_piece(descriptor)))
            tasks.cancel_scope.cancel()

        async def watch() -> None:
            nonlocal has_ended
            with anyio.move_on_after(limit.left_s):
                await child.has_ended()
            has_ended = True
            tasks.cancel_scope.cancel()

        tasks.start_soon(watch)
        for descriptor in pipes:
            tasks.start_soon(read, descriptor)
    return None if has_ended and not found else found


class _TimeLimit:
    """Ends the command at its timeout, also while its output is not read."""

    def __init__(self, child: Child, bound_s: float) -> None:
        self.is_over = False
        self._child = child
        self._gone_by = time.monotonic() + bound_s + 2 * child.grace_s + _KILLED_WITHIN_S
        self._timer = asyncio.get_running_loop().call_later(bound_s, self._ask)

    @property
    def left_s(self) -> float:
        """Return the time until its end."""
        return max(0.0, self._gone_by - time.monotonic())

    def cancel(self) -> None:
        self._timer.cancel()

    def _ask(self) -> None:
        self.is_over = True
        self._child.signal_group(signal.SIGTERM)
        self._timer = asyncio.get_running_loop().call_later(
            self._child.grace_s, self._child.signal_group, signal.SIGKILL
        )


class _Lines:
    """Truncates lines that are too long, and reports each once."""

    def __init__(self) -> None:
        self._length = 0

    def cut(self, data: bytes) -> bytes:
        """Of a piece that is no longer than a line may be: only the line that is open can become too long in it."""
        head, newline, rest = data.partition(b"\n")
        kept = self._cut(head)
        if newline:
            self._length = len(rest) - (rest.rfind(b"\n") + 1)
        return kept + newline + rest

    def _cut(self, data: bytes) -> bytes:
        room = LINE_BYTES - self._length
        self._length += len(data)
        if len(data) <= room:
            return data
        return data[:room] + _CUT if room >= 0 else b""


def _bound(timeout_s: float) -> float:
    if not 0 <= timeout_s <= LONGEST_TIMEOUT_S:  # NaN is not valid either
        raise InvalidRequest(f"The timeout of a command must be from 0 to {LONGEST_TIMEOUT_S:.0f} s")
    return timeout_s or DEFAULT_TIMEOUT_S
