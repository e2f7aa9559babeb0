"""The outcome of one message, read from the log after it."""

import re

from betcode.domain.error_codes import ErrorCode
from betcode.engine.operations.lifecycle.timeouts import REACHED
from betcode.server.obey.errors import ObeyError, ObeyErrorCode
from betcode.v1 import agent_pb2 as v1

# Each provider has its own message for a model or gateway that could not be reached.
_CONNECTION = re.compile(
    r"connect|network|econn|socket|stream|timed? ?out|unreachable|disconnect|fetch failed|hang up", re.IGNORECASE
)
_GIVEN_UP = {v1.MESSAGE_STATE_CANCELLED, v1.MESSAGE_STATE_UNKNOWN}


class MessageOutcome:
    """Reads the log from the message on; over once its turn is."""

    def __init__(self, message_id: str) -> None:
        self._message_id = message_id
        self._error: v1.ErrorEvent | None = None
        self._has_crashed = False
        self._given_up = ""
        self._timed_out = False
        self.is_over = False

    def take(self, event: v1.AgentEvent) -> None:
        """Raise ObeyError if the message failed."""
        match event.WhichOneof("event"):
            case "error":
                self._error = event.error
                self._has_crashed = self._has_crashed or event.error.code == ErrorCode.SUBPROCESS_CRASHED
            case "notice":
                self._timed_out = self._timed_out or event.notice.details.get("event") == REACHED
            case "message_state" if event.message_state.message_id == self._message_id:
                if event.message_state.state in _GIVEN_UP:
                    self._given_up = event.message_state.reason or "it was discarded"
            case "turn_complete" if self._is_ours(event.turn_complete):
                self._end(event.turn_complete.stop_reason)
            case "status_change" if event.status_change.status == v1.IDLE and self._given_up:
                raise ObeyError(ObeyErrorCode.DELIVERY_FAILED, f"The message did not reach the agent: {self._given_up}")
            case _:
                pass

    def stopped(self) -> ObeyError:
        """The log has ended before the turn did."""
        return ObeyError(ObeyErrorCode.WRONG_STATE, "The session was stopped before the agent had finished")

    def _is_ours(self, ended: v1.TurnComplete) -> bool:
        if self._message_id in ended.message_ids:
            return True
        return not ended.message_ids and ended.stop_reason in ("crashed", "stopped", "cancelled")

    def _end(self, reason: str) -> None:
        if self._timed_out:
            raise ObeyError(ObeyErrorCode.TIMEOUT_REACHED, "The session's timeout was reached, and the turn cancelled")
        message = self._error.message if self._error is not None else ""
        match reason:
            case "crashed" if message and not self._has_crashed:  # it did not even start
                raise ObeyError(ObeyErrorCode.DELIVERY_FAILED, message)
            case "crashed":
                raise ObeyError(ObeyErrorCode.PROCESS_CRASHED, message or "The agent's process crashed")
            case "error" if _CONNECTION.search(message):
                raise ObeyError(ObeyErrorCode.CONNECTION_LOST, message)
            case "error":
                raise ObeyError(ObeyErrorCode.SESSION_ERROR, message or "The turn failed")
            case "cancelled" | "stopped":
                raise ObeyError(ObeyErrorCode.SESSION_ERROR, f"The turn was {reason} before it had finished")
            case _:
                self.is_over = True


def trouble_of(ended: v1.AgentEvent | None, error: v1.AgentEvent | None) -> str:
    """Return the error of the newest turn; empty if it succeeded."""
    if ended is None or error is None or ended.turn_complete.stop_reason not in ("error", "crashed"):
        return ""
    return error.error.message
