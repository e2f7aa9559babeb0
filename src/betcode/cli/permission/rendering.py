"""Open prompts as rows of a table and as JSON."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from betcode.domain.values.times import rfc3339, rfc3339_past
from betcode.v1 import agent_pb2 as v1
from betcode.wording.ids import short_id
from betcode.wording.pending import tool_of, what_of
from betcode.wording.terminal_text import one_line
from betcode.wording.times import nearly, span

HEADINGS = ("ID", "AGE", "EXPIRES", "SESSION", "TOOL", "WHAT")
SPARE = ("EXPIRES", "AGE")  # omitted on a narrow terminal, in this order
_LEAST = 8  # minimum characters of an id


def row(one: v1.PendingPrompt, request_id: str, now: datetime) -> list[str]:
    """Return one line of the list, with an id that may be shortened."""
    asked = span(now - one.asked_at.ToDatetime(UTC))
    expires = f"in {nearly(one.expires_at.ToDatetime(UTC) - now)}" if one.HasField("expires_at") else ""
    session = one.session_name or short_id(one.session_id)
    return [request_id, asked, expires, one_line(session, 24), tool_of(one), what_of(one)]


def short_request_ids(request_ids: Iterable[str]) -> dict[str, str]:
    """Return a unique prefix of each id."""
    ordered = sorted(set(request_ids))
    short: dict[str, str] = {}
    for before, one, after in zip(["", *ordered], ordered, [*ordered[1:], ""], strict=False):
        length = _LEAST
        while length < len(one) and (before.startswith(one[:length]) or after.startswith(one[:length])):
            length += 4
        short[one] = one[:length]
    return short


def pending_json(one: v1.PendingPrompt) -> dict[str, object]:
    """Return one prompt with every field, set or not."""
    shown: dict[str, object] = {
        "request_id": one.request_id,
        "session_id": one.session_id,
        "session_name": one.session_name,
        "working_directory": one.working_directory,
        "asked_at": rfc3339_past(one.asked_at.ToNanoseconds()),
        "expires_at": rfc3339(one.expires_at.ToNanoseconds()) or None,
        "sequence": one.sequence,
        "agent_is_gone": one.agent_is_gone,
        "kind": "question" if one.questions.questions else "permission",
    }
    if one.questions.questions:
        return shown | {"questions": [_question_json(each, one.questions.answers) for each in one.questions.questions]}
    request = one.permission
    return shown | {
        "tool_name": request.tool_name,
        "description": request.description,
        "input_json": request.input_json,
        "segments": list(request.segments),
        "deciding_rule": request.deciding_rule,
        "note": request.note,
        "grant_offers": [{"pattern": offer.pattern, "label": offer.label} for offer in request.grant_offers],
    }


def _question_json(question: v1.UserQuestion, answers: Mapping[str, str]) -> dict[str, object]:
    return {
        "question_id": question.question_id,
        "header": question.header,
        "question": question.question,
        "multi_select": question.multi_select,
        "answer": answers.get(question.question),
        "options": [
            {"label": option.label or option.value, "description": option.description} for option in question.options
        ],
    }
