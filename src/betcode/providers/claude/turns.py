"""Translates turns: each begins with the agent's first output, ends with its result, and names its messages."""

from collections.abc import Iterable

from betcode.domain.error_codes import ErrorCode
from betcode.domain.values.text import shortened
from betcode.domain.values.times import rfc3339
from betcode.providers.claude import api_pauses
from betcode.providers.claude.advice import failure_in
from betcode.providers.claude.event_builder import ClaudeEventBuilder
from betcode.providers.claude.state import State, await_message
from betcode.providers.event_builder import dollars, uint32, uint64
from betcode.providers.stored_state import remember
from betcode.v1 import agent_pb2 as v1
from betcode.wire.frames import (
    ApiUsage,
    Assistant,
    CommandLifecycle,
    ControlRequest,
    ControlResponse,
    ModelUsage,
    Result,
    User,
)

_RATE_LIMITED = 429
_COMPACT = "compact"
_PERCENT_STEP = 0.5  # a smaller change of the context's filling is not worth an event
_LONGEST_ERROR = 4000
WITHDRAWN = "withdrawn"  # why a message was cancelled
POINT_SEPARATOR = "@"  # between a conversation's id and the message where it can be forked
_ERRORS_TAKEN = 3


def begin(builder: ClaudeEventBuilder) -> None:
    """A turn is open from here on, if none was."""
    if not builder.state.turn:
        builder.state.turn = True
        builder.state.turn_failed = False
        builder.status(v1.THINKING)


def rest(builder: ClaudeEventBuilder) -> None:
    """Say that the agent is idle, once nothing is open and nothing is queued."""
    state = builder.state
    if not state.turn and not state.pending and state.status not in (0, v1.IDLE):
        builder.status(v1.IDLE)


def pass_point(builder: ClaudeEventBuilder, message_uuid: str) -> None:
    """The conversation has come to this message."""
    builder.state.point = message_uuid or builder.state.point


# ---------------------------------------------------------------- messages


def on_delivered(frame: User, builder: ClaudeEventBuilder) -> None:
    """A person's message has been written to the agent."""
    if frame.uuid and frame.uuid not in builder.state.settled:
        await_message(builder.state, frame.uuid)
        _message_state(builder, frame.uuid, v1.MESSAGE_STATE_DELIVERED)


def on_lifecycle(frame: CommandLifecycle, builder: ClaudeEventBuilder) -> None:
    state, message_id = builder.state, frame.command_uuid
    state.has_lifecycle = True
    if message_id not in state.pending:
        _on_own_turn(frame, builder)
        return
    match frame.state:
        case "queued":
            state.pending[message_id] = max(state.pending[message_id], 1)
        case "started":
            state.pending[message_id] = 2
        case "completed" if state.own_turn and state.pending[message_id] == 0:
            state.repeats.append(message_id)
        case "completed":
            _settle(builder, message_id, v1.MESSAGE_STATE_CONSUMED)
        case "cancelled":
            reason = WITHDRAWN if message_id in state.withdrawing.values() else ""
            _settle(builder, message_id, v1.MESSAGE_STATE_CANCELLED, reason)
        case _:
            pass
    rest(builder)


def on_withdrawn(frame: ControlResponse, builder: ClaudeEventBuilder) -> None:
    """The agent has let go of a message or, having begun with it, has not; what it said of the message counts first."""
    message_id = builder.state.withdrawing.pop(frame.response.request_id)
    answer, begun = frame.response.response, builder.state.pending.get(message_id, 2) == 2
    if answer is not None and bytes(answer.cancelled) == b"true" and not begun:
        _settle(builder, message_id, v1.MESSAGE_STATE_CANCELLED, WITHDRAWN)
        rest(builder)


def _on_own_turn(frame: CommandLifecycle, builder: ClaudeEventBuilder) -> None:
    """A repeat is said to be completed at once, though the turn it belongs to may only be continued."""
    state = builder.state
    if frame.state == "started":
        state.own_turn = frame.command_uuid
    elif frame.command_uuid == state.own_turn and frame.state in ("completed", "cancelled"):
        state.own_turn = ""
        for message_id in state.repeats:
            _settle(builder, message_id, v1.MESSAGE_STATE_CONSUMED)
        state.repeats.clear()
        rest(builder)


def _message_state(
    builder: ClaudeEventBuilder, message_id: str, to: v1.MessageState.ValueType, reason: str = ""
) -> None:
    change = builder.new_event().message_state
    change.message_id = message_id
    change.state = to
    change.reason = reason


def _settle(builder: ClaudeEventBuilder, message_id: str, to: v1.MessageState.ValueType, reason: str = "") -> None:
    builder.state.pending.pop(message_id, None)
    if message_id not in builder.state.settled:
        remember(builder.state.settled, message_id)
        _message_state(builder, message_id, to, reason)


def _answered(frame: Result, state: State) -> list[str]:
    """The messages that a result ends; where it names none, those the agent had started or never acknowledged."""
    if frame.user_message_uuids or frame.user_message_uuid:
        return frame.user_message_uuids or [frame.user_message_uuid or ""]
    if frame.origin is not None:
        return []
    return begun_messages(state)


def begun_messages(state: State) -> list[str]:
    """The messages that the agent has started with or never acknowledged."""
    stage = 2 if state.has_lifecycle else 0
    return [message_id for message_id, reached in state.pending.items() if reached >= stage]


# ---------------------------------------------------------------- the end of a turn


def on_result(frame: Result, builder: ClaudeEventBuilder) -> None:
    state = builder.state
    if _did_not_start(frame, state):
        # No turn was begun, so none ends: the agent's end comes next, and the engine judges it.
        state.stillborn = True
        state.errors += [said for said in map(str.strip, frame.errors[:_ERRORS_TAKEN]) if said not in state.errors]
        return
    reason = _stop_reason(frame, state)
    answered = _answered(frame, state)
    for message_id in answered:
        _settle(builder, message_id, v1.MESSAGE_STATE_CONSUMED, "cancelled" if reason == "cancelled" else "")
    if reason == "error" and state.compact_error:
        _compaction_failed(builder)
    elif reason == "error" and not state.turn_failed:
        text = "; ".join(frame.errors) or frame.result or "The turn failed"
        _error(builder, text, frame.api_error_status, frame.api_error_type or "")
    _report_context(frame, builder)
    _report_usage(frame, builder)
    end_turn(builder, reason, answered, frame.origin.kind if frame.origin else "")


def _did_not_start(frame: Result, state: State) -> bool:
    """A result without a turn is how the agent says that it could not take up the conversation."""
    return (
        frame.is_error and not frame.num_turns and bool(frame.errors) and not state.turn and not frame.terminal_reason
    )


def end_turn(builder: ClaudeEventBuilder, reason: str, answered: Iterable[str] = (), origin: str = "") -> None:
    state = builder.state
    complete = builder.new_event().turn_complete
    complete.stop_reason = reason
    complete.message_ids.extend(answered)
    complete.origin = origin
    if state.point:
        complete.fork_point = f"{state.conversation_id}{POINT_SEPARATOR}{state.point}"
    state.turn = False
    state.compact_error = ""
    state.interrupted = False
    api_pauses.turn_over(builder)
    state.stream = None
    state.next_block.clear()
    # What the main thread left open will never end; a background agent's calls go on.
    state.tools = {name: tool for name, tool in state.tools.items() if tool.parent}
    if not state.pending:
        builder.turn_to(v1.IDLE)


def _stop_reason(frame: Result, state: State) -> str:
    how = frame.terminal_reason or ""
    if state.compact_error and frame.local_command == _COMPACT:  # its result calls that a success
        return "cancelled" if state.interrupted else "error"
    if how.startswith("aborted"):
        return "cancelled"
    if how == "max_turns" or frame.subtype == "error_max_turns":
        return "max_turns"
    if frame.subtype.startswith("error_max_budget"):
        return "max_budget"
    if frame.is_error or frame.subtype.startswith("error"):
        return "error"
    return frame.stop_reason or "end_turn"


def on_api_error(frame: Assistant, text: str, builder: ClaudeEventBuilder) -> None:
    """What the model's API refused; the turn ends with it, the agent does not."""
    builder.state.turn_failed = True
    _error(builder, text, frame.api_error_status, frame.api_error_type or frame.error or "")


def _compaction_failed(builder: ClaudeEventBuilder) -> None:
    error = builder.new_event().error
    error.code = ErrorCode.COMPACTION_FAILED
    error.message = "Session compaction failed"
    error.details["reason"] = builder.state.compact_error


def _error(builder: ClaudeEventBuilder, text: str, status: int | None, kind: str) -> None:
    error = builder.new_event().error
    limited = status == _RATE_LIMITED or kind.startswith("rate_limit")
    error.code = ErrorCode.RATE_LIMITED if limited else ErrorCode.AGENT_ERROR
    error.message = shortened(text, _LONGEST_ERROR)
    if status is not None:
        error.details["api_error_status"] = str(status)
    if kind:
        error.details["api_error_type"] = kind
    if limited and (reset_at := rfc3339(builder.state.pause_until_ns)):
        error.details["reset_at"] = reset_at
    if (failure := failure_in([text])) is not None:
        error.message += f". What to do: {failure.advice}"
        error.details["advice"] = failure.advice


# ---------------------------------------------------------------- usage


def context_tokens(usage: ApiUsage) -> int:
    return usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens + usage.output_tokens


def read_tokens(usage: ApiUsage) -> int:
    """What the model read at one call, as far as it was no news to its cache."""
    return usage.input_tokens + usage.cache_read_input_tokens


def on_interrupt(frame: ControlRequest, builder: ClaudeEventBuilder) -> None:
    """We told the agent to stop."""
    if frame.request.subtype == "interrupt" and (builder.state.turn or builder.state.pending):
        builder.state.interrupted = True


def _report_usage(frame: Result, builder: ClaudeEventBuilder) -> None:
    """One turn's tokens and cost, its subagents' included."""
    state = builder.state
    since = frame.model_usage_since_last_result
    # The total is cumulative over the session, but a killed process takes its part with it and the next one counts from
    # less. The agent's own count since its last result is right in both cases; older agents do not give it.
    if since is not None:
        cost = sum(part.cost_usd for part in since.values())
    elif frame.total_cost_usd >= state.total_cost:
        cost = frame.total_cost_usd - state.total_cost
    else:
        cost = frame.total_cost_usd
    state.total_cost = dollars(frame.total_cost_usd)
    usage = builder.new_event().usage
    usage.model = _model(since, state)
    usage.cost_usd = dollars(cost)
    usage.duration_ms = uint32(frame.duration_ms)
    # A result adds up all calls of its turn, each of which reads the context anew: only the last one tells its size.
    usage.context_tokens = uint64(state.read_tokens or (read_tokens(frame.usage) if frame.usage else 0))
    if since:
        _add_up(usage, since.values())
    elif frame.usage is not None:
        usage.input_tokens = uint32(frame.usage.input_tokens)
        usage.output_tokens = uint32(frame.usage.output_tokens)
        usage.cache_read_tokens = uint32(frame.usage.cache_read_input_tokens)
        usage.cache_creation_tokens = uint32(frame.usage.cache_creation_input_tokens)


def _add_up(usage: v1.UsageReport, parts: Iterable[ModelUsage]) -> None:
    parts = list(parts)
    usage.input_tokens = uint32(sum(part.input_tokens for part in parts))
    usage.output_tokens = uint32(sum(part.output_tokens for part in parts))
    usage.cache_read_tokens = uint32(sum(part.cache_read_tokens for part in parts))
    usage.cache_creation_tokens = uint32(sum(part.cache_creation_tokens for part in parts))


def _model(since: dict[str, ModelUsage] | None, state: State) -> str:
    return next(iter(since)) if since and len(since) == 1 else state.model


def _report_context(frame: Result, builder: ClaudeEventBuilder) -> None:
    """How full the agent's context is, when that has changed visibly."""
    state = builder.state
    model = frame.model_usage.get(state.model)
    if model is None or model.context_window <= 0 or not state.context_tokens:
        return
    percent = min(100.0 * state.context_tokens / model.context_window, 100.0)
    if abs(percent - state.context_percent) < _PERCENT_STEP:
        return
    state.context_percent = percent
    info = builder.new_event().session_info
    info.session_id = builder.session.session_id
    info.model = state.model
    info.working_directory = builder.session.working_directory
    info.worktree_id = builder.session.worktree_id
    info.provider = builder.session.provider
    info.is_compacted = state.compacted
    info.context_usage_percent = percent
