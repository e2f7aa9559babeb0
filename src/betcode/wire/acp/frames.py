"""Frames of the Agent Client Protocol: the fields that the provider reads, each with a default.

One line is decoded in one pass, whatever it is: a request, a notification or an answer. Updates are one flat structure,
since agents add fields of their own to each kind, and an unknown kind must still be decoded.
"""

import json
import re
from contextlib import suppress
from typing import Annotated

import msgspec
from msgspec import Meta, Raw, Struct, field

NOTHING = Raw(b"")
_PLAIN = re.compile(r'"[\w:. -]*"', re.ASCII)
# A larger number cannot be a real count: it is ignored like any other value of a wrong type.
Count = Annotated[int, Meta(ge=-(2**53), le=2**53)]


class Content(Struct, gc=False):
    """A block of content: text, or a named resource."""

    type: str = ""
    text: str | None = None
    uri: str | None = None
    name: str | None = None


class ToolContent(Struct):
    """The output of a tool: content, a diff of one file, or a terminal."""

    type: str = ""
    content: Content | None = None
    path: str | None = None
    old_text: str | None = field(default=None, name="oldText")
    new_text: str | None = field(default=None, name="newText")


class Location(Struct, gc=False):
    path: str = ""


class PlanEntry(Struct, gc=False):
    content: str = ""
    status: str = ""


class Cost(Struct, gc=False):
    amount: float = 0.0
    currency: str = ""


class CommandInput(Struct, gc=False):
    hint: str | None = None


class AgentCommand(Struct, gc=False):
    name: str = ""
    description: str | None = None
    input: CommandInput | None = None


class Choice(Struct, gc=False):
    value: str = ""
    name: str | None = None
    options: "list[Choice] | None" = None  # of a group


class ConfigOption(Struct):
    id: str = ""
    category: str | None = None
    current_value: Raw = field(default=NOTHING, name="currentValue")  # a text, or true or false
    options: list[Choice] | None = None


class ToolFields(Struct, kw_only=True):
    """The fields of a tool call: all of them, or only the changed ones."""

    tool_call_id: str = field(default="", name="toolCallId")
    title: str | None = None
    kind: str | None = None
    status: str | None = None
    name: str | None = None
    raw_input: Raw = field(default=NOTHING, name="rawInput")
    raw_output: Raw = field(default=NOTHING, name="rawOutput")
    locations: list[Location] | None = None
    meta: Raw = field(default=NOTHING, name="_meta")


class ToolUse(ToolFields, kw_only=True):
    """The use that a request for permission is about."""

    content: list[ToolContent] | None = None


class Update(ToolFields, kw_only=True):
    """The fields of `session/update`; its kind determines which are present."""

    session_update: str = field(default="", name="sessionUpdate")
    message_id: str | None = field(default=None, name="messageId")
    content: Content | list[ToolContent] | None = None
    entries: list[PlanEntry] | None = None
    used: Count | None = None
    size: Count | None = None
    cost: Cost | None = None
    available_commands: list[AgentCommand] | None = field(default=None, name="availableCommands")
    current_mode_id: str | None = field(default=None, name="currentModeId")
    config_options: list[ConfigOption] | None = field(default=None, name="configOptions")


class PermissionOption(Struct, gc=False):
    option_id: str = field(default="", name="optionId")
    name: str | None = None
    kind: str = ""


class Params(Struct, kw_only=True):
    """The parameters of any request or notification, in either direction; including our own extensions."""

    session_id: str = field(default="", name="sessionId")
    update: Update | None = None
    tool_call: ToolUse | None = field(default=None, name="toolCall")
    options: list[PermissionOption] | None = None
    cwd: str = ""
    meta: Raw = field(default=NOTHING, name="_meta")
    # `_betcode/turn`
    state: str = ""
    stop_reason: str = field(default="", name="stopReason")
    error: "Trouble | None" = None
    # `_betcode/usage`
    input_tokens: Count = field(default=0, name="inputTokens")
    output_tokens: Count = field(default=0, name="outputTokens")
    cached_read_tokens: Count = field(default=0, name="cachedReadTokens")
    cached_write_tokens: Count = field(default=0, name="cachedWriteTokens")
    cost_usd: float = field(default=0.0, name="costUsd")
    model: str = ""
    context_tokens: Count = field(default=0, name="contextTokens")
    context_size: Count = field(default=0, name="contextSize")
    # `_betcode/pause`, `_betcode/compaction`, `_betcode/notice`
    kind: str = ""
    until_ms: Count = field(default=0, name="untilMs")
    trigger: str = ""
    tokens_before: Count = field(default=0, name="tokensBefore")
    tokens_after: Count = field(default=0, name="tokensAfter")
    message: str = ""


class Trouble(Struct, kw_only=True):
    """`extensions.Trouble`."""

    kind: str = ""
    message: str = ""
    advice: str = ""
    status: int | None = None
    retry_at_ms: Count = field(default=0, name="retryAtMs")


class RpcError(Struct):
    code: int = 0
    message: str = ""
    data: Raw = NOTHING


class Message(Struct, kw_only=True):
    """Any line: a request has id and method, a notification no id, an answer no method."""

    id: Raw = NOTHING
    method: str = ""
    params: Params | None = None
    result: Raw = NOTHING
    error: RpcError | None = None

    @property
    def key(self) -> str:
        """Return the id as text, so that 0 and "0" differ; empty: there is none.

        A text with several possible spellings is normalized.
        """
        text = bytes(self.id).decode(errors="replace").strip()
        if text.startswith('"') and not _PLAIN.fullmatch(text):
            with suppress(msgspec.DecodeError, UnicodeDecodeError):
                text = json.dumps(msgspec.json.decode(text))
        return "" if text == "null" else text


# ---------------------------------------------------------------- answers


class PromptCapabilities(Struct, gc=False):
    image: bool = False
    embedded_context: bool = field(default=False, name="embeddedContext")


class SessionCapabilities(Struct, gc=False):
    resume: Raw = NOTHING


class AgentCapabilities(Struct):
    load_session: bool = field(default=False, name="loadSession")
    prompt: PromptCapabilities = field(default_factory=PromptCapabilities, name="promptCapabilities")
    session: SessionCapabilities = field(default_factory=SessionCapabilities, name="sessionCapabilities")
    meta: Raw = field(default=NOTHING, name="_meta")


class AuthMethod(Struct, gc=False):
    id: str = ""
    name: str = ""
    description: str | None = None


class AgentInfo(Struct, gc=False):
    name: str = ""
    title: str | None = None
    version: str = ""


class Initialized(Struct):
    protocol_version: int = field(default=0, name="protocolVersion")
    capabilities: AgentCapabilities = field(default_factory=AgentCapabilities, name="agentCapabilities")
    auth_methods: list[AuthMethod] = field(default_factory=list, name="authMethods")
    agent: AgentInfo | None = field(default=None, name="agentInfo")


class Mode(Struct, gc=False):
    id: str = ""


class Modes(Struct):
    current: str = field(default="", name="currentModeId")
    available: list[Mode] = field(default_factory=list, name="availableModes")


class Model(Struct, gc=False):
    id: str = field(default="", name="modelId")


class Models(Struct):
    current: str = field(default="", name="currentModelId")
    available: list[Model] = field(default_factory=list, name="availableModels")


class Opened(Struct):
    """A session that is new, loaded or resumed."""

    session_id: str = field(default="", name="sessionId")
    modes: Modes | None = None
    models: Models | None = None
    config_options: list[ConfigOption] | None = field(default=None, name="configOptions")


class PromptUsage(Struct, gc=False):
    input_tokens: Count = field(default=0, name="inputTokens")
    output_tokens: Count = field(default=0, name="outputTokens")
    total_tokens: Count = field(default=0, name="totalTokens")
    thought_tokens: Count | None = field(default=None, name="thoughtTokens")
    cached_read_tokens: Count | None = field(default=None, name="cachedReadTokens")
    cached_write_tokens: Count | None = field(default=None, name="cachedWriteTokens")


class TokenCount(Struct, gc=False):
    """The token counts that one agent sends with its answer."""

    input_tokens: Count = 0
    output_tokens: Count = 0


class ModelUse(Struct, gc=False):
    model: str = ""


class Quota(Struct):
    token_count: TokenCount | None = None
    model_usage: list[ModelUse] = field(default_factory=list)


class PromptMeta(Struct):
    quota: Quota | None = None


class Prompted(Struct):
    """The answer to a prompt: its turn is over."""

    stop_reason: str = field(default="", name="stopReason")
    usage: PromptUsage | None = None
    meta: PromptMeta | None = field(default=None, name="_meta")


class PermissionOutcome(Struct, gc=False):
    outcome: str = ""
    option_id: str = field(default="", name="optionId")


class PermissionResult(Struct):
    """Our own answer to a request for permission."""

    outcome: PermissionOutcome | None = None
    meta: Raw = field(default=NOTHING, name="_meta")
