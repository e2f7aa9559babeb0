"""The texts about untrusted projects."""

from betcode.v1 import policy_pb2 as v1
from betcode.wording.terminal_text import one_line

_SHOWN = 12
_DETAILS_OF_A_FILE = 10
_MOST_DETAILS = 30
_WIDTH = 300


def needs_question(found: v1.InspectProjectResponse) -> bool:
    """Whether to ask a person: there is something to trust, and nobody has answered yet."""
    return bool(found.items) and not found.trusted and not found.declined


def item_lines(found: v1.InspectProjectResponse) -> list[str]:
    """Return each file that an agent loads from a trusted project, with the commands it would run, one per line."""
    lines = [f"{one_line(found.project, _WIDTH)} contains files that make an agent run code or ask less:"]
    left = _MOST_DETAILS
    for item in found.items[:_SHOWN]:
        lines.append(f"  {one_line(f'{item.path}: {item.brings}', _WIDTH)}")
        details = item.details[: min(_DETAILS_OF_A_FILE, left)]
        left -= len(details)
        lines += [f"    {one_line(detail, _WIDTH)}" for detail in details]
        if item.detail_count > len(details):
            lines.append(f"    and {item.detail_count - len(details)} more in this file")
    if len(found.items) > _SHOWN:
        lines.append(f"  and {len(found.items) - _SHOWN} more")
    return lines


def question_words(found: v1.InspectProjectResponse) -> str:
    without = "does not start" if any(item.prevents_start for item in found.items) else "runs without them"
    return f"Trust this project? Otherwise the agent {without}."


def declined_words(found: v1.InspectProjectResponse) -> str:
    return f"Not trusted. To trust it later: betcode policy trust {one_line(found.project, _WIDTH)}"
