"""The searchable documents of a history: settled messages, tool results and people's messages, each bounded."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from betcode.domain.events.event_table import EventTable
from betcode.domain.values.identifiers import Seq, SessionId
from betcode.v1.agent_pb2 import AgentEvent

DOCUMENT_CHARACTERS = 32 * 1024  # of each text; the rest is not searched


class Speaker(StrEnum):
    USER = "user"
    AGENT = "agent"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class Document:
    speaker: Speaker
    text: str


def document_of(event: AgentEvent) -> Document | None:
    """Return the document of an event; None if it is not searched, such as text that is still streaming."""
    read = SEARCHED.handler(event)
    if read is None:
        return None
    speaker, text = read(event)
    return Document(speaker, text[:DOCUMENT_CHARACTERS]) if text.strip() else None


def _text(event: AgentEvent) -> tuple[Speaker, str]:
    return Speaker.AGENT, event.text_delta.text if event.text_delta.is_complete else ""


def _tool_result(event: AgentEvent) -> tuple[Speaker, str]:
    return Speaker.TOOL, event.tool_call_result.output


def _user_input(event: AgentEvent) -> tuple[Speaker, str]:
    return Speaker.USER, event.user_input.content


SEARCHED: EventTable[Callable[[AgentEvent], tuple[Speaker, str]]] = EventTable(
    "search",
    {"text_delta": _text, "tool_call_result": _tool_result, "user_input": _user_input},
    ignored=frozenset(
        # Inputs of tools may be whole files, and a hit in one is of little use without its result.
        {"tool_call_start", "permission_request", "permission_reminder", "permission_resolved", "user_question"}
        # Not the conversation, but its state or a notice about it.
        | {"todo_update", "plan_mode", "status_change", "session_info", "error", "usage", "turn_complete"}
        | {"deprecation", "message_state", "input_lock", "presence", "gap", "compaction", "notice"}
        # The agent repeats the result of its thoughts in its answer.
        | {"thinking_delta"}
    ),
)
SEARCHED_KINDS = tuple(AgentEvent.DESCRIPTOR.fields_by_name[name].number for name in SEARCHED.handlers)


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """Every word and every "quoted phrase" must occur in a document; word* matches a prefix."""

    query: str
    session: SessionId | None = None  # None: all sessions
    limit: int = 20
    offset: int = 0


@dataclass(frozen=True, slots=True)
class SearchHit:
    session: SessionId
    session_name: str
    seq: Seq
    at_ns: int
    speaker: Speaker
    excerpt: str


@dataclass(frozen=True, slots=True)
class SearchPage:
    """Hits of the session begun last first, in each the newest first."""

    hits: tuple[SearchHit, ...] = ()
    total: int = 0  # counted to a bound
    complete: bool = True  # False: the index has not read all history yet
