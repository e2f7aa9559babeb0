"""Every metric, declared once: name, type, meaning, labels and source. Both exports use this table."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from betcode.domain.metrics.counts import Counts, DecisionOutcome, Direction, Distribution


class MetricKind(StrEnum):
    COUNTER = "counter"  # only grows while the daemon lives
    GAUGE = "gauge"  # how it is now
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Gauges:
    """The state of the daemon at one moment."""

    sessions_active: int = 0
    clients_connected: int = 0
    turns_at_work: int = 0
    turns_waiting: int = 0
    agents_alive: int = 0
    agent_memory_bytes: int = 0
    database_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Readings:
    """Everything that can be exported, at one moment."""

    counts: Counts
    gauges: Gauges
    dropped: Mapping[str, int] = field(default_factory=dict)  # what an endpoint did not accept, by signal


Value: TypeAlias = int | float | Distribution
Samples: TypeAlias = Iterable[tuple[str, Value]]  # the label's value, empty where there is none


@dataclass(frozen=True, slots=True)
class Metric:
    name: str
    kind: MetricKind
    help: str
    read: Callable[[Readings], Samples]
    label: str = ""
    values: tuple[str, ...] = ()  # the values of the label; empty with a label: declared elsewhere
    unit: str = ""


SIGNALS = ("traces", "metrics")


def _one(read: Callable[[Readings], Value]) -> Callable[[Readings], Samples]:
    return lambda readings: (("", read(readings)),)


def _counter(name: str, says: str, read: Callable[[Readings], Value]) -> Metric:
    return Metric(name, MetricKind.COUNTER, says, _one(read))


def _gauge(name: str, says: str, read: Callable[[Readings], Value], unit: str = "") -> Metric:
    return Metric(name, MetricKind.GAUGE, says, _one(read), unit=unit)


def _seconds(name: str, says: str, read: Callable[[Readings], Distribution]) -> Metric:
    return Metric(name, MetricKind.HISTOGRAM, says, _one(read), unit="s")


METRICS: tuple[Metric, ...] = (
    _gauge("betcode_sessions_active", "sessions with a turn open", lambda now: now.gauges.sessions_active),
    _counter("betcode_subprocess_spawns_total", "agent processes started", lambda now: now.counts.subprocess_spawns),
    _counter(
        "betcode_subprocess_crashes_total",
        "agents that exited unexpectedly during a turn",
        lambda now: now.counts.subprocess_crashes,
    ),
    _counter(
        "betcode_messages_processed_total",
        "lines of agents (NDJSON) that were processed",
        lambda now: now.counts.messages_processed,
    ),
    Metric(
        "betcode_permission_decisions_total",
        MetricKind.COUNTER,
        "decisions about tool calls: by rules and grants, by people, or by expiry",
        lambda now: now.counts.permission_decisions.items(),
        "type",
        tuple(DecisionOutcome),
    ),
    _gauge("betcode_grpc_clients_connected", "clients with a stream open", lambda now: now.gauges.clients_connected),
    _seconds(
        "betcode_turn_duration_seconds",
        "turns, from the message that opened them to their end; waiting for slots and people is part of it",
        lambda now: now.counts.turns,
    ),
    Metric(
        "betcode_tokens_total",
        MetricKind.COUNTER,
        "tokens that agents reported",
        lambda now: now.counts.tokens.items(),
        "direction",
        tuple(Direction),
    ),
    _gauge("betcode_turns_at_work", "turns that have a slot", lambda now: now.gauges.turns_at_work),
    _gauge("betcode_turns_waiting", "turns that wait for a slot", lambda now: now.gauges.turns_waiting),
    _gauge("betcode_agents_alive", "agent processes alive, idle ones too", lambda now: now.gauges.agents_alive),
    _gauge(
        "betcode_agent_memory_bytes",
        "memory of all agents together",
        lambda now: now.gauges.agent_memory_bytes,
        unit="By",
    ),
    _seconds(
        "betcode_subprocess_spawn_duration_seconds",
        "starting an agent under its holder",
        lambda now: now.counts.spawns,
    ),
    _seconds(
        "betcode_sqlite_operation_duration_seconds",
        "commits of sessions, from asking to being on disk",
        lambda now: now.counts.commits,
    ),
    _counter("betcode_sqlite_errors_total", "commits of sessions that failed", lambda now: now.counts.commits_failed),
    _gauge(
        "betcode_database_bytes",
        "the database with its write-ahead log",
        lambda now: now.gauges.database_bytes,
        unit="By",
    ),
    _counter(
        "betcode_unknown_fields_received_total",
        "requests with unknown fields",
        lambda now: now.counts.requests.unknown_fields_received,
    ),
    Metric(
        "betcode_deprecations_used_total",
        MetricKind.COUNTER,
        "uses of deprecated features, by feature",
        lambda now: now.counts.requests.deprecations_used.items(),
        "feature",
    ),
    _counter(
        "betcode_connections_closed_total",
        "connections closed because their client opened and reset HTTP/2 streams in a loop",
        lambda now: now.counts.requests.connections_closed,
    ),
    Metric(
        "betcode_telemetry_dropped_total",
        MetricKind.COUNTER,
        "turns and readings that the OTLP endpoint did not accept in time",
        lambda now: now.dropped.items(),
        "signal",
        SIGNALS,
    ),
)
