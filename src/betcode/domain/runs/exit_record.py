"""The record that a holder writes at an agent's exit. A record with any content is a value: parsing never raises."""

import json
from dataclasses import dataclass

_LONGEST = 2_000  # characters of a text in it
_RECORD_LIMIT_BYTES = 64 * 1024
_INT_LIMIT = 1 << 31


@dataclass(frozen=True, slots=True)
class ExitRecord:
    code: int | None = None
    signal: str = ""  # the name of the signal that ended it
    error: str = ""  # why it could not be started
    is_readable: bool = True  # False: the record has an unknown form

    @property
    def note(self) -> str:
        """Return how the agent ended, a clause for people."""
        if not self.is_readable:
            return "its exit status is unknown"
        if self.error:
            return self.error
        if self.signal:
            return f"killed by signal {self.signal}"
        return f"exit code {self.code}"


UNREADABLE = ExitRecord(is_readable=False)


def parse_exit(data: bytes) -> ExitRecord:
    """The record in `data`; fields of another type than a holder writes count as absent."""
    if len(data) > _RECORD_LIMIT_BYTES:
        return UNREADABLE
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError):
        return UNREADABLE
    if not isinstance(fields, dict):
        return UNREADABLE
    code, signal, error = fields.get("code"), fields.get("signal"), fields.get("error")
    is_code = isinstance(code, int) and not isinstance(code, bool) and abs(code) < _INT_LIMIT
    return ExitRecord(
        code=code if is_code else None,
        signal=signal[:_LONGEST] if isinstance(signal, str) else "",
        error=error[:_LONGEST] if isinstance(error, str) else "",
    )
