"""Validate times in requests of the obey API."""

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from betcode.domain.errors import InvalidRequest

_NANOS = 10**9
_LAST_SECOND = 2**63 // _NANOS - 1  # of those whose nanoseconds can be stored: in the year 2262


def moment_ns(moment: Timestamp) -> int:
    """Nanoseconds since 1970; 0 where none was given.

    Raises:
        InvalidRequest: it is no moment, or one that cannot be stored.
    """
    if not (0 <= moment.nanos < _NANOS and 0 <= moment.seconds <= _LAST_SECOND):
        raise InvalidRequest("The timestamp is no time between 1970 and 2262: give one, or leave it out")
    return moment.seconds * _NANOS + moment.nanos


def span_ns(span: Duration) -> int:
    """Nanoseconds; 0 where none was given.

    Raises:
        InvalidRequest: it is negative, or none that can be waited for.
    """
    if not (0 <= span.nanos < _NANOS and 0 <= span.seconds <= _LAST_SECOND):
        raise InvalidRequest("The timeout is no time to come: give a duration, or 0 for none")
    return span.seconds * _NANOS + span.nanos
