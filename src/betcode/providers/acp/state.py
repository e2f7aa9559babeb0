"""The state of a dialogue between two records, stored with the journal's offset."""

from msgspec import Struct, field

from betcode.providers.stored_state import StoredState, keep

VERSION = 1

_OPEN_TOOLS = 256


class Todo(Struct, array_like=True):
    subject: str
    status: int = 1


class OpenTool(Struct, array_like=True):
    """A tool call that was announced. Its start event follows when its input is known."""

    began_ns: int  # monotonic
    name: str = ""  # as in the start event; empty: no start event yet
    kind: str = ""
    title: str = ""
    own_name: str = ""
    has_known_name: bool = False  # `own_name` is a name that rules use
    denied: bool = False
    input: str = ""
    paths: list[str] = field(default_factory=list)
    output: str = ""
    exit_code: int | None = None


class Stream(Struct, array_like=True):
    """The current block of text, assembled here because the protocol never sends a whole block."""

    message_id: str
    own_id: str  # the agent's own message id; empty: none
    block: int
    thinking: bool
    text: str = ""


class OpenRequest(Struct, array_like=True):
    key: str  # the agent's own request id, as JSON
    tool_id: str = ""
    allow: str = ""  # the option to choose
    reject: str = ""


class SetupStep(Struct, array_like=True):
    """A setting to send to the agent before its first prompt."""

    name: str  # the request's id
    method: str
    params: dict[str, str]


class Tokens(Struct, array_like=True):
    input: int = 0
    output: int = 0
    cached_read: int = 0
    cached_write: int = 0
    cost_usd: float = 0.0


class State(Struct, omit_defaults=True):
    # Of the conversation: carried over to the next process.
    conversation_id: str = ""
    began: bool = False  # it has started and can be resumed
    served: bool = False  # at least one of its turns has ended
    model: str = ""
    info: str = ""  # digest of the last SessionInfo
    commands: str = ""  # digest of the commands in the last SessionInfo
    context_percent: float = 0.0
    total_cost: float = 0.0
    todos: list[Todo] = field(default_factory=list)
    plan_mode: bool = False
    settled: list[str] = field(default_factory=list)  # ids of consumed messages
    takes_images: bool | None = None  # None: not reported yet
    takes_files: bool | None = None

    # Of the handshake.
    cwd: str = ""
    resume: bool = False
    continue_turn: bool = False
    wants_plan: bool = False
    greeted: bool = False  # `initialize` was written to the agent
    understood: bool = False  # the agent accepted `initialize`
    can_load: bool = False
    can_resume: bool = False
    logins: list[str] = field(default_factory=list)  # ways to log in, as the agent names them
    opening: bool = False  # a session is being opened
    loading: bool = False  # the agent replays its history
    opened: bool = False
    steps: list[SetupStep] = field(default_factory=list)  # that are still to be done
    trouble: str = ""  # advice if the handshake failed
    is_gone: bool = False  # the agent does not know the conversation

    # Of the process.
    asked: dict[str, str] = field(default_factory=dict)  # our unanswered requests: method by id
    takes_input: bool = False
    status: int = 0
    turn: bool = False
    own_turn: bool = False  # the agent began the turn by itself
    turn_id: str = ""
    turn_key: str = ""  # the id of its prompt, as JSON
    turn_began_ns: int = 0  # monotonic
    turn_failed: bool = False
    message: str = ""  # the message that the turn answers
    waiting: dict[str, str] = field(default_factory=dict)  # prompts during a turn of the agent's own: message by id
    interrupted: bool = False
    denied: bool = False  # a call was denied in this turn
    messages: int = 0  # number of messages without an id of the agent, in this turn
    stream: Stream | None = None
    last_message: str = ""
    last_block: int = 0
    tools: dict[str, OpenTool] = field(default_factory=dict)
    ended: list[str] = field(default_factory=list)  # ids of ended tool calls
    directories: dict[str, str] = field(default_factory=dict)  # in which a tool call runs, by its id
    requests: dict[str, OpenRequest] = field(default_factory=dict)
    cancelling: dict[str, str] = field(default_factory=dict)  # requests to answer as cancelled: key by errand id
    refused: dict[str, list[str]] = field(default_factory=dict)  # requests to refuse: key and reason by errand id
    stop_after: str = ""  # the answered request after which the turn is cancelled
    used: Tokens = field(default_factory=Tokens)  # in this turn, as our own agent programs report it
    has_usage: bool = False
    cost: float = 0.0  # of the whole conversation, as last reported by the agent
    context_tokens: int = 0
    context_size: int = 0
    pause: str = ""
    pause_until_ns: int = 0
    has_spoken: bool = False
    bad_lines: int = 0  # in a row
    errors: list[str] = field(default_factory=list)
    error_notices: int = 0
    lost: bool = False  # the earlier state is unknown; translation resumes at the next turn


_STORED = StoredState(State, VERSION)
dump, load = _STORED.dump, _STORED.load


def carried_over(state: State) -> State:
    """Return the state for the next process of the conversation: nothing is open, and no event is repeated."""
    return State(
        conversation_id=state.conversation_id,
        began=state.began,
        served=state.served,
        model=state.model,
        info=state.info,
        commands=state.commands,
        context_percent=state.context_percent,
        total_cost=state.total_cost,
        todos=state.todos,
        plan_mode=state.plan_mode,
        settled=state.settled,
        takes_images=state.takes_images,
        takes_files=state.takes_files,
    )


def open_tool(state: State, tool_id: str, tool: OpenTool) -> None:
    keep(state.tools, tool_id, tool, _OPEN_TOOLS)
