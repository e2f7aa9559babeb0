"""The records of a journal: one per line that an agent read or wrote, in order."""

from dataclasses import dataclass
from enum import StrEnum


class RecordKind(StrEnum):
    """The source or destination of a record's bytes."""

    START = "start"  # the agent was started; JSON
    IN = "in"  # one numbered input, as handed to the agent's stdin
    OUT = "out"  # one line of the agent's stdout
    ERR = "err"  # one line of the agent's stderr
    EXIT = "exit"  # how the agent ended; JSON
    NOTE = "note"  # a remark of the holder
    DAMAGED = "damaged"  # never written: a reader returns it for unreadable bytes


@dataclass(frozen=True, slots=True)
class Record:
    """One line, with both clocks at the moment the holder had it."""

    kind: RecordKind
    number: int  # of an input; 0 otherwise
    wall_ns: int
    mono_ns: int
    data: bytes
    offset: int  # logical, over all segments
    end: int
    too_long: bool = False  # `data` is only the beginning
