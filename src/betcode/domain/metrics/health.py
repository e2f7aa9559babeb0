"""The health of a daemon: its components, and its degraded states."""

from dataclasses import dataclass

HIGH_MEMORY_SHARE = 0.8  # of the daemon's memory limit


@dataclass(frozen=True, slots=True)
class DegradedState:
    """A degraded state: the reason, and its effect on clients."""

    name: str
    reason: str
    impact: str


POOL_FULL = DegradedState("subprocess_pool_full", "All subprocess slots in use", "New sessions queued")
HIGH_MEMORY = DegradedState("high_memory", "Memory usage > 80%", "May trigger compaction")
AGENT_MISSING = DegradedState("agent_missing", "Agent program missing", "No turn of that agent can start")
DATABASE_LIMIT = DegradedState("database_limit", "Database near its limit", "At the limit no message is accepted")

DEGRADED_STATES: tuple[DegradedState, ...] = (POOL_FULL, HIGH_MEMORY, AGENT_MISSING, DATABASE_LIMIT)


@dataclass(frozen=True, slots=True)
class HealthOutcome:
    """The result of a check; the message is for people."""

    is_well: bool
    message: str = ""
    degraded: tuple[DegradedState, ...] = ()


def pool_outcome(at_work: int, limit: int, waiting: int, queue_limit: int, agent_trouble: str = "") -> HealthOutcome:
    """Return whether another turn could get an agent: at once or, if all slots are in use, after a wait."""
    is_full = at_work >= limit
    figures = f"{at_work}/{limit} slots used" + (f", {waiting} waiting" if waiting else "")
    degraded = (*((POOL_FULL,) if is_full else ()), *((AGENT_MISSING,) if agent_trouble else ()))
    if agent_trouble:
        return HealthOutcome(False, f"{figures}; {agent_trouble}", degraded)
    if is_full and waiting >= queue_limit:
        return HealthOutcome(False, f"{figures}; the queue is full", degraded)
    return HealthOutcome(True, figures, degraded)


def memory_states(used_bytes: int, limit_bytes: int) -> tuple[DegradedState, ...]:
    """Return the degraded states that follow from the daemon's memory."""
    return (HIGH_MEMORY,) if used_bytes > HIGH_MEMORY_SHARE * limit_bytes else ()
