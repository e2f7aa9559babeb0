"""Lifecycle operations for the obey API: start, stop, restart and watch sessions."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, suppress
from dataclasses import dataclass

from betcode.domain.errors import SessionNotFound
from betcode.domain.runs.state import LIVE
from betcode.domain.sessions.binding import NO_BINDING_RECORD, BindingRecord
from betcode.domain.sessions.phase import Phase, PhaseFacts, phase_of
from betcode.domain.sessions.status import SessionStatus
from betcode.domain.store.rows import Batch, SessionRow
from betcode.domain.store.store_ports import SessionFilter
from betcode.domain.values.identifiers import Seq, SessionId, SessionKey
from betcode.engine.follow.growth import GrowthWatch
from betcode.engine.operations.lifecycle.phases import PhaseWatch
from betcode.engine.operations.lifecycle.restart import reconfigured, restart
from betcode.engine.operations.lifecycle.stop import stop
from betcode.engine.operations.lifecycle.warm_start import begin
from betcode.engine.registry import Registry

_ALL = 1_000_000
_READ_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class LifecycleStatus:
    """A session with all that its phase is told from."""

    row: SessionRow
    bound: BindingRecord
    phase: Phase
    pid: int = 0  # of its agent


class LifecycleService:
    """Everything here may be asked for by the session's id."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    async def begin(self, session: SessionId, within_s: float) -> None:
        """See `beginning.begin`."""
        async with self._registry.using(session) as live:
            await begin(live, within_s)

    async def stop(self, session: SessionId, *, graceful: bool, within_s: float, client: str = "") -> bool:
        """See `halting.stop`."""
        async with self._registry.using(session) as live:
            live.note_stop_request(client)
            return await stop(live, graceful=graceful, within_s=within_s)

    async def restart(self, session: SessionId, config: Mapping[str, str], within_s: float, client: str = "") -> None:
        """See `restarting.restart`."""
        async with self._registry.using(session) as live:
            live.note_stop_request(client)
            await restart(live, config, within_s)

    def reconfigured(self, metadata: Mapping[str, str], config: Mapping[str, str]) -> dict[str, str]:
        """See `restarting.reconfigured`."""
        return reconfigured(metadata, config)

    async def standing(self, session: SessionId) -> LifecycleStatus:
        """Raises SessionNotFound."""
        row = await self._registry.row(session)
        return self._standing(row, await self._registry.context.store.bound(row.key))

    async def standings(self, *, with_ended: bool) -> list[LifecycleStatus]:
        """Of all sessions, or of those that have not come to their end; the newest change first."""
        store = self._registry.context.store
        open_ones = tuple(status.value for status in SessionStatus if status is not SessionStatus.CLOSED)
        rows, _ = await store.list_sessions(SessionFilter(statuses=() if with_ended else open_ones, limit=_ALL))
        if not with_ended:
            rows = [*await self._closing({row.key for row in rows}), *rows]
        bounds = await store.all_bound()
        standings = [self._standing(row, bounds.get(row.key, NO_BINDING_RECORD)) for row in rows]
        return standings if with_ended else [each for each in standings if not each.phase.is_terminal]

    async def _closing(self, known: set[SessionKey]) -> list[SessionRow]:
        """Those that are closed already while their agent is being ended, which count as being stopped."""
        live = [each for each in self._registry.live.values() if each.is_closed and each.lifecycle.is_stopping]
        rows = list[SessionRow]()
        for each in live:
            if each.writer.key not in known:
                with suppress(SessionNotFound):  # deleted meanwhile
                    rows.append(await self._registry.row(each.session_id))
        return rows

    def _standing(self, row: SessionRow, bound: BindingRecord) -> LifecycleStatus:
        live = self._registry.live.get(row.new.session_id)
        if live is None:
            facts = PhaseFacts(
                row.state.status,
                was_started=row.run_state is not None,
                is_stopping=bound.binding.stop_by_ns > 0,
                has_failed=bool(bound.binding.failure),
            )
            return LifecycleStatus(row, bound, phase_of(facts))
        pid = live.run.row.agent_pid if live.run is not None and live.run.row.state in LIVE else 0
        row = SessionRow(row.key, live.writer.new, live.writer.state, row.pending_prompts, row.run_state)
        bound = BindingRecord(live.binding, bound.first_run_ns, bound.crash_note)
        return LifecycleStatus(row, bound, live.phase, pid)

    @asynccontextmanager
    async def watching(self, session: SessionId | None) -> AsyncIterator[tuple[PhaseWatch, Phase | None]]:
        """Every change of phase from here on; of one session, together with where it stands.

        Raises:
            SessionNotFound
        """
        phases = self._registry.context.phases
        if session is None:
            with phases.watching(None) as watch:
                yield watch, None
            return
        async with self._registry.using(session) as live:
            with phases.watching(session) as watch:
                yield watch, live.phase

    def growing(self, session: SessionId | None) -> AbstractContextManager[GrowthWatch]:
        """Which logs grow from here on."""
        return self._registry.context.growth.watching(session)

    def refuse_when_full(self) -> None:
        """Raises StorageDegraded where the database holds as much as it may."""
        self._registry.context.database.refuse_when_full()

    def note_report(self) -> None:
        """Another program has reported something."""
        self._registry.context.growth.note_report()

    async def read(self, key: SessionKey, after: Seq) -> AsyncGenerator[Batch, None]:
        """What the log of a session holds behind that event at this moment. Hold it in `aclosing`."""
        while (batch := await self._registry.context.store.read_events(key, after, _READ_BYTES)) is not None:
            after = batch.last
            yield batch
