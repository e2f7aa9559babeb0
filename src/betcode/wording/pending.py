"""The state of a waiting session and its prompts in a few words."""

from datetime import UTC, datetime, timedelta

from betcode.v1 import agent_pb2 as v1
from betcode.wording.render import telling_input
from betcode.wording.terminal_text import one_line, tool_called

_WHAT = 400
_SOON = timedelta(minutes=2)


def wait_text(one: v1.SessionSummary, now: datetime) -> str:
    """Return what the session waits for; empty if it does not wait."""
    if one.pending_prompts or one.waiting_for == "person":
        return "waits for you"
    return words_for(one.waiting_for, one.waiting_until.ToDatetime(UTC) if one.HasField("waiting_until") else None, now)


def words_for(waiting_for: str, until: datetime | None, now: datetime) -> str:
    """Return the text for one kind of waiting."""
    match waiting_for:
        case "":
            return ""
        case "person":
            return "waits for you"
        case "slot":
            return "waiting for a slot"
        case "retry":
            return f"crashed, restarts{_when(until, now)}"
        case "limit":
            return f"limit reached{_when(until, now)}"
        case "overload":
            return f"API overloaded, retries{_when(until, now)}"
        case "api":
            return f"API fails, retries{_when(until, now)}"
        case other:
            return f"waits for {other}{_when(until, now)}"


def session_state(one: v1.SessionSummary, now: datetime) -> str:
    """Return the state of a session for a list: what it waits for, that its agent is not restarted, or its status."""
    if one.failure and one.status not in ("active", "closed"):
        return "failed"
    is_broken = one.status == "idle" and one.run_state == "crashed"
    return wait_text(one, now) or ("crashed" if is_broken else one.status)


def tool_of(one: v1.PendingPrompt) -> str:
    return tool_called(one.permission.tool_name) if one.WhichOneof("prompt") == "permission" else "question"


def what_of(one: v1.PendingPrompt) -> str:
    """Return the request on one line."""
    if one.WhichOneof("prompt") == "permission":
        what = telling_input(one.permission, _WHAT, one.working_directory)
    else:
        what = " / ".join(question.question for question in one.questions.questions)
        if one.questions.answers:
            what = f"{len(one.questions.answers)} of {len(one.questions.questions)} answered: {what}"
    return one_line(f"{what} (its agent has ended)" if one.agent_is_gone else what, _WHAT)


def _when(until: datetime | None, now: datetime) -> str:
    if until is None or until <= now:
        return ""
    if until - now < _SOON:
        return f" in {max(round((until - now).total_seconds()), 1)} s"
    there, here = until.astimezone(), now.astimezone()
    return f" until {there:%H:%M}" if there.date() == here.date() else f" until {there:%Y-%m-%d %H:%M}"
