"""The state of a dialogue between two records, stored with the journal's offset."""

from msgspec import Struct, field

from betcode.providers.stored_state import StoredState, keep

VERSION = 1

_OPEN_TOOLS = 256
_PENDING = 256
_PLANNED = 32  # calls of task tools whose outcome is awaited


class Todo(Struct, array_like=True):
    id: str
    subject: str
    description: str = ""
    active_form: str = ""
    status: int = 1


class TodoChange(Struct, array_like=True):
    """What a call of a task tool will have done when it succeeds."""

    kind: str
    items: list[Todo] = field(default_factory=list)


class OpenTool(Struct, array_like=True):
    name: str
    began_ns: int  # monotonic
    parent: str = ""
    todo: TodoChange | None = None
    job: str = ""  # the scheduled job that it deletes


class Stream(Struct, array_like=True):
    """The message whose deltas are coming in."""

    message_id: str
    block: int = -1  # the one that is open
    unsettled: dict[int, bool] = field(default_factory=dict)  # blocks shown by deltas only; True: thinking


class OpenRequest(Struct, array_like=True):
    tool_use_id: str
    needs_person: bool = False


class Job(Struct, array_like=True):
    """Something the agent will do by itself later."""

    label: str
    over_ns: int  # wall time after which it has happened or has expired


class State(Struct, omit_defaults=True):
    # Of the conversation: kept when a new process goes on with it.
    conversation_id: str = ""
    began: bool = False
    model: str = ""
    info: str = ""  # what SessionInfo last said
    commands: str = ""  # which names of commands were last told
    described: str = ""  # and what was told of them
    context_percent: float = 0.0
    compacted: bool = False
    total_cost: float = 0.0
    todos: list[Todo] = field(default_factory=list)
    plan_mode: bool = False
    chosen: dict[str, str] = field(default_factory=dict)  # the model and effort that a person set by a command
    settled: list[str] = field(default_factory=list)  # messages that are consumed or cancelled
    point: str = ""  # the newest message of the conversation, where it can be forked
    transcript_ns: int = 0  # wall time up to which the transcript was searched for turns made outside; 0: not yet
    pause: str = ""  # why the model's API does not answer
    pause_until_ns: int = 0  # wall time; 0: not known

    # Of the process.
    status: int = 0
    turn: bool = False
    turn_failed: bool = False  # its error has been told
    context_tokens: int = 0
    read_tokens: int = 0  # by the last call of the model
    compact_error: str = ""  # why the agent last failed to compact, until a turn ends
    interrupted: bool = False  # it was told to stop since its last turn ended
    stream: Stream | None = None
    next_block: dict[str, int] = field(default_factory=dict)  # by message
    tools: dict[str, OpenTool] = field(default_factory=dict)
    ended: list[str] = field(default_factory=list)  # tools
    requests: dict[str, OpenRequest] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    calls: dict[str, str] = field(default_factory=dict)  # that wait to be screened: request id to tool
    directories: dict[str, str] = field(default_factory=dict)  # in which a tool is used, by use, until it ends
    screening: str = "no"  # whether the agent shows every call
    screening_asked: str = ""  # the request that told it to
    has_spoken: bool = False
    pending: dict[str, int] = field(default_factory=dict)  # messages delivered: 0, queued: 1, started: 2
    has_lifecycle: bool = False
    withdrawing: dict[str, str] = field(default_factory=dict)  # requests of ours, and the message each is about
    own_turn: str = ""  # begun by the agent itself, as when it goes on with the one it was killed in
    repeats: list[str] = field(default_factory=list)  # pending ones it knew before: that turn may be theirs
    is_reset: bool = False  # /clear came; the new id comes with the next init
    plan: str = ""
    background: dict[str, str] = field(default_factory=dict)
    jobs: dict[str, Job] = field(default_factory=dict)
    bad_lines: int = 0  # in a row
    errors: list[str] = field(default_factory=list)
    error_notices: int = 0
    stillborn: bool = False  # it said that it cannot take up the conversation
    lost: bool = False  # what came before is not known; taken up again at the next turn


_STORED = StoredState(State, VERSION)
dump, load = _STORED.dump, _STORED.load


def carried_over(state: State) -> State:
    """What a new process of the same conversation starts from: nothing is open, and nothing told is told again."""
    return State(
        conversation_id=state.conversation_id,
        began=state.began,
        model=state.model,
        info=state.info,
        commands=state.commands,
        described=state.described,
        context_percent=state.context_percent,
        compacted=state.compacted,
        total_cost=state.total_cost,
        todos=state.todos,
        plan_mode=state.plan_mode,
        chosen=state.chosen,
        settled=state.settled,
        point=state.point,
        transcript_ns=state.transcript_ns,
        pause=state.pause,
        pause_until_ns=state.pause_until_ns,
    )


def open_tool(state: State, tool_id: str, tool: OpenTool) -> None:
    if tool.todo is not None:
        planned = [other for other in state.tools.values() if other.todo is not None]
        for other in planned[: max(len(planned) - _PLANNED + 1, 0)]:
            other.todo = None
        for other in planned:
            if other.todo is not None and len(other.todo.items) > 1:
                other.todo = None  # a whole list, and a newer one is coming
    keep(state.tools, tool_id, tool, _OPEN_TOOLS)


def begin_withdrawing(state: State, request_id: str, message_id: str) -> None:
    keep(state.withdrawing, request_id, message_id)


def await_message(state: State, message_id: str) -> None:
    keep(state.pending, message_id, 0, _PENDING)
