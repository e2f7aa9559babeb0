"""What an agent asks in the middle of its work, and how a person answers it."""

from betcode.wording.terminal_text import one_line, tool_called
from obey.local.v1 import local_pb2 as v1

_SHOWN = 200


def is_prompt(one: v1.SessionActivityEvent) -> bool:
    """Whether it waits for an answer: a status that has the id of a prompt."""
    return one.type == v1.ACTIVITY_TYPE_STATUS and bool(one.tool_call_id)


def prompt_lines(one: v1.SessionActivityEvent) -> list[str]:
    """What is asked, and the commands that answer it."""
    asked = " ".join(filter(None, (tool_called(one.tool_name), one_line(one.content, _SHOWN))))
    return [
        f"The agent asks, and waits: {asked}",
        f"  obey session answer {one.session_id} {one.tool_call_id} allow",
        f"  obey session answer {one.session_id} {one.tool_call_id} deny",
    ]
