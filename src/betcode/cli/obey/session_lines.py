"""Sessions and their activities as lines for people."""

from collections.abc import Sequence
from datetime import UTC, datetime

from betcode.cli.obey.names import PROVIDERS, STATUSES, name_of
from betcode.cli.obey.prompt_lines import prompt_lines
from betcode.cli.obey.records import time_of
from betcode.cli.terminal.table import table
from betcode.wording.terminal_text import in_a_line, one_line, tool_called
from betcode.wording.times import age
from obey.local.v1 import local_pb2 as v1

_HEADINGS = ("ID", "STATUS", "CHANGED", "TOKENS", "PROVIDER", "CAMPAIGN", "FESTIVAL", "NAME")
_SPARE = ("TOKENS", "FESTIVAL", "CHANGED", "CAMPAIGN", "PROVIDER")  # omitted on a narrow terminal, in this order
_LEAST_OF_ID = 13
_SHOWN = 100  # maximum length of a thought or a tool's output, in columns


def short_ids(ids: Sequence[str]) -> dict[str, str]:
    """Return a unique prefix of each id."""
    ordered = sorted(set(ids))
    shorts: dict[str, str] = {}
    for at, one in enumerate(ordered):
        near = [*ordered[max(at - 1, 0) : at], *ordered[at + 1 : at + 2]]
        needed = max((_alike(one, other) + 1 for other in near), default=0)
        shorts[one] = one[: max(needed, _LEAST_OF_ID)]
    return shorts


def _alike(one: str, other: str) -> int:
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def list_lines(sessions: Sequence[v1.SessionInfo], now: datetime, width: int) -> list[str]:
    """Return one line per session, no wider than the terminal."""
    shorts = short_ids([one.id for one in sessions])
    has_festival = any(one.festival_id for one in sessions)
    shown = [name for name in _HEADINGS if name != "FESTIVAL" or has_festival]
    rows = [dict(zip(_HEADINGS, _row(one, shorts[one.id], now), strict=True)) for one in sessions]
    cells = [[row[name] for name in shown] for row in rows]
    return table(shown, cells, width, spare=[name for name in _SPARE if name in shown])


def _row(one: v1.SessionInfo, short: str, now: datetime) -> list[str]:
    changed = one.last_activity_at if one.HasField("last_activity_at") else one.created_at
    return [
        short,
        name_of(one.status, STATUSES),
        age(now - changed.ToDatetime(UTC)),
        str(one.tokens_input + one.tokens_output),
        provider_line(one),
        one.campaign_id,
        one.festival_id,
        one.agent_name,
    ]


def provider_line(one: v1.SessionInfo) -> str:
    """Return `claude-code/opus`; only the provider if the model is unknown."""
    return "/".join(filter(None, (name_of(one.provider, PROVIDERS), one.model)))


def info_lines(one: v1.SessionInfo) -> list[str]:
    """Return `Session: ID` and the other facts; scripts search for the words before the colon."""
    facts = {
        "Session": one.id,
        "Provider": provider_line(one),
        "Status": name_of(one.status, STATUSES),
        "Name": one.agent_name,
        "Campaign": one.campaign_id,
        "Festival": one.festival_id,
        "Task": one.task_id,
        "Directory": one.working_dir,
        "Tokens": _tokens(one),
        "Process": str(one.pid) if one.pid else "",
        "Restarts": str(one.restart_count) if one.restart_count else "",
        "Created": time_of(one, "created_at"),
        "Started": time_of(one, "started_at"),
        "Last activity": time_of(one, "last_activity_at"),
        "Ended": time_of(one, "ended_at"),
        "Error": one.error_message,
    }
    return [f"{name}: {in_a_line(value)}" for name, value in facts.items() if value]


def _tokens(one: v1.SessionInfo) -> str:
    if not (one.tokens_input or one.tokens_output or one.max_tokens):
        return ""
    limit = f" of {one.max_tokens}" if one.max_tokens else ""
    return f"{one.tokens_input} in, {one.tokens_output} out{limit}"


def activity_lines(one: v1.SessionActivityEvent) -> list[str]:
    """Return the lines for an activity, mostly one; none if it is empty or a change reports the same."""
    tool = tool_called(one.tool_name)
    match one.type:
        case v1.ACTIVITY_TYPE_THINKING:
            return [f"· {one_line(one.content, _SHOWN)}"] if one.content.strip() else []
        case v1.ACTIVITY_TYPE_TOOL_CALL:
            return [f"→ {tool} {one_line(one.content, _SHOWN)}".rstrip()]
        case v1.ACTIVITY_TYPE_TOOL_RESULT:
            how = "done" if one.tool_success else "failed"
            return [f"← {tool} {how}: {one_line(one.content, _SHOWN)}".rstrip(": ")]
        case v1.ACTIVITY_TYPE_ERROR:
            return [f"! {one_line(one.content, 2 * _SHOWN)}"]
        case v1.ACTIVITY_TYPE_STATUS:
            return prompt_lines(one)
        case _:
            return [one.content.rstrip()] if one.content.strip() else []


def change_line(one: v1.SessionStatusEvent) -> str:
    before, after = name_of(one.previous_status, STATUSES), name_of(one.new_status, STATUSES)
    words = f"{before} → {after}" if before else after
    return f"{words}: {in_a_line(one.message)}" if one.message else words
