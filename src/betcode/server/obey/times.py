"""Validate times in requests of the obey API."""

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from betcode.domain.errors import InvalidRequest

_NANOS = 10**9
_LAST_SECOND = 2**63 // _NANOS - 1  # the last one whose nanoseconds can be stored: in the year 2262


def moment_ns(moment: Timestamp) -> int:
    """Return nanoseconds since 1970; 0 if none is given.

    Raises:
        InvalidRequest: the timestamp is invalid or cannot be stored.
    """
    if not (0 <= moment.nanos < _NANOS and 0 <= moment.seconds <= _LAST_SECOND):
        raise InvalidRequest("The timestamp must be between 1970 and 2262: give one, or omit it")
    return moment.seconds * _NANOS + moment.nanos


def span_ns(span: Duration) -> int:
    """Return nanoseconds; 0 if none is given.

    Raises:
        InvalidRequest: the duration is negative or too long.
    """
    if not (0 <= span.nanos < _NANOS and 0 <= span.seconds <= _LAST_SECOND):
        raise InvalidRequest("The timeout must be positive: give a duration, or 0 for none")
    return span.seconds * _NANOS + span.nanos
