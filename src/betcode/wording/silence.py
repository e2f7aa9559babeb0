"""An agent that has said nothing since the turn began: perhaps it waits for a network that is not there."""

from betcode.v1 import agent_pb2 as v1

SILENT_AFTER_S = 20.0
NO_ANSWER = "no answer from the agent yet"
_ANSWERS = frozenset(
    {"text_delta", "thinking_delta", "tool_call_start", "todo_update", "permission_request", "user_question"}
    | {"plan_mode", "error", "notice", "compaction", "turn_complete"}
)


def is_answer(event: v1.AgentEvent) -> bool:
    """Whether the event shows that the agent is at work, or why it is not."""
    return event.WhichOneof("event") in _ANSWERS
