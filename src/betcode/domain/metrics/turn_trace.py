"""The times and numbers of a turn. It contains no text of people, agents or tools.

All times are of the monotonic clock, so that no change of the wall clock makes a step end before it began.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

STEPS_LIMIT = 256  # of one turn; further ones are only counted


@dataclass(slots=True)
class RepeatedStep:
    """Work that is done again and again in a turn: one part of it for all the times."""

    times: int = 0
    items: int = 0  # lines or events
    busy_ns: int = 0
    began_ns: int = 0  # the first time
    ended_ns: int = 0  # the last time

    def add(self, began_ns: int, ended_ns: int, items: int, *, other_ns: int = 0) -> None:
        """Add one occurrence; `other_ns` of its time was spent on something else."""
        if not self.times:
            self.began_ns = began_ns
        self.times += 1
        self.items += items
        self.busy_ns += ended_ns - began_ns - other_ns
        self.ended_ns = max(self.ended_ns, ended_ns)


@dataclass(frozen=True, slots=True)
class TraceStep:
    """Work that is done a few times in a turn, each with its own times."""

    name: str
    began_ns: int
    ended_ns: int
    facts: Mapping[str, str | int | bool] = field(default_factory=dict)
    failed: bool = False


@dataclass(slots=True)
class TurnTrace:
    """One turn, from the message that opened it to its end."""

    session_id: str
    provider: str
    began_ns: int
    wall_offset_ns: int  # the offset of the wall clock from the monotonic one
    is_whole: bool = True  # not so where it began under another daemon
    ended_ns: int = 0
    stop_reason: str = ""
    parsing: RepeatedStep = field(default_factory=RepeatedStep)
    broadcast: RepeatedStep = field(default_factory=RepeatedStep)
    append: RepeatedStep = field(default_factory=RepeatedStep)
    steps: list[TraceStep] = field(default_factory=list)
    steps_left_out: int = 0

    def add(self, step: TraceStep) -> None:
        if len(self.steps) < STEPS_LIMIT:
            self.steps.append(step)
        else:
            self.steps_left_out += 1


class TraceSink(Protocol):
    """Receives finished turns. Never waits."""

    def turn_over(self, trace: TurnTrace) -> None: ...
