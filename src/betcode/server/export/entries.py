"""A history as people read it: entries with a heading, whatever file they end up in."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from betcode.v1 import agent_pb2 as v1

_UNSETTLED_CHARACTERS = 1024 * 1024  # of a text that was never settled
_Key = tuple[str, int]


class Kind(StrEnum):
    USER = "user"
    AGENT = "agent"
    TOOL = "tool"
    RESULT = "result"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Entry:
    kind: Kind
    heading: str
    text: str
    at: str  # the time, or nothing


class Entries:
    """Settled texts replace what streamed before them; what was never settled is shown as cut short."""

    def __init__(self) -> None:
        self._streaming: dict[_Key, list[str]] = {}
        self._streamed = 0  # characters in all of them
        self._tools: dict[str, str] = {}

    def of(self, event: v1.AgentEvent) -> Iterator[Entry]:
        """The entries that an event completes; mostly one or none."""
        at = time_of(event)
        match event.WhichOneof("event"):
            case "text_delta":
                yield from self._text(event.text_delta, at)
            case "user_input":
                said = event.user_input
                files = "".join(f"\n[{name}]" for name in _files(said))
                yield Entry(Kind.USER, "User", said.content + files, at)
            case "tool_call_start":
                started = event.tool_call_start
                self._tools[started.tool_id] = started.tool_name
                yield Entry(Kind.TOOL, f"Tool: {started.tool_name}", started.input_json or started.description, at)
            case "tool_call_result":
                result = event.tool_call_result
                name = self._tools.pop(result.tool_id, "tool")
                ending = "failed" if result.is_error else "result"
                yield Entry(Kind.RESULT, f"{name}: {ending}", result.output, at)
            case "turn_complete":
                yield from self.rest()
                reason = event.turn_complete.stop_reason
                if reason not in ("", "end_turn"):
                    yield Entry(Kind.NOTE, "The turn ended", reason, at)
            case _:
                if note := _note(event):
                    yield Entry(Kind.NOTE, *note, at)

    def rest(self) -> Iterator[Entry]:
        """What was said and never settled: its turn was broken off."""
        for pieces in self._streaming.values():
            yield Entry(Kind.AGENT, "Agent (cut short)", "".join(pieces), "")
        self._streaming.clear()
        self._streamed = 0

    def _text(self, said: v1.TextDelta, at: str) -> Iterator[Entry]:
        key = (said.message_id, said.block)
        if said.is_complete:
            self._streamed -= sum(map(len, self._streaming.pop(key, ())))
            if said.text.strip():
                heading = "Agent (cut short)" if said.is_partial else "Agent"
                yield Entry(Kind.AGENT, heading, said.text, at)
        elif self._streamed < _UNSETTLED_CHARACTERS:
            self._streaming.setdefault(key, []).append(said.text)
            self._streamed += len(said.text)


def _note(event: v1.AgentEvent) -> tuple[str, str] | None:
    match event.WhichOneof("event"):
        case "error":
            return "Error", event.error.message
        case "gap":
            return "Something is missing here", event.gap.reason
        case "notice":
            return "Note", event.notice.message
        case "permission_request":
            return "Permission asked", f"{event.permission_request.tool_name} {event.permission_request.description}"
        case "permission_resolved":
            resolved = event.permission_resolved
            decision = v1.PermissionDecision.Name(resolved.decision) if resolved.decision else ""
            told = (
                resolved.resolution,
                decision,
                resolved.grant_pattern,
                resolved.updated_input_json,
                resolved.message,
            )
            return "Permission", " ".join(filter(None, told))
        case "user_question":
            return "Question", event.user_question.question
        case "compaction":
            cleared = event.compaction.new_conversation_id
            return "Note", "The conversation was cleared" if cleared else "The conversation was compacted"
        case _:
            return None


def _files(said: v1.UserInput) -> list[str]:
    if not said.stored_attachments:
        return list(said.attachments)
    return [f"{file.filename}, {file.mime_type}, {file.size_bytes:,} bytes" for file in said.stored_attachments]


def time_of(event: v1.AgentEvent) -> str:
    """When it was said, to the second; nothing where it is not known."""
    if not event.timestamp.seconds:
        return ""
    try:
        return datetime.fromtimestamp(event.timestamp.seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return ""


def title_of(session: v1.SessionSummary) -> str:
    return session.name or f"Session {session.id}"


def facts_of(session: v1.SessionSummary) -> dict[str, str]:
    """What stands above the conversation."""
    cost = f"${session.total_cost_usd:.4f}" if session.total_cost_usd else ""
    facts = {
        "Session": session.id,
        "Agent": " ".join(filter(None, (session.provider, session.model))),
        "Directory": session.working_directory,
        "Created": session.created_at.ToJsonString(),
        "Changed": session.updated_at.ToJsonString(),
        "Messages": str(session.message_count),
        "Cost": cost,
    }
    return {name: value for name, value in facts.items() if value}
