"""Translates tool calls: each starts once, when its input is complete, and ends once."""

from google.protobuf.struct_pb2 import Struct

from betcode.domain.agents.denials import DISABLED
from betcode.domain.events.display import struct_of
from betcode.domain.values.text import shortened
from betcode.providers.claude import jobs, todos, turns
from betcode.providers.claude.denials import denied_by, is_disabled
from betcode.providers.claude.event_builder import ClaudeEventBuilder
from betcode.providers.claude.state import OpenTool, open_tool
from betcode.providers.event_builder import uint32
from betcode.providers.stored_state import remember
from betcode.v1 import agent_pb2 as v1
from betcode.wire.frames import Block, User

NEEDS_PERSON = frozenset({"AskUserQuestion", "ExitPlanMode"})  # they run by being answered

_LONGEST_DESCRIPTION = 2000


def start(builder: ClaudeEventBuilder, tool_id: str, name: str, own_input: bytes, parent: str = "") -> None:
    state = builder.state
    if not tool_id or tool_id in state.tools or tool_id in state.ended:
        return
    event = builder.new_event(parent).tool_call_start
    event.tool_id = tool_id
    event.tool_name = name
    event.input_json = own_input.decode(errors="replace")
    event.input.CopyFrom(struct_of(event.input_json))
    event.description = description_in(event.input)
    tool = OpenTool(name, builder.mono_ns, parent)
    if not parent:
        tool.todo = todos.planned(name, own_input)
        tool.job = jobs.deleted_by(name, own_input)
    open_tool(state, tool_id, tool)
    if not parent and name not in NEEDS_PERSON and not state.requests:
        builder.status(v1.EXECUTING_TOOL, name)


def on_user(frame: User, builder: ClaudeEventBuilder) -> None:
    """Results of tools; whatever else is said in the user's name was said by the agent itself and shows elsewhere."""
    if not frame.parent_tool_use_id and not frame.is_replay:
        turns.pass_point(builder, frame.uuid)
    if isinstance(frame.message.content, str):
        return
    for block in frame.message.content:
        if block.type == "tool_result":
            finish(builder, block.tool_use_id, block, frame)


def finish(builder: ClaudeEventBuilder, tool_id: str, block: Block, frame: User | None = None) -> None:
    state = builder.state
    state.directories.pop(tool_id, None)
    if not tool_id or tool_id in state.ended:
        return
    tool = state.tools.pop(tool_id, None)
    remember(state.ended, tool_id)
    for request_id in [name for name, request in state.requests.items() if request.tool_use_id == tool_id]:
        withdraw(builder, request_id)  # nobody answered, and the agent went on without
    parent = (frame.parent_tool_use_id if frame else None) or (tool.parent if tool else "")
    result = builder.new_event(parent).tool_call_result
    result.tool_id = tool_id
    result.output = _output(block)
    result.is_error = bool(block.is_error)
    result.duration_ms = uint32((builder.mono_ns - tool.began_ns) / 1_000_000) if tool else 0
    if frame is not None and block.is_error:
        by_rule_or_absent = DISABLED if is_disabled(result.output) else ""
        result.denied_by = denied_by(tool_id, frame.tool_result_meta) or by_rule_or_absent
    if tool and frame and not parent and not block.is_error:
        todos.happened(builder, tool.todo, frame.tool_use_result)
        jobs.happened(builder, tool, frame.tool_use_result)
    if not parent and state.turn and not state.requests and not any(not other.parent for other in state.tools.values()):
        builder.turn_to(v1.THINKING)


def withdraw(builder: ClaudeEventBuilder, request_id: str) -> None:
    """The agent no longer waits for an answer."""
    if builder.state.requests.pop(request_id, None) is not None:
        resolved = builder.new_event().permission_resolved
        resolved.request_id = request_id
        resolved.resolution = "withdrawn"


def description_in(shown: Struct) -> str:
    if "description" in shown.fields:
        return shortened(shown.fields["description"].string_value, _LONGEST_DESCRIPTION)
    return ""


def _output(block: Block) -> str:
    content = block.content
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(part.text if part.type == "text" else f"[{part.tool_name or part.type}]" for part in content)
