"""One table from codes to statuses, compared with the enum and with the published catalogue."""

import grpc
import pytest
from google.rpc.error_details_pb2 import ErrorInfo  # type: ignore[import-untyped]
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]

from betcode.domain import errors
from betcode.domain.error_codes import ErrorCode
from betcode.domain.errors import (
    BetcodeError,
    InvalidRequest,
    PoolExhausted,
    SessionNotFound,
    StorageFailed,
)
from betcode.domain.obey import campaign_errors
from betcode.server.errors import REQUIRED_STATE, STATUS, InternalFault, error_event, status_of

# The published catalogue, as far as its codes exist here.
CATALOGUE = {
    "SESSION_NOT_FOUND": (grpc.StatusCode.NOT_FOUND, "Session does not exist"),
    "SESSION_CLOSED": (grpc.StatusCode.FAILED_PRECONDITION, "Session has been closed"),
    "SESSION_ACTIVE": (grpc.StatusCode.FAILED_PRECONDITION, "Session has active turn"),
    "COMPACTION_FAILED": (grpc.StatusCode.INTERNAL, "Session compaction failed"),
    "PERMISSION_TIMEOUT": (grpc.StatusCode.DEADLINE_EXCEEDED, "Permission request timed out"),
    "PERMISSION_STALE": (grpc.StatusCode.FAILED_PRECONDITION, ""),
    "POOL_EXHAUSTED": (grpc.StatusCode.RESOURCE_EXHAUSTED, "Subprocess pool at capacity"),
    "SUBPROCESS_CRASHED": (grpc.StatusCode.INTERNAL, "Claude process crashed"),
    "SQLITE_ERROR": (grpc.StatusCode.INTERNAL, "Database operation failed"),
}


def info_of(error: BetcodeError) -> ErrorInfo:
    status = status_of(error)
    metadata = dict(status.trailing_metadata or ())
    packed = Status.FromString(metadata["grpc-status-details-bin"])
    info = ErrorInfo()
    assert packed.details[0].Unpack(info)
    return info


def test_every_code_has_a_status() -> None:
    assert set(STATUS) == set(ErrorCode)


def test_every_error_class_has_a_code_of_the_table() -> None:
    named = [*vars(errors).values(), *vars(campaign_errors).values()]
    classes = [each for each in named if isinstance(each, type) and issubclass(each, BetcodeError)]
    only_as_events = {ErrorCode.AGENT_ERROR, ErrorCode.PERMISSION_TIMEOUT}
    assert {each.code for each in classes} == set(ErrorCode) - only_as_events


@pytest.mark.behaviour("error.code.permission-timeout")
@pytest.mark.parametrize("name", CATALOGUE)
def test_the_catalogue_is_followed(name: str) -> None:
    assert STATUS[ErrorCode(name)] is CATALOGUE[name][0]


@pytest.mark.behaviour(
    "error.code.session-not-found",
    "error.code.sqlite-error",
    "error.code.subprocess-crashed",
    "error.code.session-active",
    "error.code.compaction-failed",
)
@pytest.mark.parametrize(
    "error",
    [
        SessionNotFound("x"),
        PoolExhausted(5, 50),
        StorageFailed(),
        errors.SessionClosed("x"),
        errors.SessionActive("x"),
        errors.CompactionFailed("x", "because"),
        errors.AgentCrashed("claude", "exit code 3"),
    ],
)
def test_the_messages_of_the_catalogue_are_used(error: BetcodeError) -> None:
    status, message = CATALOGUE[error.code]
    assert status_of(error).code is status
    assert error.message.startswith(message)


@pytest.mark.behaviour("error.status.failed-precondition", "error.details.required-state")
def test_a_failed_precondition_names_the_state_that_is_required() -> None:
    precondition = {code for code, status in STATUS.items() if status is grpc.StatusCode.FAILED_PRECONDITION}
    assert set(REQUIRED_STATE) == precondition
    assert info_of(errors.SessionActive("x")).metadata["required_state"] == "idle"
    event = error_event(errors.SessionClosed("x"), is_fatal=False)
    assert event.error.details["required_state"] == "open"


@pytest.mark.behaviour("error.event.shape", "error.details.session-id")
def test_an_error_event_has_code_message_fatality_and_details() -> None:
    event = error_event(InvalidRequest("No", limit_bytes="3"), is_fatal=True, session_id="the-session")
    assert event.sequence == 0
    assert event.error.code == "INVALID_REQUEST"
    assert event.error.message == "No"
    assert event.error.is_fatal
    assert dict(event.error.details) == {"session_id": "the-session", "limit_bytes": "3"}
    assert event.timestamp.seconds > 0


def test_a_status_carries_the_code_for_programs() -> None:
    info = info_of(SessionNotFound("a-session"))
    assert (info.reason, info.domain) == ("SESSION_NOT_FOUND", "betcode")
    assert dict(info.metadata) == {"session_id": "a-session"}


def test_a_long_message_fits_the_headers() -> None:
    status = status_of(InvalidRequest("ä" * 100_000, what="x" * 100_000))
    assert len(status.details) <= 1000
    assert sum(len(value) for _, value in status.trailing_metadata or ()) < 4000


@pytest.mark.behaviour("error.status.internal")
def test_an_inner_fault_says_nothing_of_the_inside() -> None:
    status = status_of(InternalFault())
    assert status.code is grpc.StatusCode.INTERNAL
    assert "Traceback" not in status.details


@pytest.mark.behaviour("error.code.rate-limited", "error.details.retry-after", "error.status.resource-exhausted")
def test_a_rate_limit_says_when_to_come_again_in_details_and_trailers() -> None:
    status = status_of(errors.RateLimited(60, 1.2345, 59.1))
    assert (status.code, status.details) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "Rate limit exceeded")
    trailers = {key: value for key, value in status.trailing_metadata if isinstance(value, str)}
    assert trailers == {
        "retry-after-ms": "1235",
        "rate-limit-limit": "60",
        "rate-limit-remaining": "0",
        "rate-limit-reset": "60",
    }
    assert info_of(errors.RateLimited(60, 1.2345, 59.1)).metadata["retry_after_ms"] == "1235"
