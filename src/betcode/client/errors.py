"""Errors of calls as values: the code, the sentence and the details that the daemon sent.

ClientError
├── Unreachable        nobody answers at the socket, or not in time
├── Outdated           this client is older than the daemon takes
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

_DETAILS_KEY = "grpc-status-details-bin"  # where gRPC keeps a google.rpc.Status
_UNKNOWN_CALL = "The daemon does not know this call: it is older, or this address is that of health alone"
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
        """When the daemon wants to be asked again, where it said so."""
        text = self.details.get("retry_after_ms", "")
        return int(text) / 1000 if text.isascii() and text.isdigit() else None

    @property
    def is_unimplemented(self) -> bool:
        """Whether the daemon does not know the call: it may be older."""
        return self.status is grpc.StatusCode.UNIMPLEMENTED

    @property
    def may_be_retried(self) -> bool:
        """Whether the same call can succeed later; a malformed one never can."""
        if self.code == ErrorCode.COMPACTION_FAILED:
            return False  # asked again, it is the same one, and has failed; a person decides on another
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
    """The daemon answered, and the answer is an error."""


class as_client_errors:  # noqa: N801 - reads as what it does
    """What a call raises inside the block leaves it as an error of ours (ClientError)."""

    async def __aenter__(self) -> None:
        return None

    async def __aexit__(
        self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None
    ) -> None:
        if isinstance(error, grpc.aio.AioRpcError):
            raise client_error(error) from None
        if not isinstance(error, asyncio.CancelledError):
            return
        # A scope that gives the call up must know the cancellation for its own, and gRPC raises another in its place.
        await anyio.lowlevel.checkpoint_if_cancelled()
        task = asyncio.current_task()
        if task is not None and not task.cancelling():
            # Nobody cancelled us: gRPC says so of a stream that broke before it was open.
            raise _let_go("the stream broke before it was open") from None


def client_error(error: grpc.aio.AioRpcError) -> ClientError:
    """The error behind a failed call, with what its ErrorInfo says."""
    status = error.code()
    info = _error_info(error)
    message = error.details() or status.name
    if info is not None:
        return Refused(message, code=info.reason, details=dict(info.metadata), status=status)
    if status is grpc.StatusCode.UNAVAILABLE:
        return Unreachable("The daemon cannot be reached", code="", details={"reason": message}, status=status)
    if (
        status is grpc.StatusCode.CANCELLED
    ):  # by the daemon, as when it stops: what we cancel ourselves raises otherwise
        return _let_go(message)
    if status is grpc.StatusCode.DEADLINE_EXCEEDED:
        return Unreachable("The daemon did not answer in time", code="", details={"reason": message}, status=status)
    if status is grpc.StatusCode.UNIMPLEMENTED:
        return Refused(_UNKNOWN_CALL, code=ErrorCode.FEATURE_NOT_AVAILABLE, details={"reason": message}, status=status)
    return Refused(message, code=ErrorCode.INTERNAL, details={}, status=status)


def _let_go(reason: str) -> Unreachable:
    unavailable = grpc.StatusCode.UNAVAILABLE
    return Unreachable("The daemon let go of the call", code="", details={"reason": reason}, status=unavailable)


def unanswered(error: ClientError) -> Unreachable:
    """The same, of a question that does no harm when it is asked again."""
    return Unreachable(error.message, code="", details=error.details, status=grpc.StatusCode.UNAVAILABLE)


def answer_refused(reason: str) -> Refused:
    """The ticket socket will not let this process answer."""
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
