"""A conversation as people have it with an agent, as long as one likes: turns of fifty events."""

from betcode.v1 import agent_pb2 as v1

_TURN = 50  # events
_TOOLS, _TEXT = 3, 9  # the steps with which they begin
_DELTAS = 38
_CODE = "\n```python\ndef answer(number: int) -> int:\n    return number + 1\n```\n"


def talk(seq: int) -> v1.AgentEvent:
    """The event of that number. What it shows carries the number, as `e123`."""
    turn, step = divmod(seq - 1, _TURN)
    event = v1.AgentEvent(sequence=seq)
    message = f"msg_{turn:06}"
    tool = f"toolu_{turn:06}_{(step - _TOOLS) // 2}"
    if step == 0:
        event.user_input.content = f"e{seq}: what about the {turn}th matter?"
        event.user_input.message_id = message
    elif step == 1:
        event.message_state.message_id = message
        event.message_state.state = v1.MESSAGE_STATE_CONSUMED
    elif step == 2:
        event.thinking_delta.text = f"e{seq}: this is to be thought about for a while. " * 5
        event.thinking_delta.message_id = message
        event.thinking_delta.is_complete = True
    elif step < _TEXT:
        _tool(event, seq, tool, begins=step % 2 == 1)
    elif step < _TEXT + _DELTAS:
        event.text_delta.text = _piece(seq)
        event.text_delta.message_id, event.text_delta.block = message, 1
    elif step == _TEXT + _DELTAS:
        event.text_delta.text = "".join(_piece(each) for each in range(seq - _DELTAS, seq))
        event.text_delta.message_id, event.text_delta.block = message, 1
        event.text_delta.is_complete = True
    elif step == _TURN - 2:
        event.turn_complete.stop_reason = "end_turn"
    else:
        event.status_change.status = v1.IDLE
    return event


def _tool(event: v1.AgentEvent, seq: int, tool: str, *, begins: bool) -> None:
    if begins:
        event.tool_call_start.tool_id = tool
        event.tool_call_start.tool_name = "Bash"
        event.tool_call_start.input_json = f'{{"command":"grep -rn e{seq} src","description":"look for e{seq}"}}'
        event.tool_call_start.input.update({"command": f"grep -rn e{seq} src"})
    else:
        event.tool_call_result.tool_id = tool
        event.tool_call_result.output = "".join(f"src/file_{line}.py:{line}: e{seq}\n" for line in range(20))


def _piece(seq: int) -> str:
    step = (seq - 1) % _TURN
    if step % 12 == 11:
        return f"\n\n- **e{seq}** and `more`\n"
    if step % 12 == 5:
        return _CODE
    return f"e{seq} in other words, "
