"""Translates turns: each begins with a message or a compaction, ends once, and reports its usage."""

from betcode.domain.agents.agent_state import ApiPause, PauseKind
from betcode.domain.error_codes import ErrorCode
from betcode.domain.values.text import shortened
from betcode.providers.codex import advice, frames
from betcode.providers.codex.commands import CLEANING
from betcode.providers.codex.event_builder import CodexEventBuilder
from betcode.providers.codex.launch import POINT_SEPARATOR, request
from betcode.providers.codex.state import Counted, OpenTool, State, Todo
from betcode.providers.event_builder import uint32, uint64
from betcode.providers.stored_state import remember
from betcode.v1 import agent_pb2 as v1

_LONGEST_ERROR = 4000
_LONGEST_STEP = 300
_MOST_STEPS = 100
_PERCENT_STEP = 0.5  # a smaller change of the context's filling is not worth an event
_STATUS = {"pending": v1.PENDING, "inProgress": v1.IN_PROGRESS, "completed": v1.COMPLETED}
_REASONS = {"completed": "end_turn", "interrupted": "cancelled"}
_INTERRUPTED = "interrupted"
_RUNS_ON = "[it runs on in the background]"


def is_over(state: State, turn_id: str) -> bool:
    """Whether a line belongs to the turn that was the last to end: it begins no other."""
    return bool(turn_id) and turn_id == state.point and turn_id != state.turn_id


def begin(builder: CodexEventBuilder, turn_id: str = "", *, anew: bool = False) -> None:
    """A turn is open from here on, if none was; only `anew` another one takes its place."""
    state = builder.state
    if is_over(state, turn_id):
        return
    if turn_id and (anew or not state.turn_id):
        state.turn_id = turn_id
        state.pending = {message: turn or turn_id for message, turn in state.pending.items()}
    if not state.turn:
        state.turn = state.began = True
        state.turn_failed = state.boundary = False
        builder.status(v1.COMPACTING if state.compacting else v1.THINKING)


def on_started(news: frames.TurnNews, builder: CodexEventBuilder) -> None:
    if news.thread_id in ("", builder.state.thread):
        builder.state.lost = False
        begin(builder, news.turn.id, anew=True)


def on_answered(message_id: str, frame: frames.RpcMessage, builder: CodexEventBuilder) -> None:
    """Codex took a message or a compaction, or refused it."""
    if (refusal := frame.refusal) is not None:
        _fail(builder, refusal.message or "Codex refused the message", "", None, "")
        end(builder, "error", [message_id])
        return
    answer = frames.read(frame.result, frames.TurnAnswer)
    begin(builder, answer.turn.id if answer is not None else "", anew=True)


def delivered(message_id: str, builder: CodexEventBuilder) -> None:
    """A person's message, or what asks for a compaction, has been written to Codex."""
    if message_id and message_id not in builder.state.settled:
        builder.state.pending[message_id] = ""
        _message_state(builder, message_id, v1.MESSAGE_STATE_DELIVERED)


def on_completed(news: frames.TurnNews, builder: CodexEventBuilder) -> None:
    state, turn = builder.state, news.turn
    if news.thread_id not in ("", state.thread):
        return
    if is_over(state, turn.id) or (state.turn_id and turn.id and turn.id != state.turn_id):
        return
    state.lost = False
    begin(builder, turn.id)
    reason = _REASONS.get(turn.status, "error")
    if reason == "error" and not state.turn_failed:
        tell(builder, turn.error or frames.TurnError())
    if reason == "cancelled":
        clean(builder, turn.id)
    answered = [message for message, turn_id in state.pending.items() if turn_id in ("", state.turn_id)]
    end(builder, reason, answered, duration_ms=turn.duration_ms or 0)


def clean(builder: CodexEventBuilder, turn_id: str) -> None:
    """A command outlives the turn that is interrupted, unless Codex is told to end it."""
    errand = f"clean-{turn_id}"
    builder.state.errands[errand] = request(errand, CLEANING, {"threadId": builder.state.thread}).decode()


def end(builder: CodexEventBuilder, reason: str, answered: list[str], *, duration_ms: int = 0) -> None:
    """Everything that the turn left open is closed, and it is told what it took."""
    state = builder.state
    void(builder)
    for request_id in list(state.requests):
        withdraw(builder, request_id)
    for tool_id, tool in list(state.tools.items()):
        _close(builder, tool_id, tool, reason)
    for message_id in answered:
        state.pending.pop(message_id, None)
        if message_id not in state.settled:
            remember(state.settled, message_id)
            _message_state(builder, message_id, v1.MESSAGE_STATE_CONSUMED, "cancelled" if reason == "cancelled" else "")
    if state.compacting and not state.boundary and reason == "end_turn":
        reason = "error"
        _compaction_failed(builder, "Codex did not say why")
    _report_context(builder)
    _report_usage(builder, duration_ms)
    if state.turn_id:
        state.point = state.turn_id
    complete = builder.new_event().turn_complete
    complete.stop_reason = reason
    complete.message_ids.extend(message for message in answered if not state.compacting)
    if not answered:
        complete.origin = "agent"
    if state.point:
        complete.fork_point = f"{state.conversation_id}{POINT_SEPARATOR}{state.point}"
    state.turn = state.compacting = state.turn_failed = False
    state.declined.clear()
    state.turn_id = ""
    state.pause = ""
    if not state.pending:
        builder.turn_to(v1.IDLE)


def _close(builder: CodexEventBuilder, tool_id: str, tool: OpenTool, reason: str) -> None:
    """Codex itself says nothing of what was open; a command may go on behind the turn that began it."""
    state = builder.state
    del state.tools[tool_id]
    remember(state.ended, tool_id)
    runs_on = reason == "end_turn" and tool.name == "Bash"
    if runs_on:
        state.background[tool_id] = shortened(tool.input, _LONGEST_STEP)
        if len(state.background) > _MOST_STEPS:
            del state.background[next(iter(state.background))]
    result = builder.new_event(tool.parent).tool_call_result
    result.tool_id = tool_id
    result.output = _RUNS_ON if runs_on else _INTERRUPTED
    result.is_error = not runs_on
    result.duration_ms = uint32((builder.mono_ns - tool.began_ns) / 1_000_000)


def withdraw(builder: CodexEventBuilder, request_id: str) -> None:
    """Codex no longer waits for an answer."""
    if builder.state.requests.pop(request_id, None) is not None:
        resolved = builder.new_event().permission_resolved
        resolved.request_id = request_id
        resolved.resolution = "withdrawn"


def void(builder: CodexEventBuilder) -> None:
    """Words whose stream was cut off: what deltas showed of them settles as empty."""
    state = builder.state
    for item_id, blocks in state.unsettled.items():
        for block in blocks:
            event = builder.new_event()
            said = event.thinking_delta if item_id in state.thinking else event.text_delta
            said.message_id, said.block, said.is_complete = item_id, uint32(block), True
    state.unsettled.clear()
    state.thinking.clear()


def _message_state(
    builder: CodexEventBuilder, message_id: str, to: v1.MessageState.ValueType, reason: str = ""
) -> None:
    change = builder.new_event().message_state
    change.message_id, change.state, change.reason = message_id, to, reason


# ---------------------------------------------------------------- errors


def on_error(news: frames.ErrorNews, builder: CodexEventBuilder) -> None:
    state = builder.state
    if news.thread_id not in ("", state.thread) or is_over(state, news.turn_id):
        return
    begin(builder, news.turn_id)
    if not news.will_retry:
        tell(builder, news.error)
        return
    void(builder)
    trouble = advice.trouble_in(news.error)
    state.pause = trouble.pause.value
    details = news.error.additional_details or ""
    builder.notice(
        v1.NOTICE_KIND_API_RETRY,
        f"The model's API failed ({shortened(details or trouble.message, 200)}); trying again",
        error=trouble.kind,
        error_status="" if trouble.status is None else str(trouble.status),
        message=shortened(trouble.message, 200),
        waiting_for=trouble.pause.value,
    )


def tell(builder: CodexEventBuilder, error: frames.TurnError) -> None:
    """The error that ends a turn; once."""
    if builder.state.turn_failed:
        return
    builder.state.turn_failed = True
    if builder.state.compacting:
        _compaction_failed(builder, error.message)
        return
    trouble = advice.trouble_in(error)
    known = f" (this Codex knows {', '.join(builder.state.models[:10])})" if builder.state.models else ""
    what = trouble.advice + (known if trouble.kind == "modelNotFound" or trouble.status == 404 else "")
    _fail(builder, trouble.message, trouble.kind, trouble.status, what if trouble.advice else "", trouble.code)


def _fail(
    builder: CodexEventBuilder,
    message: str,
    kind: str,
    status: int | None,
    what: str,
    code: ErrorCode = ErrorCode.AGENT_ERROR,
) -> None:
    builder.state.turn_failed = True
    error = builder.new_event().error
    error.code = code
    error.message = shortened(message, _LONGEST_ERROR)
    if kind:
        error.details["api_error_type"] = kind
    if status is not None:
        error.details["api_error_status"] = str(status)
    if what:
        error.message = f"{error.message.removesuffix('.')}. What to do: {what}"
        error.details["advice"] = what


def _compaction_failed(builder: CodexEventBuilder, reason: str) -> None:
    error = builder.new_event().error
    error.code = ErrorCode.COMPACTION_FAILED
    error.message = "Session compaction failed"
    error.details["reason"] = shortened(reason, _LONGEST_ERROR)


def resumed(state: State) -> None:
    """The API has answered."""
    state.pause = ""


def api_pause(state: State) -> ApiPause | None:
    return ApiPause(PauseKind(state.pause)) if state.pause else None


# ---------------------------------------------------------------- what it took


def on_usage(news: frames.UsageNews, builder: CodexEventBuilder) -> None:
    """Codex says totals of the thread; those of another process are counted here, too, once."""
    state, usage = builder.state, news.token_usage
    if news.thread_id not in ("", state.thread):
        return
    total = _counted(usage.total)
    if state.total is not None:
        state.used = _sum(state.used, _since(state.total, total))
    elif state.turn:  # of a fork, whose total has what the other session used
        state.used = _sum(state.used, _counted(usage.last))
    state.total = total
    state.window = uint32(usage.model_context_window or 0) or state.window
    state.context_tokens = uint64(usage.last.input_tokens or usage.last.total_tokens)  # the second behind a compaction
    resumed(state)


def _counted(tokens: frames.Tokens) -> Counted:
    cached, written = uint64(tokens.cached_input_tokens), uint64(tokens.cache_write_input_tokens)
    return Counted(uint64(tokens.input_tokens - cached - written), uint64(tokens.output_tokens), cached, written)


def _since(before: Counted, after: Counted) -> Counted:
    """What came since; a thread that ran out of context counts from nothing again."""
    if after.output < before.output or after.input + after.cached < before.input + before.cached:
        return after
    return Counted(
        max(after.input - before.input, 0),
        after.output - before.output,
        max(after.cached - before.cached, 0),
        max(after.written - before.written, 0),
    )


def _sum(one: Counted, other: Counted) -> Counted:
    return Counted(
        uint64(one.input + other.input),
        uint64(one.output + other.output),
        uint64(one.cached + other.cached),
        uint64(one.written + other.written),
    )


def _report_usage(builder: CodexEventBuilder, duration_ms: int) -> None:
    state = builder.state
    usage = builder.new_event().usage
    usage.model = state.model
    usage.input_tokens = uint32(state.used.input)
    usage.output_tokens = uint32(state.used.output)
    usage.cache_read_tokens = uint32(state.used.cached)
    usage.cache_creation_tokens = uint32(state.used.written)
    usage.duration_ms = uint32(duration_ms)
    usage.context_tokens = uint64(state.context_tokens)
    state.used = Counted()


def _report_context(builder: CodexEventBuilder) -> None:
    """How full the context is, when that has changed visibly."""
    state = builder.state
    percent = min(100.0 * state.context_tokens / state.window, 100.0) if state.window > 0 else 0.0
    if abs(percent - state.context_percent) < _PERCENT_STEP:
        return
    state.context_percent = percent
    say_info(builder)


def say_info(builder: CodexEventBuilder) -> v1.SessionInfo:
    state = builder.state
    info = builder.new_event().session_info
    info.session_id = builder.session.session_id
    info.model = state.model
    info.working_directory = state.cwd or builder.session.working_directory
    info.worktree_id = builder.session.worktree_id
    info.provider = builder.session.provider
    info.is_compacted = state.compacted
    info.context_usage_percent = state.context_percent
    info.models.extend(state.models)
    for name, status in state.mcp.items():
        info.mcp_servers.add(name=name, status=status)
    return info


# ---------------------------------------------------------------- its list of steps


def on_plan(news: frames.PlanNews, builder: CodexEventBuilder) -> None:
    if news.thread_id not in ("", builder.state.thread):
        return
    steps = [Todo(shortened(one.step, _LONGEST_STEP), _STATUS.get(one.status, v1.PENDING)) for one in news.plan]
    if steps[:_MOST_STEPS] == builder.state.todos:
        return
    builder.state.todos = steps[:_MOST_STEPS]
    update = builder.new_event().todo_update
    for number, todo in enumerate(builder.state.todos, 1):
        update.items.add(id=str(number), subject=todo.subject, status=v1.TodoStatus.ValueType(todo.status))
