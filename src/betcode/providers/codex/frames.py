"""The messages of `codex app-server`, as far as they are used. Unknown fields are ignored.

Every field has a default, so that a line with fewer fields can still be read.
"""

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Raw, Struct, field

from betcode.wire import Malformed, repair

NOTHING = Raw(b"null")
_DEEPEST = 200  # levels that are still read when a line is nested beyond measure
_refused = (msgspec.DecodeError, UnicodeDecodeError)
Number = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]  # what can be kept


class RpcError(Struct):
    message: str = ""


class RpcMessage(Struct):
    """One line: a request has an id and a method, an answer only an id, a notification only a method.

    The ids of Codex's own requests are numbers and begin with 0; ours are texts.
    """

    id: Number | str | None = None
    method: str = ""
    params: Raw = NOTHING
    result: Raw = NOTHING
    error: Raw = NOTHING

    @property
    def refusal(self) -> RpcError | None:
        """Why a request of ours is refused, in whatever shape that is said; None: it is not."""
        return None if self.error == NOTHING else read(self.error, RpcError) or RpcError()


class Thread(Struct):
    id: str = ""


class ThreadAnswer(Struct, rename="camel"):
    """What starting, resuming and forking a thread are answered with."""

    thread: Thread = field(default_factory=Thread)
    model: str = ""
    cwd: str = ""


class ModelInfo(Struct, rename="camel"):
    id: str = ""
    hidden: bool = False


class Models(Struct):
    data: list[ModelInfo] = field(default_factory=list)


class TurnError(Struct, rename="camel"):
    message: str = ""
    codex_error_info: Raw = NOTHING  # a word, or an object with one key
    additional_details: str | None = None


class Turn(Struct, rename="camel"):
    id: str = ""
    status: str = ""
    error: TurnError | None = None
    duration_ms: int | None = None


class TurnAnswer(Struct):
    turn: Turn = field(default_factory=Turn)


class TurnNews(Struct, rename="camel"):
    thread_id: str = ""
    turn: Turn = field(default_factory=Turn)


class PatchKind(Struct):
    type: str = ""
    move_path: str | None = None


class Change(Struct):
    path: str = ""
    kind: PatchKind = field(default_factory=PatchKind)
    diff: str = ""


class TextPart(Struct):
    type: str = ""
    text: str = ""


class McpResult(Struct):
    content: list[Raw] = field(default_factory=list)


class McpError(Struct):
    message: str = ""


class Item(Struct, rename="camel"):
    """Anything that a turn consists of; `type` says which of the fields are there."""

    type: str = ""
    id: str = ""
    status: str = ""
    text: str = ""
    summary: list[str] = field(default_factory=list)
    content: list[Raw] = field(default_factory=list)
    command: str = ""
    cwd: str = ""
    aggregated_output: str | None = None
    exit_code: int | None = None
    duration_ms: int | None = None
    changes: list[Change] = field(default_factory=list)
    server: str = ""
    tool: str = ""
    namespace: str | None = None
    arguments: Raw = NOTHING
    result: Raw = NOTHING
    error: McpError | None = None
    content_items: list[TextPart] | None = None
    success: bool | None = None
    query: str = ""
    path: str = ""
    prompt: str | None = None
    receiver_thread_ids: list[str] = field(default_factory=list)


class ItemNews(Struct, rename="camel"):
    item: Item = field(default_factory=Item)
    thread_id: str = ""
    turn_id: str = ""


class Delta(Struct, rename="camel"):
    thread_id: str = ""
    turn_id: str = ""
    item_id: str = ""
    delta: str = ""
    summary_index: int = 0
    content_index: int = 0


class Tokens(Struct, rename="camel"):
    total_tokens: int = 0
    input_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_input_tokens: int = 0
    output_tokens: int = 0


class TokenUsage(Struct, rename="camel"):
    total: Tokens = field(default_factory=Tokens)
    last: Tokens = field(default_factory=Tokens)
    model_context_window: int | None = None


class UsageNews(Struct, rename="camel"):
    thread_id: str = ""
    token_usage: TokenUsage = field(default_factory=TokenUsage)


class ErrorNews(Struct, rename="camel"):
    thread_id: str = ""
    turn_id: str = ""
    error: TurnError = field(default_factory=TurnError)
    will_retry: bool = False


class PlanStep(Struct):
    step: str = ""
    status: str = ""


class PlanNews(Struct, rename="camel"):
    thread_id: str = ""
    plan: list[PlanStep] = field(default_factory=list)


class Resolved(Struct, rename="camel"):
    request_id: int | str = ""


class Warned(Struct):
    message: str = ""


class Rerouted(Struct, rename="camel"):
    from_model: str = ""
    to_model: str = ""


class McpStatus(Struct):
    name: str = ""
    status: str = ""


class NetworkContext(Struct):
    host: str = ""
    protocol: str = ""


class Approval(Struct, rename="camel"):
    """A command or a patch that Codex wants to be allowed."""

    thread_id: str = ""
    turn_id: str = ""
    item_id: str = ""
    kind: str = ""
    command: str | None = None
    cwd: str | None = None
    reason: str | None = None
    network_approval_context: NetworkContext | None = None


class FormMeta(Struct):
    codex_approval_kind: str = ""
    tool_params: Raw = NOTHING
    tool_description: str | None = None


class Form(Struct, rename="camel"):
    """A form of a tool server; or, with an approval's kind, Codex's own question whether a tool of it may be used."""

    server_name: str = ""
    message: str = ""
    meta: FormMeta | None = field(default=None, name="_meta")


class Option(Struct):
    label: str = ""
    description: str = ""


class UserQuestion(Struct, rename="camel"):
    id: str = ""
    header: str = ""
    question: str = ""
    is_secret: bool = False
    options: list[Option] | None = None


class Questions(Struct):
    questions: list[UserQuestion] = field(default_factory=list)


class _Listed(Struct):
    questions: Raw = NOTHING


# What we say ourselves, read back from the journal.


class RequestParams(Struct, rename="camel"):
    """The parameters of a request of ours, as far as their effect depends on them."""

    thread_id: str = ""
    collaboration_mode: "CollaborationMode | None" = None


class CollaborationMode(Struct):
    mode: str = ""


_message: Callable[[bytes], RpcMessage] = msgspec.json.Decoder(RpcMessage, strict=False).decode
_Read = TypeVar("_Read")


def decode(line: bytes) -> RpcMessage | Malformed:
    """What the line is. Never raises: what cannot be read is tried again with repaired text."""
    reason = "no JSON"
    for mend in (_as_it_is, repair.whole_characters, repair.plain_json, lambda text: repair.shallow(text, _DEEPEST)):
        try:
            return _message(mend(line))
        except RecursionError:
            reason = "nested too deeply"
        except (*_refused, ValueError) as refusal:
            reason = str(refusal)
    return Malformed(line, reason)


def read(part: Raw, kind: type[_Read]) -> _Read | None:
    """A part of a message; None where it is something else."""
    try:
        return msgspec.json.decode(part, type=kind, strict=False)
    except (*_refused, RecursionError):
        return None


def plain(part: Raw) -> Any:
    """A part as Python has it; None where it cannot be read."""
    return read(part, object)


def questions_in(params: Raw) -> bytes:
    """The questions in Codex's own words, as an object."""
    listed = read(params, _Listed)
    return b'{"questions":%b}' % (bytes(listed.questions) if listed is not None else b"[]")


def _as_it_is(line: bytes) -> bytes:
    return line
