"""Detect the end of the turn that answers one message, and its result."""

from dataclasses import dataclass, field

from betcode.cli.core.exit_codes import ExitCode, exit_of
from betcode.v1 import agent_pb2 as v1

# After an error that is not fatal the turn continues: with another agent, or without an expired permission.
_GOES_ON = frozenset({"SUBPROCESS_CRASHED", "PERMISSION_TIMEOUT"})
_FAILED = frozenset({"error", "crashed"})
_NOT_DONE = frozenset({"cancelled", "given up", "stopped"})
_WITHDRAWN = "withdrawn"  # the reason of a cancelled message that gets no turn, while another turn may continue
_OF_EVERYBODY = frozenset({"crashed", "stopped"})  # the agent has ended, and with it every open request


@dataclass(slots=True)
class TurnUsage:
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_creation_tokens: int = 0
    cost_usd: float = 0.0
    duration_ms: int = 0

    def add(self, report: v1.UsageReport) -> None:
        self.input_tokens += report.input_tokens
        self.output_tokens += report.output_tokens
        self.cache_read_tokens += report.cache_read_tokens
        self.cache_creation_tokens += report.cache_creation_tokens
        self.cost_usd += report.cost_usd
        self.duration_ms += report.duration_ms


@dataclass(slots=True)
class TurnWatch:
    """Follows the events after a message. Messages that are queued together may share a turn, so ids decide."""

    message_id: str
    usage: TurnUsage = field(default_factory=TurnUsage)
    stop_reason: str = ""
    error: v1.ErrorEvent | None = None
    _delivered: bool = False
    _consumed: bool = False
    _withdrawn: bool = False

    def see(self, event: v1.AgentEvent) -> bool:
        """Process one event; return whether it ends the turn."""
        match event.WhichOneof("event"):
            case "message_state" if event.message_state.message_id == self.message_id:
                self._note_state(event.message_state)
                return event.message_state.reason == _WITHDRAWN
            case "error" if event.error.is_fatal or event.error.code not in _GOES_ON:
                self.error = event.error
            case "usage":
                self.usage.add(event.usage)
            case "turn_complete":
                return self._is_ours(event.turn_complete)
            case "status_change" if event.status_change.status == v1.IDLE and self._withdrawn:
                return True
            case _:
                pass
        return False

    @property
    def failed(self) -> bool:
        return self.stop_reason in _FAILED or (self.error is not None and self.error.is_fatal)

    @property
    def was_cancelled(self) -> bool:
        """Whether the turn was cancelled. A withdrawn message is reported by its own state."""
        return self.stop_reason == "cancelled" and not self._withdrawn

    @property
    def exit_code(self) -> ExitCode:
        """Return the exit code for the end of the turn, without regard to permissions."""
        if not self.failed:
            return ExitCode.OK if self.stop_reason not in _NOT_DONE else ExitCode.AGENT_ERROR
        code = self.error.code if self.error is not None else ""
        return exit_of(code, otherwise=ExitCode.AGENT_ERROR) if code != "INTERNAL" else ExitCode.AGENT_ERROR

    def _note_state(self, change: v1.MessageStateChange) -> None:
        match change.state:
            case v1.MESSAGE_STATE_DELIVERED:
                self._delivered = True
            case v1.MESSAGE_STATE_CONSUMED:
                self._consumed = True
            case v1.MESSAGE_STATE_CANCELLED | v1.MESSAGE_STATE_UNKNOWN:
                self._withdrawn = True
                self.stop_reason = "cancelled" if change.state == v1.MESSAGE_STATE_CANCELLED else "given up"
            case _:
                pass

    def _is_ours(self, end: v1.TurnComplete) -> bool:
        names_us = self.message_id in end.message_ids
        # An aborted turn names no messages. A turn that the agent began by itself has an origin and is not ours.
        broke_off = not end.message_ids and not end.origin and self._delivered
        # After two crashes another message continues the turn, and its end is still ours.
        continued = self._consumed and not end.origin
        if names_us or broke_off or continued or self._withdrawn or end.stop_reason in _OF_EVERYBODY:
            self.stop_reason = end.stop_reason or self.stop_reason
            return True
        self.error = None  # it belonged to another turn
        self.usage = TurnUsage()
        return False
