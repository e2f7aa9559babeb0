"""The state of a dialogue between two records, stored with the journal's offset."""

from msgspec import Struct, field

from betcode.providers.stored_state import StoredState, keep

VERSION = 1

_OPEN_TOOLS = 256


class Todo(Struct, array_like=True):
    subject: str
    status: int = 1


class OpenTool(Struct, array_like=True):
    """A tool that was announced; its start is said once its input is there."""

    began_ns: int  # monotonic
    name: str = ""  # as it was said; empty: its start is still to be said
    kind: str = ""
    title: str = ""
    own_name: str = ""
    has_known_name: bool = False  # by which rules know it
    denied: bool = False
    input: str = ""
    paths: list[str] = field(default_factory=list)
    output: str = ""
    exit_code: int | None = None


class Stream(Struct, array_like=True):
    """The block of text that is being said. The protocol never says it whole, so that it is put together here."""

    message_id: str
    own_id: str  # the agent's own for it; empty: it has none
    block: int
    thinking: bool
    text: str = ""


class OpenRequest(Struct, array_like=True):
    key: str  # the agent's own id of it, as JSON
    tool_id: str = ""
    allow: str = ""  # the option to choose
    reject: str = ""


class SetupStep(Struct, array_like=True):
    """Something to be told to the agent before it can work."""

    name: str  # by which its answer is known
    method: str
    params: dict[str, str]


class Tokens(Struct, array_like=True):
    input: int = 0
    output: int = 0
    cached_read: int = 0
    cached_write: int = 0
    cost_usd: float = 0.0


class State(Struct, omit_defaults=True):
    # Of the conversation: kept when a new process goes on with it.
    conversation_id: str = ""
    began: bool = False  # and can be taken up again
    served: bool = False  # a turn of it has ended
    model: str = ""
    info: str = ""  # what SessionInfo last said
    commands: str = ""  # which commands were last told
    context_percent: float = 0.0
    total_cost: float = 0.0
    todos: list[Todo] = field(default_factory=list)
    plan_mode: bool = False
    settled: list[str] = field(default_factory=list)  # messages that are consumed
    takes_images: bool | None = None  # None: it has not said yet
    takes_files: bool | None = None

    # Of the greeting.
    cwd: str = ""
    resume: bool = False
    continue_turn: bool = False
    wants_plan: bool = False
    greeted: bool = False  # the opening has been given
    understood: bool = False  # and answered
    can_load: bool = False
    can_resume: bool = False
    logins: list[str] = field(default_factory=list)  # ways to log in, in the agent's words
    opening: bool = False  # a session is being opened
    loading: bool = False  # the agent says again what was said before
    opened: bool = False
    steps: list[SetupStep] = field(default_factory=list)  # that are still to be taken
    trouble: str = ""  # why the greeting failed: what a person can do
    is_gone: bool = False  # the agent does not know the conversation

    # Of the process.
    asked: dict[str, str] = field(default_factory=dict)  # our requests that are not answered: method by id
    takes_input: bool = False
    status: int = 0
    turn: bool = False
    own_turn: bool = False  # which the agent began by itself
    turn_id: str = ""
    turn_key: str = ""  # the id of its prompt, as JSON
    turn_began_ns: int = 0  # monotonic
    turn_failed: bool = False
    message: str = ""  # that the turn answers
    waiting: dict[str, str] = field(default_factory=dict)  # prompts that came during a turn of its own: message by id
    interrupted: bool = False
    denied: bool = False  # a person said no in this turn
    messages: int = 0  # that have no id of the agent's, in this turn
    stream: Stream | None = None
    last_message: str = ""
    last_block: int = 0
    tools: dict[str, OpenTool] = field(default_factory=dict)
    ended: list[str] = field(default_factory=list)  # tools
    directories: dict[str, str] = field(default_factory=dict)  # in which a tool is used
    requests: dict[str, OpenRequest] = field(default_factory=dict)
    cancelling: dict[str, str] = field(default_factory=dict)  # requests to be answered as cancelled: own id by errand
    refused: dict[str, list[str]] = field(default_factory=dict)  # and to be refused: own id and reason by errand
    stop_after: str = ""  # an answer behind which the turn is to be cancelled
    used: Tokens = field(default_factory=Tokens)  # in this turn, as our own programs say it
    has_usage: bool = False
    cost: float = 0.0  # of the whole conversation, as the agent last said it
    context_tokens: int = 0
    context_size: int = 0
    pause: str = ""
    pause_until_ns: int = 0
    has_spoken: bool = False
    bad_lines: int = 0  # in a row
    errors: list[str] = field(default_factory=list)
    error_notices: int = 0
    lost: bool = False  # what came before is not known; taken up again at the next turn


_STORED = StoredState(State, VERSION)
dump, load = _STORED.dump, _STORED.load


def carried_over(state: State) -> State:
    """What a new process of the same conversation starts from: nothing is open, and nothing told is told again."""
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
