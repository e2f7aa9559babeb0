"""What of a history can be searched: settled messages, tool results and what people said, each a bounded document."""

from dataclasses import dataclass
from enum import StrEnum

from betcode.domain.identifiers import Seq, SessionId
from betcode.v1.agent_pb2 import AgentEvent

DOCUMENT_CHARACTERS = 32 * 1024  # of each text; what comes after is not found
SEARCHED_KINDS = tuple(
    AgentEvent.DESCRIPTOR.fields_by_name[name].number for name in ("text_delta", "tool_call_result", "user_input")
)


class Speaker(StrEnum):
    USER = "user"
    AGENT = "agent"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class Document:
    speaker: Speaker
    text: str


def document_of(event: AgentEvent) -> Document | None:
    """The document that an event is; None for all that is not searched, such as text that is still streaming."""
    match event.WhichOneof("event"):
        case "user_input":
            speaker, text = Speaker.USER, event.user_input.content
        case "tool_call_result":
            speaker, text = Speaker.TOOL, event.tool_call_result.output
        case "text_delta" if event.text_delta.is_complete:
            speaker, text = Speaker.AGENT, event.text_delta.text
        case _:
            return None
    return Document(speaker, text[:DOCUMENT_CHARACTERS]) if text.strip() else None


@dataclass(frozen=True, slots=True)
class SearchQuestion:
    """Every word and every "quoted phrase" must occur in a document; a word* is the beginning of one."""

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
