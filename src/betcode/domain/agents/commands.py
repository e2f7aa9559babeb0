"""Commands for an agent. A dialogue encodes each as bytes for the agent's stdin."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from betcode.domain.values.identifiers import MessageId


@dataclass(frozen=True, slots=True)
class AttachedFile:
    filename: str
    mime_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class SendMessage:
    """A person's message, under the id that its client made."""

    message_id: MessageId
    content: str
    attachments: tuple[AttachedFile, ...] = ()


class Behaviour(StrEnum):
    ALLOW = "allow"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class AnswerPermission:
    """The answer to one open request; `input_json` is the agent's own text, unchanged, or a person's replacement."""

    request_id: str
    behaviour: Behaviour
    input_json: str
    message: str = ""  # with a denial: the reason for the agent
    interrupt: bool = False  # with a denial: the turn ends


@dataclass(frozen=True, slots=True)
class AnswerQuestions:
    """The answers to all questions of one request, by question text; several chosen options are a tuple."""

    request_id: str
    input_json: str
    answers: Mapping[str, str | tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Interrupt:
    """Stop the open turn; the process continues."""

    request_id: str
    cancel_queued: bool = False


@dataclass(frozen=True, slots=True)
class WithdrawMessage:
    """Let go of a message that the agent has queued and not begun with."""

    request_id: str
    message_id: str


@dataclass(frozen=True, slots=True)
class ScreenCalls:
    """Make the agent ask before every use of a tool, whatever its own rules are."""

    request_id: str


class CallVerdict(StrEnum):
    DENY = "deny"
    ASK = "ask"  # a person is asked, even where the agent would not have
    UNDECIDED = "undecided"  # the agent's own rules decide


@dataclass(frozen=True, slots=True)
class AnswerCall:
    """The answer to a use of a tool that is screened before the agent's own rules are asked."""

    request_id: str
    verdict: CallVerdict
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RefuseRequest:
    """Tell the agent that its request is not supported, so that it does not wait forever."""

    request_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class CompactContext:
    """Summarise the conversation so far, and continue with the summary."""

    request_id: str


@dataclass(frozen=True, slots=True)
class Errand:
    """A line that a dialogue itself sends: a step of a greeting, an automatic answer, a cleanup."""

    errand_id: str  # identifies it within one run
    line: bytes


Command = (
    SendMessage
    | AnswerPermission
    | AnswerQuestions
    | Interrupt
    | WithdrawMessage
    | RefuseRequest
    | CompactContext
    | ScreenCalls
    | AnswerCall
    | Errand
)
