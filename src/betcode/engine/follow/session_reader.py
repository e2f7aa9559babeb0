"""Read a session: its history, its live log and its blobs."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial

import anyio

from betcode.domain.agents.capability_table import capability_message
from betcode.domain.bounded_io import FilesystemTimeout
from betcode.domain.errors import BlobNotFound, InvalidRequest, SequenceOutOfRange
from betcode.domain.permissions.prompt_lifetime import ExtendOn
from betcode.domain.store.rows import Batch, Page, SessionRow
from betcode.domain.store.store_ports import SessionFilter
from betcode.domain.values.identifiers import Seq, SessionId
from betcode.engine.client_name import ClientName
from betcode.engine.core import events
from betcode.engine.core.counters import KIND_OF
from betcode.engine.fault_points import FaultPoint
from betcode.engine.maintenance.prompt_times import extend_prompts
from betcode.engine.operations.import_turns import import_outside_turns
from betcode.engine.registry import Registry
from betcode.engine.shell.session import LiveSession
from betcode.git.worktree_files import branch_at
from betcode.util.bounded_io import BoundedIOPool
from betcode.util.wall_clock import now_ns
from betcode.v1 import agent_pb2 as v1

BLOB_PIECE_BYTES = 64 * 1024
HISTORY_BATCH_BYTES = 32 * 1024  # small, since each batch is worked on at one go
PAGE_BYTES = 256 * 1024
LARGEST_PAGE_BYTES = 2 * 1024 * 1024  # a client with default options takes 4 MB
PAGE_EVENTS = 4096
_NEIGHBOURS = 10  # newest sessions of a directory that are looked at
_BRANCH_WITHIN_S = 0.25  # a screen waits for it
_BEHIND_ALL = Seq(2**63 - 1)


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """A page of history; why nothing comes before it, where that was compacted; how the session stands, if wanted."""

    page: Page
    compacted_before: Seq
    info: v1.SessionInfo | None


@dataclass(frozen=True, slots=True)
class SessionReader:
    """Reading changes nothing, and a reader that is slow or gone harms nobody."""

    registry: Registry
    branches: BoundedIOPool = field(default_factory=lambda: BoundedIOPool(_BRANCH_WITHIN_S))

    async def history(self, session: SessionId) -> AsyncGenerator[Batch, None]:
        """What is stored of it now, in order, and nothing live. Hold it in `aclosing`."""
        row = await self.registry.row(session)
        after = Seq(0)
        while after < row.state.last_seq:
            batch = await self.registry.context.store.read_events(row.key, after, HISTORY_BATCH_BYTES)
            if batch is None:
                return
            after = batch.last
            yield batch

    async def before(
        self, session: SessionId, before: Seq, limit_bytes: int, *, include_compacted: bool
    ) -> HistoryPage:
        """The events just before `before`, in order; 0 is behind the newest. Compacted ones only if wanted.

        Raises:
            SessionNotFound
        """
        row = await self.registry.row(session)
        boundary = Seq(0) if include_compacted else row.state.compaction_sequence
        limit = min(limit_bytes or PAGE_BYTES, LARGEST_PAGE_BYTES)
        store = self.registry.context.store
        page = await store.read_before(row.key, before or _BEHIND_ALL, boundary, limit, PAGE_EVENTS)
        info = None
        if not before:
            info = await self.standing(row)
            info.branch = await self._branch(row)
        left_out = boundary > 1 and not page.has_more
        return HistoryPage(page, boundary if left_out else Seq(0), info)

    async def newest(self, session: SessionId, *kinds: str) -> list[bytes | None]:
        """The last event of each of these kinds.

        Raises:
            SessionNotFound
        """
        row = await self.registry.row(session)
        store, until = self.registry.context.store, row.state.last_seq
        return [await store.newest_of_kind(row.key, KIND_OF[kind], until) for kind in kinds]

    async def follow(
        self,
        session: SessionId,
        after: Seq,
        client: ClientName,
        *,
        drain: anyio.Event | None = None,
        include_compacted: bool = False,
    ) -> AsyncGenerator[Batch, None]:
        """Every event after `after`, once and in order, then live; ends with the session.

        A snapshot stands for what was compacted when it began, unless all is wanted. What is compacted later is given.
        Once `drain` is set it ends as soon as no turn is open and everything was given. Hold it in `aclosing`.

        Raises:
            SessionNotFound, SequenceOutOfRange
        """
        async with self.registry.using(session) as live, AsyncExitStack() as stack:
            await import_outside_turns(live)
            newest = live.writer.tail.head
            if after > newest:
                raise SequenceOutOfRange(session, after, newest)
            extend_prompts(live, ExtendOn.ACTIVITY)
            boundary = live.writer.state.compaction_sequence
            if after < boundary and not include_compacted:
                yield Batch(Seq(0), after, (await self._snapshot(live),))
                after = Seq(boundary - 1)
            if drain is not None:
                stack.callback(self._wake_when(drain, live).cancel)
            followed = live.followers.follow(
                self.registry.context.store,
                after,
                client,
                lambda: drain is not None and drain.is_set() and live.at_rest,
            )
            stack.push_async_callback(followed.aclose)
            async for batch in followed:
                yield batch

    async def blob(
        self, session: SessionId, sha256: str, offset: int, limit: int
    ) -> tuple[int, AsyncGenerator[bytes, None]]:
        """Its size, and `limit` bytes from `offset` (0: to the end) in pieces.

        Raises:
            SessionNotFound, BlobNotFound, InvalidRequest
        """
        row = await self.registry.row(session)
        size = await self.registry.context.store.blob_size(row.key, sha256)
        if size is None:
            raise BlobNotFound(session, sha256[:100])
        if offset > size:
            raise InvalidRequest(f"The blob has {size} bytes: read from there or before", sha256=sha256)
        end = min(size, offset + limit) if limit else size

        async def pieces() -> AsyncGenerator[bytes, None]:
            at = offset
            while at < end:
                piece = await self.registry.context.store.read_blob(
                    row.key, sha256, at, min(BLOB_PIECE_BYTES, end - at)
                )
                at += len(piece)
                yield piece

        return size, pieces()

    async def _snapshot(self, live: LiveSession) -> bytes:
        """What is still true of what was compacted; of one stream only, so it has no number."""
        state = live.writer.state
        event = events.session_info(live.writer.new, state, is_resumed=True)
        info = event.session_info
        info.CopyFrom(await self.standing(SessionRow(live.writer.key, live.writer.new, state)))
        info.is_compacted = True
        info.compacted_before = state.compaction_sequence
        return events.stamp(event, now_ns()).SerializeToString()

    async def standing(self, row: SessionRow) -> v1.SessionInfo:
        """How a session stands, with what its agent last said that it has.

        Before it has said anything its commands are those of the agent that spoke last in the same place.
        """
        info = events.session_info(row.new, row.state, is_resumed=True).session_info
        marks = row.state.landmarks
        said = await self._info_at(row, marks.info)
        info.tools.extend(said.tools)
        info.mcp_servers.extend(said.mcp_servers)
        if not marks.commands or marks.commands != marks.info:
            named = row if marks.commands else await self._neighbour(row)
            said = await self._info_at(named, named.state.landmarks.commands)
        info.commands.extend(said.commands)
        provider = self.registry.context.providers.get(row.new.provider)
        if provider is not None:
            info.capabilities.CopyFrom(capability_message(provider.capabilities_for(row.new)))
        return info

    async def _branch(self, row: SessionRow) -> str:
        live = self.registry.live.get(row.new.session_id)
        directory = row.new.working_directory if live is None else live.directory
        try:
            return await self.branches.run(directory, partial(branch_at, directory))
        except FilesystemTimeout:
            return ""

    async def _info_at(self, row: SessionRow, seq: int) -> v1.SessionInfo:
        batch = await self.registry.context.store.read_events(row.key, Seq(seq - 1), limit_bytes=1) if seq else None
        return v1.SessionInfo() if batch is None else v1.AgentEvent.FromString(batch.events[0]).session_info

    async def _neighbour(self, row: SessionRow) -> SessionRow:
        """The newest session of the same place and kind whose agent has told of its commands; else this one."""
        which = SessionFilter(working_directory=row.new.working_directory, limit=_NEIGHBOURS)
        rows, _ = await self.registry.context.store.list_sessions(which)
        alike = (each for each in rows if each.new.provider == row.new.provider and each.state.landmarks.commands)
        return next(alike, row)

    def _wake_when(self, drain: anyio.Event, live: LiveSession) -> anyio.CancelScope:
        scope = anyio.CancelScope()

        async def wait() -> None:
            with scope:
                await drain.wait()
                live.writer.tail.wake()

        live.tasks.start_soon(FaultPoint.DRAIN, wait)
        return scope
