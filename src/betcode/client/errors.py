"""Errors of calls as values: the code, the sentence and the details that the daemon sent.

ClientError
├── Unreachable        nobody answers at the socket, or not in time
├── Outdated           the daemon requires a newer client
└── Refused            the daemon answered with an error; `code` says which
"""

import asyncio
from collections.abc import Mapping
from types import TracebackType

import anyio.lowlevel
import grpc
from google.protobuf.message import DecodeError
from google.rpc.error_details_pb2 import ErrorInfo  # type: ignore[import-untyped]
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]

from betcode.domain.error_codes import ErrorCode

_DETAILS_KEY = "grpc-status-details-bin"  # gRPC's key of a google.rpc.Status
_UNKNOWN_CALL = "The daemon does not know this call: it is older, or this address serves only health checks"
RETRIED = frozenset({grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.UNKNOWN, grpc.StatusCode.INTERNAL})


class ClientError(Exception):
    """A call failed; `message` is one sentence for a person."""

    def __init__(self, message: str, *, code: str, details: Mapping[str, str], status: grpc.StatusCode) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.details = details
        self.status = status

    @property
    def retry_after_s(self) -> float | None:
        """The delay before a retry that the daemon requested, if it did."""
        text = self.details.get("retry_after_ms", "")
        return int(text) / 1000 if text.isascii() and text.isdigit() else None

    @property
    def is_unimplemented(self) -> bool:
        """Whether the daemon does not know the call, for example because it is older."""
        return self.status is grpc.StatusCode.UNIMPLEMENTED

    @property
    def may_be_retried(self) -> bool:
        """Whether the same call can succeed later; a malformed one never can."""
        if self.code == ErrorCode.COMPACTION_FAILED:
            return False  # the same compaction has failed; a person decides whether to start another
        if self.status is grpc.StatusCode.RESOURCE_EXHAUSTED:
            return self.retry_after_s is not None
        return self.status in RETRIED


class Unreachable(ClientError):
    """No daemon answers at the socket."""


class Outdated(ClientError):
    """This client is too old for the daemon, and must be upgraded."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="", details={}, status=grpc.StatusCode.FAILED_PRECONDITION)


class Refused(ClientError):
    """The daemon answered with an error."""


class as_client_errors:  # noqa: N801 - reads as what it does
    """Converts the exceptions of a call in this block to ClientErrors."""

    async def __aenter__(self) -> None:
        return None

    async def __aexit__(
        self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None
    ) -> None:
        if isinstance(error, grpc.aio.AioRpcError):
            raise client_error(error) from None
        if not isinstance(error, asyncio.CancelledError):
            return
        # The scope that cancels the call must recognise its own cancellation; gRPC raises another one.
        await anyio.lowlevel.checkpoint_if_cancelled()
        task = asyncio.current_task()
        if task is not None and not task.cancelling():
            # Not a cancellation of ours: gRPC raises this for a stream that broke before it was open.
            raise _cancelled_by_daemon("the stream broke before it was open") from None


def client_error(error: grpc.aio.AioRpcError) -> ClientError:
    """Return the error of a failed call, with the content of its ErrorInfo."""
    status = error.code()
    info = _error_info(error)
    message = error.details() or status.name
    if info is not None:
        return Refused(message, code=info.reason, details=dict(info.metadata), status=status)
    if status is grpc.StatusCode.UNAVAILABLE:
        return Unreachable("The daemon cannot be reached", code="", details={"reason": message}, status=status)
    if (
        status is grpc.StatusCode.CANCELLED
    ):  # cancelled by the daemon, for example because it stops; our own cancellations raise differently
        return _cancelled_by_daemon(message)
    if status is grpc.StatusCode.DEADLINE_EXCEEDED:
        return Unreachable("The daemon did not answer in time", code="", details={"reason": message}, status=status)
    if status is grpc.StatusCode.UNIMPLEMENTED:
        return Refused(_UNKNOWN_CALL, code=ErrorCode.FEATURE_NOT_AVAILABLE, details={"reason": message}, status=status)
    return Refused(message, code=ErrorCode.INTERNAL, details={}, status=status)


def _cancelled_by_daemon(reason: str) -> Unreachable:
    unavailable = grpc.StatusCode.UNAVAILABLE
    return Unreachable("The daemon cancelled the call", code="", details={"reason": reason}, status=unavailable)


def unanswered(error: ClientError) -> Unreachable:
    """Return the error of a call without an answer that can safely be repeated."""
    return Unreachable(error.message, code="", details=error.details, status=grpc.StatusCode.UNAVAILABLE)


def answer_refused(reason: str) -> Refused:
    """Return the error for a process that may not answer, as the ticket socket says."""
    return Refused(reason, code=ErrorCode.ANSWER_REFUSED, details={}, status=grpc.StatusCode.PERMISSION_DENIED)


def _error_info(error: grpc.aio.AioRpcError) -> ErrorInfo | None:
    for key, value in error.trailing_metadata() or ():
        if key == _DETAILS_KEY and isinstance(value, bytes):
            return _info_in(value)
    return None


def _info_in(details: bytes) -> ErrorInfo | None:
    try:
        status = Status.FromString(details)
    except DecodeError:
        return None
    for detail in status.details:
        info = ErrorInfo()
        if detail.Is(ErrorInfo.DESCRIPTOR) and detail.Unpack(info):
            return info
    return None
