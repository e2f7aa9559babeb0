"""Events as a daemon tells them, and what a conversation makes of them."""

from google.protobuf import struct_pb2

from betcode.tui.model.blocks import (
    AgentText,
    Block,
    ToolCallBlock,
)
from betcode.tui.model.conversation import ConversationModel
from betcode.v1 import agent_pb2 as v1
from support.screens.blocks import numbered


def text_event(text: str, message_id: str = "m1", *, settled: bool = False, parent: str = "") -> v1.AgentEvent:
    """A piece of what the agent says."""
    delta = v1.TextDelta(text=text, message_id=message_id, is_complete=settled)
    return v1.AgentEvent(text_delta=delta, parent_tool_use_id=parent)


def start_event(tool_id: str, parent: str = "") -> v1.AgentEvent:
    """A call of a tool."""
    given = struct_pb2.Struct()
    given.update({"command": "ls -l"})
    start = v1.ToolCallStart(tool_id=tool_id, tool_name="Bash", input=given, input_json='{"command":"ls -l"}')
    return v1.AgentEvent(tool_call_start=start, parent_tool_use_id=parent)


def result_event(tool_id: str, output: str = "done", *, is_error: bool = False, denied_by: str = "") -> v1.AgentEvent:
    """What came of it."""
    result = v1.ToolCallResult(tool_id=tool_id, output=output, is_error=is_error, denied_by=denied_by, duration_ms=1500)
    return v1.AgentEvent(tool_call_result=result)


def end_event(reason: str = "end_turn") -> v1.AgentEvent:
    """The end of a turn."""
    return v1.AgentEvent(turn_complete=v1.TurnComplete(stop_reason=reason))


def said_event(message_id: str = "m", client_id: str = "") -> v1.AgentEvent:
    """A message of a person."""
    return v1.AgentEvent(user_input=v1.UserInput(content="Go", message_id=message_id, client_id=client_id))


def asked_event(request_id: str) -> v1.AgentEvent:
    """A permission that is asked for."""
    return v1.AgentEvent(permission_request=v1.PermissionRequest(request_id=request_id, tool_name="Bash"))


def resolved_event(request_id: str, resolution: str = "answered", **more: object) -> v1.AgentEvent:
    """What became of it."""
    resolved = v1.PermissionResolved(request_id=request_id, resolution=resolution, **more)  # type: ignore[arg-type]
    return v1.AgentEvent(permission_resolved=resolved)


def taken(*events: v1.AgentEvent) -> ConversationModel:
    """A conversation of these events, numbered in their order."""
    conversation = ConversationModel("me")
    conversation.take(numbered(events))
    return conversation


def blocks_of(*events: v1.AgentEvent) -> list[Block]:
    """Its blocks."""
    return taken(*events).blocks


def tool_of(*events: v1.AgentEvent) -> ToolCallBlock:
    """The call that it begins with."""
    block = blocks_of(*events)[0]
    assert isinstance(block, ToolCallBlock)
    return block


def words_of(block: Block) -> AgentText:
    """The block, which is one of words."""
    assert isinstance(block, AgentText)
    return block
