"""Events as lines for a person."""

from betcode.v1 import agent_pb2 as v1
from betcode.wording.deprecation_notes import DeprecationNotes
from betcode.wording.terminal_text import one_line, tool_called

_WIDTH = 110
_AS_BEFORE = "That is the answer which was given before the agent was lost"
_TELLING = ("command", "file_path", "path", "pattern", "url", "query", "description", "prompt", "subject")
_BOXES = {v1.PENDING: "☐", v1.IN_PROGRESS: "▸", v1.COMPLETED: "☑"}


class Describer:
    """Remembers the names of running tools, so that a result can say whose it is."""

    def __init__(self, deprecations: DeprecationNotes | None = None) -> None:
        self._deprecations = deprecations or DeprecationNotes()
        self._tools: dict[str, str] = {}
        self._questions: set[str] = set()  # requests that are questions: those are answered, not allowed

    def describe(self, event: v1.AgentEvent) -> list[str]:
        """The lines that tell of an event beside the answer; none for what need not be said."""
        match event.WhichOneof("event"):
            case "tool_call_start":
                started = event.tool_call_start
                self._tools[started.tool_id] = name = tool_called(started.tool_name)
                return [f"● {name} {telling_input(started)}".rstrip()]
            case "tool_call_result":
                return self._result(event.tool_call_result)
            case "todo_update":
                return [
                    f"  {_BOXES.get(item.status, '·')} {one_line(item.subject, _WIDTH)}"
                    for item in event.todo_update.items
                ]
            case "error" | "notice" | "gap":
                return [_plain(event)]
            case "message_state":
                return _message_state(event.message_state)
            case "permission_resolved":
                given = [_AS_BEFORE] if event.permission_resolved.rule.startswith("the answer to ") else []
                return [*self._resolved(event.permission_resolved), *given]
            case "user_question":
                self._questions.add(event.user_question.group_id or event.user_question.question_id)
                return []
            case "plan_mode" | "permission_reminder":
                return [_standing(event)]
            case "deprecation":
                return self._deprecations.lines(event.deprecation)
            case "compaction" | "session_info":
                return _compaction(event)
            case _:
                return []

    def _result(self, result: v1.ToolCallResult) -> list[str]:
        name = self._tools.pop(result.tool_id, "tool")
        took = f" after {result.duration_ms / 1000:.1f} s" if result.duration_ms >= 1000 else ""
        if result.is_error:
            return [f"✗ {name} failed{took}: {one_line(result.output, _WIDTH)}"]
        output = one_line(result.output, _WIDTH)
        return [f"✓ {name}{took}" + (f": {output}" if output else "")]

    def _resolved(self, resolved: v1.PermissionResolved) -> list[str]:
        if resolved.resolution != "answered":
            return [f"The question is {resolved.resolution}" + (f": {resolved.message}" if resolved.message else "")]
        match resolved.decision:
            case v1.ALLOW_ONCE if resolved.request_id not in self._questions:
                return ["Allowed"]
            case v1.ALLOW_SESSION:
                return [f"Allowed for this session: {one_line(resolved.grant_pattern, _WIDTH)}"]
            case v1.ALLOW_WITH_EDIT:
                return [f"Allowed with another input: {one_line(resolved.updated_input_json, _WIDTH)}"]
            case v1.DENY | v1.DENY_NO_INTERRUPT:
                return ["Denied" + (f": {resolved.message}" if resolved.message else "")]
            case v1.DENY_WITH_INTERRUPT:
                return ["Denied, and the turn is stopped" + (f": {resolved.message}" if resolved.message else "")]
            case _:
                return ["Answered"]


def telling_input(use: v1.ToolCallStart | v1.PermissionRequest, width: int = _WIDTH) -> str:
    """The one part of a tool's input that says most about it."""
    fields = use.input.fields
    for name in _TELLING:
        if name in fields and fields[name].WhichOneof("kind") == "string_value":
            return one_line(fields[name].string_value, width)
    return one_line(use.description, width)


def turn_summary(usage: v1.UsageReport) -> str:
    """What a turn took; neither time nor tokens are mentioned where none were counted."""
    took = [f"{usage.duration_ms / 1000:.1f} s"] if usage.duration_ms else []
    if usage.input_tokens or usage.output_tokens:
        took.append(f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out")
    if usage.cost_usd:
        took.append(f"${usage.cost_usd:.4f}")
    return ", ".join(took)


def _plain(event: v1.AgentEvent) -> str:
    if event.HasField("error"):
        return f"error: {event.error.message}"
    return (
        one_line(event.notice.message, 400)
        if event.HasField("notice")
        else f"Something is missing here: {event.gap.reason}"
    )


def _standing(event: v1.AgentEvent) -> str:
    if event.HasField("plan_mode"):
        return "Plan mode is on" if event.plan_mode.active else "Plan mode is off"
    reminder = event.permission_reminder
    return f"Still waiting for an answer: {one_line(f'{reminder.tool_name} {reminder.description}'.strip(), _WIDTH)}"


def _compaction(event: v1.AgentEvent) -> list[str]:
    if event.session_info.compacted_before:
        return [f"… what came before was compacted: betcode session show --all {event.session_info.session_id}"]
    if not event.HasField("compaction"):
        return []
    if event.compaction.new_conversation_id:
        return ["The conversation was cleared"]
    saved = f": {event.compaction.tokens_saved:,} tokens less" if event.compaction.tokens_saved else ""
    return [f"The conversation was compacted{saved}"]


def _message_state(change: v1.MessageStateChange) -> list[str]:
    match change.state:
        case v1.MESSAGE_STATE_ACCEPTED if change.reason:
            return [change.reason]
        case v1.MESSAGE_STATE_CANCELLED:
            return ["The message was cancelled" + (f": {change.reason}" if change.reason else "")]
        case v1.MESSAGE_STATE_UNKNOWN:
            return [f"Whether the agent took the message is not known: {change.reason}"]
        case _:
            return []
