"""The history as entries with a heading, for every export format that people read."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from betcode.domain.events.event_table import EventTable
from betcode.v1 import agent_pb2 as v1

_UNSETTLED_CHARACTERS = 1024 * 1024  # of a text that was never settled
_Key = tuple[str, int]
_TODO_MARKS = {v1.IN_PROGRESS: "-", v1.COMPLETED: "x"}
# States of a message that the agent did not answer, or perhaps did not.
_LOST_MESSAGES = {
    v1.MESSAGE_STATE_CANCELLED: "The message was cancelled",
    v1.MESSAGE_STATE_UNKNOWN: "Whether the agent received the message is unknown",
}


class EntryKind(StrEnum):
    USER = "user"
    AGENT = "agent"
    TOOL = "tool"
    RESULT = "result"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    kind: EntryKind
    heading: str
    text: str
    at: str  # the time, or empty


class HistoryEntries:
    """The entries of a history. Settled texts replace streamed ones; a text that was never settled is shown as
    truncated.
    """

    def __init__(self) -> None:
        self._streaming: dict[_Key, list[str]] = {}
        self._streamed = 0  # characters in all of them
        self._tools: dict[str, str] = {}

    def of(self, event: v1.AgentEvent) -> Iterator[HistoryEntry]:
        """The entries that an event completes; mostly one or none."""
        handler = READABLE.handler(event)
        if handler is not None:
            yield from handler(self, event, time_of(event))

    def rest(self) -> Iterator[HistoryEntry]:
        """Return the texts that were never settled, because their turn was interrupted."""
        for pieces in self._streaming.values():
            yield HistoryEntry(EntryKind.AGENT, "Agent (cut short)", "".join(pieces), "")
        self._streaming.clear()
        self._streamed = 0

    def _text(self, event: v1.AgentEvent, at: str) -> Iterator[HistoryEntry]:
        text = event.text_delta
        key = (text.message_id, text.block)
        if text.is_complete:
            self._streamed -= sum(map(len, self._streaming.pop(key, ())))
            if text.text.strip():
                heading = "Agent (cut short)" if text.is_partial else "Agent"
                yield HistoryEntry(EntryKind.AGENT, heading, text.text, at)
        elif self._streamed < _UNSETTLED_CHARACTERS:
            self._streaming.setdefault(key, []).append(text.text)
            self._streamed += len(text.text)

    def _user_input(self, event: v1.AgentEvent, at: str) -> Iterator[HistoryEntry]:
        files = "".join(f"\n[{name}]" for name in _files(event.user_input))
        yield HistoryEntry(EntryKind.USER, "User", event.user_input.content + files, at)

    def _tool_start(self, event: v1.AgentEvent, at: str) -> Iterator[HistoryEntry]:
        started = event.tool_call_start
        self._tools[started.tool_id] = started.tool_name
        yield HistoryEntry(EntryKind.TOOL, f"Tool: {started.tool_name}", started.input_json or started.description, at)

    def _tool_result(self, event: v1.AgentEvent, at: str) -> Iterator[HistoryEntry]:
        result = event.tool_call_result
        name = self._tools.pop(result.tool_id, "tool")
        ending = "failed" if result.is_error else "result"
        yield HistoryEntry(EntryKind.RESULT, f"{name}: {ending}", result.output, at)

    def _turn_complete(self, event: v1.AgentEvent, at: str) -> Iterator[HistoryEntry]:
        yield from self.rest()
        reason = event.turn_complete.stop_reason
        if reason not in ("", "end_turn"):
            yield HistoryEntry(EntryKind.NOTE, "The turn ended", reason, at)

    def _plan(self, event: v1.AgentEvent, at: str) -> Iterator[HistoryEntry]:
        mode = event.plan_mode
        if mode.plan:
            yield HistoryEntry(EntryKind.AGENT, "Plan", mode.plan, at)
        else:
            yield HistoryEntry(EntryKind.NOTE, "Note", "Plan mode is on" if mode.active else "Plan mode is off", at)

    def _todo(self, event: v1.AgentEvent, at: str) -> Iterator[HistoryEntry]:
        lines = [f"- [{_TODO_MARKS.get(item.status, ' ')}] {item.subject}" for item in event.todo_update.items]
        if lines:
            yield HistoryEntry(EntryKind.AGENT, "To do", "\n".join(lines), at)

    def _note(self, event: v1.AgentEvent, at: str) -> Iterator[HistoryEntry]:
        note = _NOTES[event.WhichOneof("event") or ""](event)
        if note is not None:
            yield HistoryEntry(EntryKind.NOTE, *note, at)


_Note = tuple[str, str]  # heading and text


def _permission_request(event: v1.AgentEvent) -> _Note:
    return "Permission asked", f"{event.permission_request.tool_name} {event.permission_request.description}"


def _permission_resolved(event: v1.AgentEvent) -> _Note:
    resolved = event.permission_resolved
    decision = v1.PermissionDecision.Name(resolved.decision) if resolved.decision else ""
    parts = (resolved.resolution, decision, resolved.grant_pattern, resolved.updated_input_json, resolved.message)
    return "Permission", " ".join(filter(None, parts))


def _compaction(event: v1.AgentEvent) -> _Note:
    cleared = event.compaction.new_conversation_id
    return "Note", "The conversation was cleared" if cleared else "The conversation was compacted"


def _message_state(event: v1.AgentEvent) -> _Note | None:
    heading = _LOST_MESSAGES.get(event.message_state.state)
    return (heading, event.message_state.reason) if heading else None


_NOTES: Mapping[str, Callable[[v1.AgentEvent], _Note | None]] = {
    "error": lambda event: ("Error", event.error.message),
    "gap": lambda event: ("A part of the history is missing here", event.gap.reason),
    "notice": lambda event: ("Note", event.notice.message),
    "permission_request": _permission_request,
    "permission_resolved": _permission_resolved,
    "user_question": lambda event: ("Question", event.user_question.question),
    "compaction": _compaction,
    "message_state": _message_state,
}
READABLE: EventTable[Callable[[HistoryEntries, v1.AgentEvent, str], Iterator[HistoryEntry]]] = EventTable(
    "the Markdown and HTML export",
    {
        "text_delta": HistoryEntries._text,
        "user_input": HistoryEntries._user_input,
        "tool_call_start": HistoryEntries._tool_start,
        "tool_call_result": HistoryEntries._tool_result,
        "turn_complete": HistoryEntries._turn_complete,
        "plan_mode": HistoryEntries._plan,
        "todo_update": HistoryEntries._todo,
        **dict.fromkeys(_NOTES, HistoryEntries._note),
    },
    ignored=frozenset(
        {"thinking_delta"}  # readers need the answer; the JSON export has the thoughts
        | {"status_change", "session_info", "usage"}  # the summary above the conversation has the totals
        | {"permission_reminder"}  # repeats a request that is in the export
        | {"input_lock", "presence", "deprecation"}  # about the clients, not about the conversation
    ),
)


def _files(text: v1.UserInput) -> list[str]:
    if not text.stored_attachments:
        return list(text.attachments)
    return [f"{file.filename}, {file.mime_type}, {file.size_bytes:,} bytes" for file in text.stored_attachments]


def time_of(event: v1.AgentEvent) -> str:
    """Return the time to the second; empty if unknown."""
    if not event.timestamp.seconds:
        return ""
    try:
        return datetime.fromtimestamp(event.timestamp.seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return ""


def title_of(session: v1.SessionSummary) -> str:
    return session.name or f"Session {session.id}"


def facts_of(session: v1.SessionSummary) -> dict[str, str]:
    """Return the facts above the conversation."""
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
