"""The errors of the obey API: each has a number and a gRPC status, and is sent in message, details and trailer."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Self

import grpc

from betcode.domain.error_codes import ErrorCode
from betcode.domain.errors import BetcodeError, UnknownProvider
from betcode.server.errors import STATUS, make_status

DOMAIN = "obey.local.v1"  # of google.rpc.ErrorInfo
TRAILER = "obey-error-code"


class ObeyErrorCode(IntEnum):
    """The registry: the number, its meaning, and the gRPC status that it is sent with."""

    meaning: str
    status: grpc.StatusCode

    def __new__(cls, number: int, meaning: str = "", status: grpc.StatusCode = grpc.StatusCode.INTERNAL) -> Self:
        member = int.__new__(cls, number)
        member._value_ = number
        member.meaning = meaning
        member.status = status
        return member

    SESSION_ERROR = (2000, "Agent session error", grpc.StatusCode.INTERNAL)
    CAMPAIGN_NOT_FOUND = (2001, "Campaign not found", grpc.StatusCode.NOT_FOUND)
    PROVIDER_NOT_SUPPORTED = (2002, "Provider not supported", grpc.StatusCode.INVALID_ARGUMENT)
    MODEL_NOT_SUPPORTED = (2003, "Model not supported by provider", grpc.StatusCode.INVALID_ARGUMENT)
    CREATION_FAILED = (2004, "Session creation failed", grpc.StatusCode.INTERNAL)
    SANDBOX_FAILED = (2005, "Campaign sandbox initialization failed", grpc.StatusCode.INTERNAL)
    SESSION_NOT_FOUND = (2010, "Session not found", grpc.StatusCode.NOT_FOUND)
    WRONG_STATE = (2011, "Session not in expected state", grpc.StatusCode.FAILED_PRECONDITION)
    DELIVERY_FAILED = (2012, "Message delivery failed", grpc.StatusCode.UNAVAILABLE)
    BUDGET_EXCEEDED = (2013, "Token budget exceeded", grpc.StatusCode.RESOURCE_EXHAUSTED)
    TIMEOUT_REACHED = (2014, "Session timeout reached", grpc.StatusCode.DEADLINE_EXCEEDED)
    ALREADY_STOPPED = (2020, "Session already stopped", grpc.StatusCode.FAILED_PRECONDITION)
    STOP_TIMED_OUT = (2021, "Graceful stop timed out", grpc.StatusCode.DEADLINE_EXCEEDED)
    NOT_INITIALIZED = (2030, "Provider adapter not initialized", grpc.StatusCode.FAILED_PRECONDITION)
    PROCESS_CRASHED = (2031, "Provider process crashed", grpc.StatusCode.UNAVAILABLE)
    CONNECTION_LOST = (2032, "Provider connection lost", grpc.StatusCode.UNAVAILABLE)

    @property
    def spelled(self) -> str:
        return f"OBEY-{self.value}"


class ObeyError(BetcodeError):
    """An error that this API has a number for."""

    def __init__(self, number: ObeyErrorCode, message: str, **details: str) -> None:
        super().__init__(message, **details)
        self.number = number


# The numbers of the engine's errors. An error without a number gets 2000 and keeps its gRPC status.
NUMBER: Mapping[ErrorCode, ObeyErrorCode] = {
    ErrorCode.SESSION_NOT_FOUND: ObeyErrorCode.SESSION_NOT_FOUND,
    ErrorCode.SESSION_CLOSED: ObeyErrorCode.WRONG_STATE,
    ErrorCode.SESSION_ACTIVE: ObeyErrorCode.WRONG_STATE,
    ErrorCode.SESSION_NOT_READY: ObeyErrorCode.WRONG_STATE,
    ErrorCode.SESSION_TIMEOUT: ObeyErrorCode.TIMEOUT_REACHED,
    ErrorCode.CAMPAIGN_NOT_FOUND: ObeyErrorCode.CAMPAIGN_NOT_FOUND,
    ErrorCode.CAMPAIGN_UNUSABLE: ObeyErrorCode.SANDBOX_FAILED,
    ErrorCode.BUDGET_EXCEEDED: ObeyErrorCode.BUDGET_EXCEEDED,
    ErrorCode.NO_INPUT_LOCK: ObeyErrorCode.DELIVERY_FAILED,
    ErrorCode.POOL_EXHAUSTED: ObeyErrorCode.DELIVERY_FAILED,
    ErrorCode.AGENT_UNAVAILABLE: ObeyErrorCode.DELIVERY_FAILED,
    ErrorCode.STORAGE_DEGRADED: ObeyErrorCode.DELIVERY_FAILED,
    ErrorCode.SUBPROCESS_CRASHED: ObeyErrorCode.PROCESS_CRASHED,
}


@dataclass(frozen=True, slots=True)
class ObeyErrorStatus:
    number: ObeyErrorCode
    status: grpc.StatusCode


def error_status(error: BetcodeError) -> ObeyErrorStatus:
    """The number and the status of an error."""
    if isinstance(error, ObeyError):
        return ObeyErrorStatus(error.number, error.number.status)
    if isinstance(error, UnknownProvider):
        return ObeyErrorStatus(ObeyErrorCode.NOT_INITIALIZED, ObeyErrorCode.NOT_INITIALIZED.status)
    number = NUMBER.get(error.code, ObeyErrorCode.SESSION_ERROR)
    return ObeyErrorStatus(number, STATUS[error.code] if number is ObeyErrorCode.SESSION_ERROR else number.status)


def status_of(error: BetcodeError) -> grpc.Status:
    """Return the gRPC status: the number begins the message, and is in details and trailer for programs."""
    answer = error_status(error)
    return make_status(
        answer.status,
        f"{answer.number.spelled}: {error.message}",
        reason=answer.number.spelled,
        domain=DOMAIN,
        metadata={**error.details, **({} if isinstance(error, ObeyError) else {"betcode_code": error.code})},
        trailers=((TRAILER, answer.number.spelled),),
    )
