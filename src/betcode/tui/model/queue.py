"""Messages that were sent and that the agent has not started on."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from betcode.v1 import agent_pb2 as v1


@dataclass(frozen=True, slots=True)
class QueuedMessage:
    message_id: str
    text: str
    state: v1.MessageState.ValueType  # accepted: it can be withdrawn; delivered: the agent has it
    is_ours: bool = False
    reason: str = ""  # why it waits
    client_id: str = ""
    waits_for_turn: bool = False  # it was sent during another turn


class MessageQueue:
    """A message that starts a turn leaves when the agent has it; a message sent during a turn, when that turn ends."""

    def __init__(self) -> None:
        self._waiting: dict[str, QueuedMessage] = {}

    def shown(self, own_client_id: str) -> Sequence[QueuedMessage]:
        return [
            replace(one, is_ours=bool(own_client_id) and one.client_id == own_client_id)
            for one in self._waiting.values()
        ]

    def take(self, event: v1.AgentEvent, *, is_at_work: bool) -> None:
        """Process the next event; `is_at_work`: a turn was running before it."""
        match event.WhichOneof("event"):
            case "user_input":
                message = event.user_input
                self._waiting[message.message_id] = QueuedMessage(
                    message.message_id,
                    message.content,
                    v1.MESSAGE_STATE_ACCEPTED,
                    client_id=message.client_id,
                    waits_for_turn=is_at_work,
                )
            case "message_state":
                self._moved(event.message_state)
            case "turn_complete":
                self._turn_ended(event.turn_complete)
            case _:
                pass

    def _moved(self, change: v1.MessageStateChange) -> None:
        one = self._waiting.get(change.message_id)
        if one is None:
            return
        match change.state:
            case v1.MESSAGE_STATE_ACCEPTED:
                self._waiting[one.message_id] = replace(one, reason=change.reason)
            case v1.MESSAGE_STATE_DELIVERED if one.waits_for_turn:
                self._waiting[one.message_id] = replace(one, state=change.state, reason="")
            case _:
                del self._waiting[one.message_id]

    def _turn_ended(self, end: v1.TurnComplete) -> None:
        """Remove the messages that the agent already has: it answers them next."""
        self._waiting = {
            name: one
            for name, one in self._waiting.items()
            if name not in end.message_ids and one.state != v1.MESSAGE_STATE_DELIVERED
        }
