"""Counters of incoming requests."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class RequestCounts:
    """Plain numbers that only grow; read them whenever you like."""

    unknown_fields_received: int = 0  # requests with unknown fields
    deprecations_used: Counter[str] = field(default_factory=Counter)  # by feature
    connections_closed: int = 0  # because their client opened and reset streams in a loop
