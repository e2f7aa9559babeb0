"""The state of a session for the status line and the side panels."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from betcode.domain.error_codes import ErrorCode
from betcode.domain.events.event_table import EventTable
from betcode.tui.model.queue import MessageQueue, QueuedMessage
from betcode.v1 import agent_pb2 as v1
from betcode.wording.pending import words_for
from betcode.wording.silence import is_answer

_AT_REST = frozenset({v1.IDLE, v1.AGENT_STATUS_UNSPECIFIED, v1.ERROR})


@dataclass(slots=True)
class SessionStatusModel:
    """Updated in place by events; usage is counted once, in the summary or here."""

    own_client_id: str = ""
    session_id: str = ""
    provider: str = ""
    model: str = ""
    worktree: str = ""
    branch: str = ""
    status: v1.AgentStatus.ValueType = v1.IDLE
    worked_since: datetime | None = None  # the start of the turn, if known
    has_answered: bool = True  # whether the agent has answered since then
    run_state: str = ""
    waiting_for: str = ""  # as in SessionSummary
    waiting_until: datetime | None = None
    cost_usd: float = 0.0
    tokens_in: int = 0
    tokens_out: int = 0
    context_percent: float = 0.0  # 0: unknown
    budget_reached: tuple[str, ...] = ()  # "cost", "tokens", "turns", "time"
    todos: tuple[v1.TodoItem, ...] = ()
    plan: str = ""
    plan_mode: bool = False
    commands: tuple[v1.AgentCommand, ...] = ()
    can: v1.ProviderCapabilities | None = None  # None: the daemon does not report it
    lock: v1.InputLockChange = field(default_factory=v1.InputLockChange)
    present: tuple[v1.PresentClient, ...] = ()
    _queue: MessageQueue = field(default_factory=MessageQueue)
    _counted_until: int = 0  # cost and tokens are counted up to this event
    _todos_at: int = 0  # the events that reported todos and plan; 0: none
    _plan_at: int = 0
    _new_at: int = 0  # the message that started a new task
    _hears_work: bool = False  # at this position of the history; the summary describes the present

    # ------------------------------------------------------------ for widgets

    @property
    def is_at_work(self) -> bool:
        return self.status not in _AT_REST

    @property
    def queue(self) -> Sequence[QueuedMessage]:
        """Messages that wait for the agent, oldest first."""
        return self._queue.shown(self.own_client_id)

    def waits(self, now: datetime) -> str:
        """Return what the session waits for besides its agent; usually empty."""
        if not self.is_at_work and self.run_state == "crashed":
            return "crashed"
        return words_for(self.waiting_for, self.waiting_until, now)

    # ------------------------------------------------------------ updates

    def begin(self, summary: v1.SessionSummary) -> None:
        """Start from the summary in the list of sessions, also for a session that is already followed."""
        self.session_id, self.provider, self.worktree = summary.id, summary.provider, summary.worktree_name
        if summary.last_sequence < self._counted_until:
            return  # events are newer than the summary
        self.model = summary.model
        self.status = v1.IDLE if summary.status != "active" else self.status if self.is_at_work else v1.THINKING
        self.run_state, self.waiting_for = summary.run_state, summary.waiting_for
        self.waiting_until = summary.waiting_until.ToDatetime(UTC) if summary.HasField("waiting_until") else None
        self.cost_usd = summary.total_cost_usd
        self.tokens_in, self.tokens_out = summary.total_input_tokens, summary.total_output_tokens
        self.budget_reached = tuple(summary.budget_use.reached) if summary.HasField("budget") else ()
        self._counted_until = summary.last_sequence

    def inform(self, info: v1.SessionInfo) -> None:
        """Apply the agent's latest facts about itself."""
        self.model = info.model or self.model
        self.context_percent = info.context_usage_percent or self.context_percent
        if info.HasField("capabilities"):
            self.can = info.capabilities
        if info.commands:
            self.commands = tuple(info.commands)
        if info.branch:  # events do not contain it
            self.branch = info.branch

    def recall(self, event: v1.AgentEvent) -> None:
        """Apply an older event: todos and a plan hold until newer ones arrive or they are done."""
        match event.WhichOneof("event"):
            case "todo_update" if event.sequence > self._todos_at:
                items, self._todos_at = tuple(event.todo_update.items), event.sequence
                self.todos = () if event.sequence < self._new_at and _all_done(items) else items
            case "plan_mode" if event.sequence > self._plan_at:
                self._plan_at, self.plan_mode = event.sequence, event.plan_mode.active
                is_over = event.sequence < self._new_at and not self.plan_mode
                self.plan = "" if is_over else event.plan_mode.plan or self.plan
            case _:
                pass

    def take(self, event: v1.AgentEvent) -> None:
        """Process the next event; usage that the summary contains is not counted again."""
        is_new = not event.sequence or event.sequence > self._counted_until
        self._counted_until = max(self._counted_until, event.sequence)
        self.has_answered = self.has_answered or is_answer(event)
        self._queue.take(event, is_at_work=self._hears_work)
        handler = STATE.handler(event)
        if handler is not None:
            handler(self, event, is_new)

    def _model_answers(self, _event: v1.AgentEvent, _is_new: bool) -> None:
        self.waiting_for = ""
        self._hears_work = True

    def _usage(self, event: v1.AgentEvent, is_new: bool) -> None:
        if is_new:
            self.cost_usd += event.usage.cost_usd
            self.tokens_in += event.usage.input_tokens
            self.tokens_out += event.usage.output_tokens

    def _todo_or_plan(self, event: v1.AgentEvent, _is_new: bool) -> None:
        self.recall(event)

    def _turn_complete(self, _event: v1.AgentEvent, _is_new: bool) -> None:
        self._hears_work = False
        self.waiting_for = self.waiting_for if self.waiting_for == "limit" else ""

    def _user_input(self, event: v1.AgentEvent, _is_new: bool) -> None:
        """Start a new task with a message while the agent is idle; during a turn, a message belongs to its task."""
        if self.is_at_work:
            return
        self._new_at = event.sequence
        if _all_done(self.todos):
            self.todos = ()
        if not self.plan_mode:
            self.plan = ""

    def _session_info(self, event: v1.AgentEvent, _is_new: bool) -> None:
        self.inform(event.session_info)

    def _input_lock(self, event: v1.AgentEvent, _is_new: bool) -> None:
        self.lock = event.input_lock

    def _presence(self, event: v1.AgentEvent, _is_new: bool) -> None:
        self.present = tuple(event.presence.clients)

    def _status(self, event: v1.AgentEvent, _is_new: bool) -> None:
        was_at_work = self.is_at_work
        self.status = event.status_change.status
        self._hears_work = self.is_at_work
        if self.is_at_work:
            self.waiting_for, self.run_state = "", "running"
            if self.worked_since is None or not was_at_work:
                self.worked_since = event.timestamp.ToDatetime(UTC)
                self.has_answered = False
        else:
            self.worked_since = None

    def _compacted(self, event: v1.AgentEvent, _is_new: bool) -> None:
        boundary = event.compaction
        if boundary.tokens_before and self.context_percent:
            self.context_percent *= min(boundary.tokens_after / boundary.tokens_before, 1.0)
        else:
            self.context_percent = 0.0

    def _error(self, event: v1.AgentEvent, is_new: bool) -> None:
        error = event.error
        if not is_new:
            return
        if error.code == ErrorCode.SUBPROCESS_CRASHED and error.is_fatal:
            self.waiting_for, self.run_state = "", "crashed"
        elif error.code == ErrorCode.SUBPROCESS_CRASHED:
            self._wait("retry", error.details.get("retry_at", ""))
        elif error.code == ErrorCode.RATE_LIMITED:
            self._wait("limit", error.details.get("reset_at", ""))

    def _notice(self, event: v1.AgentEvent, is_new: bool) -> None:
        notice = event.notice
        if not is_new:
            return
        if notice.kind == v1.NOTICE_KIND_BUDGET:
            self.budget_reached = tuple(filter(None, notice.details.get("reached", "").split(",")))
        elif waits := notice.details.get("waiting_for", ""):
            self._wait(waits, notice.details.get("reset_at", ""))

    def _wait(self, waits: str, until: str) -> None:
        self.waiting_for = waits
        try:
            self.waiting_until = datetime.fromisoformat(until) if until else None
        except ValueError:
            self.waiting_until = None


def _all_done(items: Sequence[v1.TodoItem]) -> bool:
    return all(item.status == v1.COMPLETED for item in items)


STATE: EventTable[Callable[[SessionStatusModel, v1.AgentEvent, bool], None]] = EventTable(
    "the status line of the screen",
    {
        "text_delta": SessionStatusModel._model_answers,
        "thinking_delta": SessionStatusModel._model_answers,
        "usage": SessionStatusModel._usage,
        "error": SessionStatusModel._error,
        "notice": SessionStatusModel._notice,
        "todo_update": SessionStatusModel._todo_or_plan,
        "plan_mode": SessionStatusModel._todo_or_plan,
        "user_input": SessionStatusModel._user_input,
        "turn_complete": SessionStatusModel._turn_complete,
        "status_change": SessionStatusModel._status,
        "session_info": SessionStatusModel._session_info,
        "compaction": SessionStatusModel._compacted,
        "input_lock": SessionStatusModel._input_lock,
        "presence": SessionStatusModel._presence,
    },
    ignored=frozenset(
        {"message_state"}  # `queue.py` handles it
        | {"tool_call_start", "tool_call_result", "gap", "deprecation"}  # shown in the conversation
        # The list of open prompts has its own stream.
        | {"permission_request", "permission_resolved", "permission_reminder", "user_question"}
    ),
)
