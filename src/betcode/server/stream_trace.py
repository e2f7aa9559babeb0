"""Log the size of each message of a stream, at level trace only."""

import logging
from typing import TYPE_CHECKING, Any, cast

from betcode.telemetry.logs import TRACE

if TYPE_CHECKING:
    from betcode.server.rpc import Context

logger = logging.getLogger(__name__)


def note_frame(direction: str, data: object) -> None:
    """One message of a call."""
    if logger.isEnabledFor(TRACE):
        size = len(data) if isinstance(data, bytes) else 0
        logger.log(TRACE, "gRPC message %s: %d bytes", direction, size)


def traced(context: "Context") -> "Context":
    """Return the stream; logs every message if the trace level is on when it begins, otherwise unchanged."""
    return cast("Context", _Traced(context)) if logger.isEnabledFor(TRACE) else context


class _Traced:
    def __init__(self, context: "Context") -> None:
        self._context = context

    async def read(self) -> object:
        data: object = await self._context.read()
        if isinstance(data, bytes):
            note_frame("in", data)
        return data

    async def write(self, data: bytes) -> None:
        note_frame("out", data)
        await self._context.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)
