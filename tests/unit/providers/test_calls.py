"""Uses of tools that the agent shows: what is remembered of them stays small."""

from msgspec import Raw

from betcode.providers.claude.calls import opened
from betcode.providers.claude.state import State
from betcode.wire.frames import Asked, ControlRequest


def test_where_tools_are_used_is_not_remembered_without_end() -> None:
    state = State()
    for number in range(3000):
        given = Raw(b'{"tool_name": "Bash", "tool_input": {}, "cwd": "/somewhere"}')
        asked = Asked(subtype="hook_callback", input=given, tool_use_id=f"t{number}")
        opened(ControlRequest(request_id=f"r{number}", request=asked), state, {})
    assert len(state.directories) == len(state.calls) <= 1024
    assert "t2999" in state.directories
