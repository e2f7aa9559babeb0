"""The texts about a project that nobody has trusted."""

from betcode.v1 import policy_pb2 as v1
from betcode.wording.terminal_text import one_line

_SHOWN = 12
_WIDTH = 300


def needs_question(found: v1.InspectProjectResponse) -> bool:
    """Whether a person is to be asked: there is something to trust, and nobody has answered yet."""
    return bool(found.items) and not found.trusted and not found.declined


def item_lines(found: v1.InspectProjectResponse) -> list[str]:
    """What an agent loads once the project is trusted, one line for each file."""
    lines = [f"{one_line(found.project, _WIDTH)} brings files that make an agent run code or ask less:"]
    lines += [f"  {one_line(f'{item.path}: {item.brings}', _WIDTH)}" for item in found.items[:_SHOWN]]
    if len(found.items) > _SHOWN:
        lines.append(f"  and {len(found.items) - _SHOWN} more")
    return lines


def question_words(found: v1.InspectProjectResponse) -> str:
    without = "does not start" if any(item.prevents_start for item in found.items) else "runs without them"
    return f"Trust this project? Otherwise the agent {without}."


def declined_words(found: v1.InspectProjectResponse) -> str:
    return f"Not trusted. To trust it later: betcode policy trust {one_line(found.project, _WIDTH)}"
