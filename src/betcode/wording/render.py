"""Events as lines for people."""

from collections.abc import Callable, Mapping, Sequence

from betcode.domain.events.event_table import EventTable
from betcode.v1 import agent_pb2 as v1
from betcode.wording.deprecation_notes import DeprecationNotes
from betcode.wording.terminal_text import one_line, tool_called

_WIDTH = 110
_AS_BEFORE = "Answer reused from before the agent crashed"
_TELLING = ("command", "file_path", "path", "pattern", "url", "query", "description", "prompt", "subject")
_PATHS = frozenset({"file_path", "path"})
DENIALS = frozenset({v1.DENY, v1.DENY_NO_INTERRUPT, v1.DENY_WITH_INTERRUPT})
TODO_BOXES = {v1.PENDING: "☐", v1.IN_PROGRESS: "▸", v1.COMPLETED: "☑"}


class Describer:
    """Remembers the names of running tools, to name them in their results."""

    def __init__(self, deprecations: DeprecationNotes | None = None) -> None:
        self._deprecations = deprecations or DeprecationNotes()
        self._tools: dict[str, str] = {}
        self._questions: set[str] = set()  # requests that are questions: they are answered, not allowed

    def describe(self, event: v1.AgentEvent) -> list[str]:
        """Return the lines for an event besides the answer; none if it needs no line."""
        handler = DESCRIBED.handler(event)
        return handler(self, event) if handler is not None else []

    def _tool_start(self, event: v1.AgentEvent) -> list[str]:
        started = event.tool_call_start
        self._tools[started.tool_id] = name = tool_called(started.tool_name)
        return [f"● {name} {telling_input(started)}".rstrip()]

    def _todo(self, event: v1.AgentEvent) -> list[str]:
        return [
            f"  {TODO_BOXES.get(item.status, '·')} {one_line(item.subject, _WIDTH)}" for item in event.todo_update.items
        ]

    def _message_state(self, event: v1.AgentEvent) -> list[str]:
        words = message_words(event.message_state.state, event.message_state.reason)
        return [words] if words else []

    def _resolved(self, event: v1.AgentEvent) -> list[str]:
        resolved = event.permission_resolved
        given = [_AS_BEFORE] if was_answered_before(resolved) else []
        return [outcome_words(resolved, is_question=resolved.request_id in self._questions), *given]

    def _question(self, event: v1.AgentEvent) -> list[str]:
        self._questions.add(event.user_question.group_id or event.user_question.question_id)
        return []  # the caller that asks it shows it

    def _deprecation(self, event: v1.AgentEvent) -> list[str]:
        return self._deprecations.lines(event.deprecation)

    def _remark(self, event: v1.AgentEvent) -> list[str]:
        return remark(event)

    def _tool_result(self, event: v1.AgentEvent) -> list[str]:
        result = event.tool_call_result
        name = self._tools.pop(result.tool_id, "tool")
        took = f" after {result.duration_ms / 1000:.1f} s" if result.duration_ms >= 1000 else ""
        if result.is_error:
            return [f"✗ {name} failed{took}: {one_line(result.output, _WIDTH)}"]
        output = one_line(result.output, _WIDTH)
        return [f"✓ {name}{took}" + (f": {output}" if output else "")]


def remark(event: v1.AgentEvent) -> list[str]:
    """Return the lines of an event that needs no other event to be understood."""
    say = _REMARKS.get(event.WhichOneof("event") or "")
    return say(event) if say is not None else []


def was_answered_before(resolved: v1.PermissionResolved) -> bool:
    """Whether an answer to an earlier, crashed agent was reused, so that nobody was asked."""
    return resolved.rule.startswith("the answer to ")


def outcome_words(resolved: v1.PermissionResolved, *, is_question: bool) -> str:
    """Return the result of a prompt."""
    told = f": {resolved.message}" if resolved.message else ""
    if resolved.resolution != "answered":
        return f"The question is {resolved.resolution}{told}"
    match resolved.decision:
        case v1.ALLOW_ONCE if not is_question:
            return "Allowed"
        case v1.ALLOW_SESSION:
            return f"Allowed for this session: {one_line(resolved.grant_pattern, _WIDTH)}"
        case v1.ALLOW_WITH_EDIT:
            return f"Allowed with a changed input: {one_line(resolved.updated_input_json, _WIDTH)}"
        case v1.DENY | v1.DENY_NO_INTERRUPT:
            return f"Denied{told}"
        case v1.DENY_WITH_INTERRUPT:
            return f"Denied; the turn is stopped{told}"
        case _:
            return f"Answered{told}"


def todo_words(items: Sequence[v1.TodoItem]) -> str:
    """Return a todo list on one line: the number of finished tasks, and the current one."""
    if not items:
        return "The to-do list is empty"
    done = sum(item.status == v1.COMPLETED for item in items)
    now = next((item.active_form or item.subject for item in items if item.status == v1.IN_PROGRESS), "")
    return f"{done} of {len(items)} tasks done" + (f", now: {one_line(now, _WIDTH)}" if now else "")


def telling_input(use: v1.ToolCallStart | v1.PermissionRequest, width: int = _WIDTH, directory: str = "") -> str:
    """Return the most informative part of a tool's input; paths are relative to `directory`."""
    fields = use.input.fields
    for name in _TELLING:
        if name in fields and fields[name].WhichOneof("kind") == "string_value":
            said = fields[name].string_value
            return one_line(said.removeprefix(f"{directory}/") if directory and name in _PATHS else said, width)
    return one_line(use.description, width)


def turn_summary(usage: v1.UsageReport) -> str:
    """Return the usage of a turn; time and tokens only if they were counted."""
    took = [f"{usage.duration_ms / 1000:.1f} s"] if usage.duration_ms else []
    if usage.input_tokens or usage.output_tokens:
        took.append(f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out")
    if usage.cost_usd:
        took.append(f"${usage.cost_usd:.4f}")
    return ", ".join(took)


def turn_end_words(stop_reason: str, summary: str) -> str:
    """Return how a turn ended, unless it ended normally, and its usage."""
    return summary if stop_reason in ("", "end_turn") else ", ".join(filter(None, (stop_reason, summary)))


def _error(event: v1.AgentEvent) -> list[str]:
    return [f"error: {event.error.message}"]


def _notice(event: v1.AgentEvent) -> list[str]:
    return [one_line(event.notice.message, 400)]


def _gap(event: v1.AgentEvent) -> list[str]:
    return [f"History gap: {event.gap.reason}"]


def _plan_mode(event: v1.AgentEvent) -> list[str]:
    if event.plan_mode.active and event.plan_mode.plan:
        return ["The agent has written a plan"]
    return ["Plan mode is on" if event.plan_mode.active else "Plan mode is off"]


def _reminder(event: v1.AgentEvent) -> list[str]:
    reminder = event.permission_reminder
    return [f"Still waiting for an answer: {one_line(f'{reminder.tool_name} {reminder.description}'.strip(), _WIDTH)}"]


def _session_info(event: v1.AgentEvent) -> list[str]:
    if not event.session_info.compacted_before:
        return []
    return [f"… earlier history was compacted: betcode session show --all {event.session_info.session_id}"]


def _compaction(event: v1.AgentEvent) -> list[str]:
    if event.compaction.new_conversation_id:
        return ["The conversation was cleared"]
    saved = f": {event.compaction.tokens_saved:,} tokens saved" if event.compaction.tokens_saved else ""
    return [f"The conversation was compacted{saved}"]


def message_words(state: v1.MessageState.ValueType, reason: str) -> str:
    """Return the text about a message that was not simply delivered; usually empty."""
    match state:
        case v1.MESSAGE_STATE_ACCEPTED:
            return reason
        case v1.MESSAGE_STATE_CANCELLED:
            return "The message was cancelled" + (f": {reason}" if reason else "")
        case v1.MESSAGE_STATE_UNKNOWN:
            return f"It is unknown whether the agent received the message: {reason}"
        case _:
            return ""


_REMARKS: Mapping[str, Callable[[v1.AgentEvent], list[str]]] = {
    "error": _error,
    "notice": _notice,
    "gap": _gap,
    "plan_mode": _plan_mode,
    "permission_reminder": _reminder,
    "session_info": _session_info,
    "compaction": _compaction,
}
DESCRIBED: EventTable[Callable[[Describer, v1.AgentEvent], list[str]]] = EventTable(
    "plain lines",
    {
        "tool_call_start": Describer._tool_start,
        "tool_call_result": Describer._tool_result,
        "todo_update": Describer._todo,
        "message_state": Describer._message_state,
        "permission_resolved": Describer._resolved,
        "user_question": Describer._question,
        "deprecation": Describer._deprecation,
        **dict.fromkeys(_REMARKS, Describer._remark),
    },
    ignored=frozenset(
        {"text_delta", "user_input"}  # the conversation itself, which the caller prints
        | {"permission_request", "usage", "turn_complete"}  # the caller prints these in its own form
        | {"thinking_delta"}  # lines contain only the answer; the screen shows thoughts
        | {"status_change"}  # the following lines show what the agent does
        | {"input_lock", "presence"}  # `attach` shows the lock in its prompt
    ),
)
