"""How a session stands now, for the line at the foot of the screen and the panels beside it."""

from dataclasses import dataclass, field

from betcode.v1 import agent_pb2 as v1


@dataclass(slots=True)
class Standing:
    """Changed in place as events come in."""

    session_id: str = ""
    name: str = ""
    provider: str = ""
    model: str = ""
    directory: str = ""
    worktree: str = ""
    branch: str = ""
    status: v1.AgentStatus.ValueType = v1.IDLE
    is_closed: bool = False
    cost_usd: float = 0.0
    tokens_in: int = 0
    tokens_out: int = 0
    context_percent: float = 0.0
    todos: tuple[v1.TodoItem, ...] = ()
    plan: str = ""
    plan_mode: bool = False
    lock: v1.InputLockChange = field(default_factory=v1.InputLockChange)
    present: tuple[v1.PresentClient, ...] = ()

    @property
    def is_at_work(self) -> bool:
        return self.status not in (v1.IDLE, v1.AGENT_STATUS_UNSPECIFIED, v1.ERROR)

    def begin(self, summary: v1.SessionSummary) -> None:
        """What the list of sessions says of it."""
        self.session_id, self.name, self.provider = summary.id, summary.name, summary.provider
        self.model, self.directory, self.worktree = summary.model, summary.working_directory, summary.worktree_name
        self.cost_usd = summary.total_cost_usd
        self.tokens_in, self.tokens_out = summary.total_input_tokens, summary.total_output_tokens
        self.is_closed = summary.status == "closed"
        self.status = v1.THINKING if summary.status == "active" else v1.IDLE

    def take(self, event: v1.AgentEvent) -> None:
        """What a new event changes; those of the past were counted in the summary."""
        match event.WhichOneof("event"):
            case "status_change":
                self.status = event.status_change.status
            case "usage":
                self.cost_usd += event.usage.cost_usd
                self.tokens_in += event.usage.input_tokens
                self.tokens_out += event.usage.output_tokens
            case "session_info":
                self.model = event.session_info.model or self.model
                self.context_percent = event.session_info.context_usage_percent or self.context_percent
            case "todo_update":
                self.todos = tuple(event.todo_update.items)
            case "plan_mode":
                self.plan_mode = event.plan_mode.active
                self.plan = event.plan_mode.plan or self.plan
            case "input_lock":
                self.lock = event.input_lock
            case "presence":
                self.present = tuple(event.presence.clients)
            case _:
                pass
