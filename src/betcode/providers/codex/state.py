"""The state of a dialogue with Codex between two records, stored with the journal's offset."""

from msgspec import Struct, field

from betcode.providers.stored_state import StoredState, keep

VERSION = 1

_OPEN_TOOLS = 256


class Todo(Struct, array_like=True):
    subject: str
    status: int = 1


class OpenTool(Struct, array_like=True):
    name: str
    began_ns: int  # monotonic
    cwd: str = ""
    parent: str = ""
    input: str = ""  # of a patch, whose request for approval does not repeat it


class OpenRequest(Struct, array_like=True):
    rpc_id: int | str  # Codex's own, by which it is answered
    tool_use_id: str = ""
    is_question: bool = False
    is_form: bool = False  # asked by a form, which is answered by an action


class Counted(Struct, array_like=True):
    """Tokens: of a thread in all, or of a turn."""

    input: int = 0  # what was cached not included
    output: int = 0
    cached: int = 0
    written: int = 0  # to the cache


class State(Struct, omit_defaults=True):
    # Of the conversation: kept when a new process goes on with it.
    conversation_id: str = ""  # the thread's
    began: bool = False
    model: str = ""
    models: list[str] = field(default_factory=list)
    cwd: str = ""
    info: str = ""  # what SessionInfo last said
    total: Counted | None = None  # of the thread, as Codex last said; None: not known
    used: Counted = field(default_factory=Counted)  # by the turn so far
    context_percent: float = 0.0
    compacted: bool = False
    todos: list[Todo] = field(default_factory=list)
    plan_mode: bool = False
    has_planned: bool = False
    settled: list[str] = field(default_factory=list)  # messages that are consumed
    point: str = ""  # the last turn that ended, where the thread can be forked
    pause: str = ""  # why the model's API does not answer

    # Of the process.
    thread: str = ""  # known once it can be given messages
    asked: str = ""  # the line that asks for the thread, until it is there
    refused_thread: str = ""  # what it was answered with where there will be none
    mode: str = ""  # the collaboration mode that this process was last told
    mcp: dict[str, str] = field(default_factory=dict)
    status: int = 0
    turn: bool = False
    turn_id: str = ""
    turn_failed: bool = False  # its error has been told
    compacting: bool = False  # what runs was asked for by `thread/compact/start`
    boundary: bool = False  # and has happened
    context_tokens: int = 0
    window: int = 0
    before_tokens: int = 0  # in the context when its compaction began
    unsettled: dict[str, list[int]] = field(default_factory=dict)  # blocks shown by deltas only, by item; thinking: +1
    thinking: list[str] = field(default_factory=list)  # those of them that are thoughts
    tools: dict[str, OpenTool] = field(default_factory=dict)
    ended: list[str] = field(default_factory=list)  # tools
    background: dict[str, str] = field(default_factory=dict)  # commands that outlived their turn
    parents: dict[str, str] = field(default_factory=dict)  # threads of subagents, and the tool call that began each
    requests: dict[str, OpenRequest] = field(default_factory=dict)
    declined: list[str] = field(default_factory=list)  # tools that an answer of ours did not allow
    errands: dict[str, str] = field(default_factory=dict)
    pending: dict[str, str] = field(default_factory=dict)  # messages delivered, and the turn that answers each
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
        model=state.model,
        models=state.models,
        cwd=state.cwd,
        info=state.info,
        total=state.total if state.began else None,
        used=state.used,  # by a turn whose end nobody told
        context_percent=state.context_percent,
        compacted=state.compacted,
        todos=state.todos,
        plan_mode=state.plan_mode,
        has_planned=state.has_planned,
        settled=state.settled,
        point=state.point,
        pause=state.pause,
    )


def open_tool(state: State, tool_id: str, tool: OpenTool) -> None:
    keep(state.tools, tool_id, tool, _OPEN_TOOLS)
