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
    """The answer to one open request; `input_json` is the agent's own text, sent back as it came, or what a person
    put in its place."""

    request_id: str
    behaviour: Behaviour
    input_json: str
    message: str = ""  # with a denial: what the agent is told
    interrupt: bool = False  # with a denial: the turn ends


@dataclass(frozen=True, slots=True)
class AnswerQuestions:
    """The answers to all questions of one request, by question text; several chosen options are a tuple."""

    request_id: str
    input_json: str
    answers: Mapping[str, str | tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Interrupt:
    """Stop the open turn; the process stays."""

    request_id: str
    cancel_queued: bool = False


@dataclass(frozen=True, slots=True)
class WithdrawMessage:
    """Let go of a message that the agent has queued and not begun with."""

    request_id: str
    message_id: str


@dataclass(frozen=True, slots=True)
class ScreenCalls:
    """From now on the agent asks before every use of a tool, whatever its own rules say."""

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
    """Tell the agent that we do not know what it asked, so that it does not wait for ever."""

    request_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class CompactContext:
    """Summarise the conversation so far, and go on with the summary in its place."""

    request_id: str


@dataclass(frozen=True, slots=True)
class Errand:
    """A line that a dialogue itself wants said: a step of a greeting, an answer that needs nobody, a tidying up."""

    errand_id: str  # told apart by it within one run
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
