"""Open prompts as rows of a table and as JSON."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

from betcode.domain.times import rfc3339, rfc3339_past
from betcode.v1 import agent_pb2 as v1
from betcode.wording.ids import short_id
from betcode.wording.render import telling_input
from betcode.wording.terminal_text import one_line, tool_called

HEADINGS = ("ID", "AGE", "EXPIRES", "SESSION", "TOOL", "WHAT")
SPARE = ("EXPIRES", "AGE")  # what a narrow terminal leaves out, in this order
_LEAST = 8  # characters of an id
_WHAT = 400


def row(one: v1.PendingPrompt, request_id: str, now: datetime) -> list[str]:
    """One line of the list, under an id that may be short."""
    asked = span(now - one.asked_at.ToDatetime(UTC))
    expires = f"in {nearly(one.expires_at.ToDatetime(UTC) - now)}" if one.HasField("expires_at") else ""
    session = one.session_name or short_id(one.session_id)
    return [request_id, asked, expires, one_line(session, 24), tool_of(one), what_of(one)]


def short_request_ids(request_ids: Iterable[str]) -> dict[str, str]:
    """As much of each id as tells it from the others."""
    ordered = sorted(set(request_ids))
    short: dict[str, str] = {}
    for before, one, after in zip(["", *ordered], ordered, [*ordered[1:], ""], strict=False):
        length = _LEAST
        while length < len(one) and (before.startswith(one[:length]) or after.startswith(one[:length])):
            length += 4
        short[one] = one[:length]
    return short


def span(delta: timedelta) -> str:
    """A length of time in its largest unit."""
    seconds = max(int(delta.total_seconds()), 0)
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def nearly(delta: timedelta) -> str:
    """The same to the nearest: of seven days that have just begun it says seven."""
    seconds = delta.total_seconds()
    size = next((size for size in (86400, 3600, 60) if seconds >= size), 1)
    return span(timedelta(seconds=round(seconds / size) * size))


def tool_of(one: v1.PendingPrompt) -> str:
    return tool_called(one.permission.tool_name) if one.WhichOneof("prompt") == "permission" else "question"


def what_of(one: v1.PendingPrompt) -> str:
    """What is asked, on one line."""
    if one.WhichOneof("prompt") == "permission":
        what = telling_input(one.permission, _WHAT)
    else:
        what = " / ".join(question.question for question in one.questions.questions)
        if one.questions.answers:
            what = f"{len(one.questions.answers)} of {len(one.questions.questions)} answered: {what}"
    return one_line(f"{what} (its agent is gone)" if one.agent_is_gone else what, _WHAT)


def pending_json(one: v1.PendingPrompt) -> dict[str, object]:
    """One prompt, with every field whether it is set or not."""
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
