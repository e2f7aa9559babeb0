"""The errors of the obey API: the registry, and what the engine's own errors are there."""

import grpc
import pytest

from betcode.domain.error_codes import ErrorCode
from betcode.domain.errors import BetcodeError, InvalidRequest, SessionNotFound, UnknownProvider
from betcode.server.errors import STATUS
from betcode.server.obey.errors import NUMBER, ObeyError, ObeyErrorCode, error_status

S = grpc.StatusCode
REGISTRY = {
    2000: ("Agent session error", S.INTERNAL),
    2001: ("Campaign not found", S.NOT_FOUND),
    2002: ("Provider not supported", S.INVALID_ARGUMENT),
    2003: ("Model not supported by provider", S.INVALID_ARGUMENT),
    2004: ("Session creation failed", S.INTERNAL),
    2005: ("Campaign sandbox initialization failed", S.INTERNAL),
    2010: ("Session not found", S.NOT_FOUND),
    2011: ("Session not in expected state", S.FAILED_PRECONDITION),
    2012: ("Message delivery failed", S.UNAVAILABLE),
    2013: ("Token budget exceeded", S.RESOURCE_EXHAUSTED),
    2014: ("Session timeout reached", S.DEADLINE_EXCEEDED),
    2020: ("Session already stopped", S.FAILED_PRECONDITION),
    2021: ("Graceful stop timed out", S.DEADLINE_EXCEEDED),
    2030: ("Provider adapter not initialized", S.FAILED_PRECONDITION),
    2031: ("Provider process crashed", S.UNAVAILABLE),
    2032: ("Provider connection lost", S.UNAVAILABLE),
}


@pytest.mark.behaviour("obey.error.registry")
def test_the_registry_has_exactly_these() -> None:
    assert {each.value: (each.meaning, each.status) for each in ObeyErrorCode} == REGISTRY


@pytest.mark.behaviour("obey.error.format", "obey.error.2000")
@pytest.mark.parametrize("code", ErrorCode)
def test_every_error_of_the_engine_has_a_number_and_a_status(code: ErrorCode) -> None:
    class Trouble(BetcodeError):
        pass

    Trouble.code = code
    answer = error_status(Trouble("what happened"))
    assert answer.number is NUMBER.get(code, ObeyErrorCode.SESSION_ERROR)
    assert answer.status is (STATUS[code] if answer.number is ObeyErrorCode.SESSION_ERROR else answer.number.status)


@pytest.mark.behaviour("obey.error.2030", "obey.error.2000")
def test_some_errors_are_told_closer_than_their_code_says() -> None:
    assert error_status(UnknownProvider("gone")).number is ObeyErrorCode.NOT_INITIALIZED
    assert error_status(SessionNotFound("x")).number is ObeyErrorCode.SESSION_NOT_FOUND
    assert error_status(ObeyError(ObeyErrorCode.STOP_TIMED_OUT, "late")).status is S.DEADLINE_EXCEEDED
    assert error_status(InvalidRequest("no")).status is S.INVALID_ARGUMENT
