"""Claude's stream-json frames, with the fields that are used here; all others are ignored.

Every field but an identifying one has a default: a frame of another release that lacks a field is still decoded.
"""

from typing import ClassVar

from msgspec import Raw, Struct, field

EMPTY_OBJECT = Raw(b"{}")
EMPTY_LIST = Raw(b"[]")


class Part(Struct, gc=False):
    """One piece of a tool's result, or of a user message."""

    type: str = ""
    text: str = ""
    tool_name: str = ""


class Block(Struct):
    """A content block, of an assistant's message or a user's."""

    type: str = ""
    text: str = ""
    thinking: str = ""
    id: str = ""
    name: str = ""
    input: Raw = EMPTY_OBJECT  # stored as text: a decoded value would not reproduce the agent's own text
    tool_use_id: str = ""
    content: str | list[Part] | None = None
    is_error: bool | None = None


class ApiUsage(Struct, gc=False):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0


class Message(Struct):
    id: str = ""
    model: str = ""
    content: str | list[Block] = ""
    stop_reason: str | None = None
    usage: ApiUsage | None = None


# ---------------------------------------------------------------- stream_event


class Delta(Struct, gc=False):
    type: str = ""
    text: str = ""
    thinking: str = ""
    stop_reason: str | None = None


class StartedBlock(Struct, gc=False):
    type: str = ""


class StartedMessage(Struct):
    id: str = ""
    model: str = ""
    usage: ApiUsage | None = None


class ApiEvent(Struct):
    """An event of the model's own stream."""

    type: str
    index: int = 0
    delta: Delta | None = None
    content_block: StartedBlock | None = None
    message: StartedMessage | None = None
    usage: ApiUsage | None = None


class Abandoned(Struct, gc=False):
    from_block_index: int = 0


class StreamEvent(Struct, tag="stream_event"):
    event: ApiEvent
    parent_tool_use_id: str | None = None
    abandoned_blocks: Abandoned | None = None


# ---------------------------------------------------------------- whole messages and results


class LocalCommand(Struct, gc=False):
    """A slash command that the agent ran itself, without the model."""

    command: str = ""
    args: str = ""


class Assistant(Struct, tag="assistant"):
    message: Message
    parent_tool_use_id: str | None = None
    uuid: str = ""
    error: str | None = None
    is_api_error_message: bool = False
    api_error_status: int | None = None
    api_error_type: str | None = None
    aborted: bool = False
    local_command_source: str | None = None
    local_command_run: LocalCommand | None = None


class User(Struct, tag="user"):
    """Tool results, and messages in the user's name; as an input, a person's message."""

    message: Message = field(default_factory=Message)
    parent_tool_use_id: str | None = None
    uuid: str = ""
    tool_use_result: Raw = EMPTY_OBJECT
    tool_result_meta: Raw = EMPTY_LIST
    is_replay: bool = field(default=False, name="isReplay")
    is_synthetic: bool = field(default=False, name="isSynthetic")


class ModelUsage(Struct, gc=False):
    input_tokens: int = field(default=0, name="inputTokens")
    output_tokens: int = field(default=0, name="outputTokens")
    cache_read_tokens: int = field(default=0, name="cacheReadInputTokens")
    cache_creation_tokens: int = field(default=0, name="cacheCreationInputTokens")
    cost_usd: float = field(default=0.0, name="costUSD")
    context_window: int = field(default=0, name="contextWindow")


class Origin(Struct, gc=False):
    kind: str = ""


class Result(Struct, tag="result"):
    """The end of a turn."""

    subtype: str = ""
    is_error: bool = False
    terminal_reason: str | None = None
    stop_reason: str | None = None
    api_error_status: int | None = None
    api_error_type: str | None = None
    result: str = ""
    errors: list[str] = field(default_factory=list)
    duration_ms: float = 0
    num_turns: int = 0
    total_cost_usd: float = 0.0
    usage: ApiUsage | None = None
    model_usage: dict[str, ModelUsage] = field(default_factory=dict, name="modelUsage")
    model_usage_since_last_result: dict[str, ModelUsage] | None = None
    user_message_uuids: list[str] = field(default_factory=list)
    user_message_uuid: str | None = None
    origin: Origin | None = None
    session_id: str = ""
    local_command: str | None = None


# ---------------------------------------------------------------- control


class Asked(Struct):
    """A request of the agent to its host."""

    subtype: str = ""
    tool_name: str = ""
    input: Raw = EMPTY_OBJECT
    description: str | None = None
    decision_reason: str | None = None
    permission_suggestions: list[Raw] | None = None
    tool_use_id: str = ""
    requires_user_interaction: bool = False
    hooks: Raw = EMPTY_OBJECT  # our own: what it is to show
    message_uuid: str = ""  # ours: the message to let go of
    is_exact: bool = field(default=True, name="betcode:exact")  # ours: `input` is the agent's own text
    own_text: Raw = field(default=Raw(), name="betcode:own")  # ours: that text, where `input` is not


class ControlRequest(Struct, tag="control_request"):
    request_id: str = ""
    request: Asked = field(default_factory=Asked)


class ControlCancel(Struct, tag="control_cancel_request"):
    request_id: str = ""


class Behaviour(Struct):
    behavior: str = ""
    commands: Raw = EMPTY_LIST  # those that it knows, in answer to a greeting
    cancelled: Raw = EMPTY_LIST  # true or false of one message, a list of ids after an interrupt


class ControlAnswer(Struct):
    subtype: str = ""
    request_id: str = ""
    response: Behaviour | None = None


class ControlResponse(Struct, tag="control_response"):
    response: ControlAnswer = field(default_factory=ControlAnswer)


class CommandLifecycle(Struct, tag="command_lifecycle", gc=False):
    command_uuid: str = ""
    state: str = ""


class ConversationReset(Struct, tag="conversation_reset", gc=False):
    new_conversation_id: str = ""
    trigger: str = ""


class RateLimits(Struct, gc=False):
    status: str = ""
    resets_at: float | None = field(default=None, name="resetsAt")
    kind: str | None = field(default=None, name="rateLimitType")
    uses_overage: bool = field(default=False, name="isUsingOverage")  # paid for separately: it continues


class RateLimit(Struct, tag="rate_limit_event"):
    rate_limit_info: RateLimits = field(default_factory=RateLimits)


class PassedOver(Struct, tag="tool_progress", gc=False):
    """A sign of life without new information."""


class KeepAlive(Struct, tag="keep_alive", gc=False):
    """Nothing but a sign of life."""


# ---------------------------------------------------------------- system, distinguished by its subtype


class System(Struct, tag="system", gc=False):
    """Which of the system frames a line is."""

    subtype: str = ""


class McpServer(Struct, gc=False):
    name: str = ""
    status: str = ""


class Init(Struct):
    subtype: ClassVar[str] = "init"
    session_id: str = ""
    cwd: str = ""
    model: str = ""
    tools: list[str] = field(default_factory=list)
    mcp_servers: list[McpServer] = field(default_factory=list)
    slash_commands: Raw = EMPTY_LIST  # their names
    permission_mode: str | None = field(default=None, name="permissionMode")


class Status(Struct):
    subtype: ClassVar[str] = "status"
    status: str | None = None
    permission_mode: str | None = field(default=None, name="permissionMode")
    compact_result: str | None = None
    compact_error: str | None = None


class ApiRetry(Struct):
    subtype: ClassVar[str] = "api_retry"
    attempt: int = 0
    max_retries: int = 0
    retry_delay_ms: float = 0
    error_status: int | None = None
    error: str | None = None


class Task(Struct):
    """A subagent or a shell command that runs in the background."""

    task_id: str = ""
    description: str = ""
    task_type: str = ""


class BackgroundTasks(Struct):
    subtype: ClassVar[str] = "background_tasks_changed"
    tasks: list[Task] = field(default_factory=list)


class TaskStarted(Struct):
    subtype: ClassVar[str] = "task_started"
    task_id: str = ""
    tool_use_id: str = ""
    description: str = ""
    task_type: str = ""
    is_backgrounded: bool = False


class TaskPatch(Struct):
    status: str = ""
    is_backgrounded: bool | None = None


class TaskUpdated(Struct):
    subtype: ClassVar[str] = "task_updated"
    task_id: str = ""
    patch: TaskPatch = field(default_factory=TaskPatch)


class TaskNotification(Struct):
    subtype: ClassVar[str] = "task_notification"
    task_id: str = ""
    tool_use_id: str = ""
    status: str = ""
    summary: str = ""


class CompactMetadata(Struct):
    trigger: str = ""
    pre_tokens: int = 0
    post_tokens: int = 0


class CompactBoundary(Struct):
    subtype: ClassVar[str] = "compact_boundary"
    compact_metadata: CompactMetadata = field(default_factory=CompactMetadata)


class PermissionDenied(Struct):
    subtype: ClassVar[str] = "permission_denied"
    tool_name: str = ""
    tool_use_id: str = ""
    message: str = ""
    decision_reason: str | None = None
    decision_reason_type: str | None = None


class Informational(Struct):
    subtype: ClassVar[str] = "informational"
    content: str = ""
    level: str = ""


TopLevel = (
    StreamEvent
    | Assistant
    | User
    | Result
    | ControlRequest
    | ControlCancel
    | ControlResponse
    | CommandLifecycle
    | ConversationReset
    | RateLimit
    | PassedOver
    | KeepAlive
    | System
)
SystemFrame = (
    Init
    | Status
    | ApiRetry
    | BackgroundTasks
    | TaskStarted
    | TaskUpdated
    | TaskNotification
    | CompactBoundary
    | PermissionDenied
    | Informational
)
Frame = TopLevel | SystemFrame
