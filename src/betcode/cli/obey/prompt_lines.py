"""Prompts of agents as lines, with the command that answers them."""

from betcode.wording.terminal_text import one_line
from obey.local.v1 import local_pb2 as v1

# The beginnings of statuses that carry a prompt id: a permission request, a question, an answer.
_ASKED, _QUESTION, _RESOLVED = "permission_requested", "question_asked", "prompt_resolved"
_UNTRUSTED = "project_not_trusted: "
_SHOWN = 2_000  # a person must see the whole command before allowing it


def is_prompt(one: v1.SessionActivityEvent) -> bool:
    """Whether the status is an open prompt."""
    return _kind(one) in (_ASKED, _QUESTION)


def prompt_lines(one: v1.SessionActivityEvent) -> list[str]:
    """Return lines for a prompt with the commands that answer it, for its answer, or for an untrusted project.

    Any other status gives no lines.
    """
    if one.type == v1.ACTIVITY_TYPE_STATUS and one.content.startswith(_UNTRUSTED):
        return [f"! {request_text(one)}"]
    what = request_text(one)
    match _kind(one):
        case "permission_requested":
            command = f"obey session answer {one.session_id} {one.tool_call_id}"
            return [f"The agent asks and waits: {what}", f"  {command} allow", f"  {command} deny"]
        case "question_asked":
            return [f"The agent asks and waits: {what}", f"  betcode permission answer {one.tool_call_id} --choose 1"]
        case "prompt_resolved":
            return [f"Answered ({what})"]
        case _:
            return []


def request_text(one: v1.SessionActivityEvent) -> str:
    """Return the request on one line."""
    return one_line(one.content.partition(": ")[2], _SHOWN)


def _kind(one: v1.SessionActivityEvent) -> str:
    is_of_a_prompt = one.type == v1.ACTIVITY_TYPE_STATUS and one.tool_call_id
    return one.content.partition(" ")[0] if is_of_a_prompt else ""
