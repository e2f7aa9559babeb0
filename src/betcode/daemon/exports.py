"""Exports of metrics and traces: which ones the settings enable, and what is read for them."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import anyio
import anyio.to_thread

from betcode._version import __version__
from betcode.config.settings import ObservabilitySettings
from betcode.domain.metrics.counts import Counts
from betcode.engine import Engine
from betcode.server import ServerHandle
from betcode.telemetry.export import Telemetry, open_telemetry
from betcode.telemetry.metrics import Gauges


def open_exports(counts: Counts, settings: ObservabilitySettings) -> AbstractAsyncContextManager[Telemetry]:
    """Open traces and metrics as the settings say; none by default."""
    metrics_at = (settings.metrics_address, settings.metrics_port) if settings.metrics_enabled else None
    return open_telemetry(
        counts,
        __version__,
        otlp_endpoint=settings.otlp_endpoint,
        every_s=settings.export_interval_s,
        metrics_at=metrics_at,
    )


def gauges_of(engine: Engine, server: ServerHandle, database: Path) -> Callable[[], Awaitable[Gauges]]:
    """Reads how the daemon is, on the event loop."""

    async def read() -> Gauges:
        database_bytes = await anyio.to_thread.run_sync(_size_of_database, database)
        await engine.measure()
        facts = engine.facts()
        return Gauges(
            sessions_active=engine.active_sessions,
            clients_connected=server.clients,
            turns_at_work=facts.turns_at_work,
            turns_waiting=facts.waiting_in_line,
            agents_alive=facts.live_agents,
            agent_memory_bytes=facts.agent_memory_bytes,
            database_bytes=database_bytes,
        )

    return read


def _size_of_database(path: Path) -> int:
    return _size_of(path) + _size_of(path.with_name(f"{path.name}-wal"))


def _size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
