"""Translates turns: a prompt begins one and its response ends it; our own agents may also begin one."""

import msgspec

from betcode.domain.error_codes import ErrorCode
from betcode.domain.values.text import shortened
from betcode.domain.values.times import rfc3339
from betcode.providers.acp import text, tools, usage
from betcode.providers.acp.advice import login_advice, needs_login
from betcode.providers.acp.event_builder import AcpEventBuilder
from betcode.providers.acp.state import Tokens
from betcode.providers.stored_state import remember
from betcode.v1 import agent_pb2 as v1
from betcode.wire.acp.decoder import plain, read
from betcode.wire.acp.extensions import KEY
from betcode.wire.acp.frames import Message, Params, Prompted, RpcError, Trouble

_LONGEST_ERROR = 4000
_DETAILS = ("details", "message", "error", "reason")  # fields in which agents explain an "Internal error"
_RATE_LIMITED = 429
_NS_OF_MS = 1_000_000
_STOP_REASONS = {"max_turn_requests": "max_turns"}
OWN = "agent"  # the origin of a turn that no message began


def on_prompt(key: str, message_id: str, builder: AcpEventBuilder) -> None:
    """Begin a turn with a message that was written to the agent."""
    state = builder.state
    if message_id in state.settled:
        return
    change = builder.new_event().message_state
    change.message_id = message_id
    change.state = v1.MESSAGE_STATE_DELIVERED
    if state.turn:
        state.waiting[key] = message_id  # the agent has just begun a turn of its own
    else:
        _begin_with(builder, key, message_id)


def on_own_turn(params: Params, builder: AcpEventBuilder) -> None:
    """Begin or end a turn that one of our own agent programs began by itself."""
    state = builder.state
    if params.state == "started" and not state.turn:
        _begin(builder, builder.unique("turn"))
        state.own_turn = True
    elif params.state == "ended" and state.own_turn:
        if params.error is not None:
            _fail(builder, params.error.message or "The turn failed", params.error)
        reason = params.stop_reason or ("error" if params.error else "end_turn")
        finish(builder, _reason(builder, reason))


def _begin_with(builder: AcpEventBuilder, key: str, message_id: str) -> None:
    _begin(builder, message_id)
    builder.state.turn_key, builder.state.message = key, message_id


def _begin(builder: AcpEventBuilder, turn_id: str) -> None:
    state = builder.state
    text.settle(builder)
    tools.close_all(builder)
    state.lost = False
    state.turn, state.own_turn, state.turn_id, state.turn_key = True, False, turn_id, ""
    state.turn_began_ns = builder.mono_ns
    state.turn_failed = state.interrupted = state.denied = False
    state.message, state.messages = "", 0
    state.used, state.has_usage = Tokens(), False
    builder.status(v1.THINKING)


def on_prompted(message: Message, builder: AcpEventBuilder) -> None:
    """End the turn of the prompt that was answered."""
    state = builder.state
    if message.key in state.waiting:
        _settle(builder, state.waiting.pop(message.key))  # the agent has consumed it, maybe in the other turn
        return
    if not state.turn or message.key != state.turn_key:
        if state.lost and message.error is None:
            _end_lost_turn(builder)
        return
    if message.error is not None:
        if not state.interrupted:
            _on_error(message.error, builder)
        finish(builder, _reason(builder, "error"))
        return
    prompted = read(message.result, Prompted) or Prompted(stop_reason="error")
    if prompted.stop_reason == "error":
        _fail(builder, "The response that ended the turn could not be read")
    finish(builder, _reason(builder, prompted.stop_reason or "end_turn"), prompted)


def _end_lost_turn(builder: AcpEventBuilder) -> None:
    builder.state.lost = False
    builder.notice(v1.NOTICE_KIND_RUN, "The last turn is incomplete: the dialogue's state was lost")
    builder.new_event().turn_complete.stop_reason = "end_turn"
    builder.turn_to(v1.IDLE)


def _reason(builder: AcpEventBuilder, stop_reason: str) -> str:
    state = builder.state
    if state.interrupted:
        return "cancelled"
    if stop_reason == "cancelled" and state.denied:
        return "end_turn"  # the agent ended the turn because a call was denied; no person cancelled it
    return _STOP_REASONS.get(stop_reason, stop_reason)


def finish(builder: AcpEventBuilder, reason: str, prompted: Prompted | None = None) -> None:
    """End the turn and everything that is open in it."""
    state = builder.state
    text.settle(builder, is_partial=reason == "cancelled")
    tools.close_all(builder)
    for request_id in list(state.requests):
        tools.withdraw(builder, request_id)
    answered = state.message
    if answered:
        _settle(builder, answered)
    usage.report(builder, prompted)
    complete = builder.new_event().turn_complete
    complete.stop_reason = reason
    complete.message_ids.extend([answered] if answered else [])
    complete.origin = OWN if state.own_turn else ""
    state.turn = state.own_turn = False
    state.served = True
    state.message = ""
    state.pause, state.pause_until_ns = "", 0
    if state.waiting:
        key = next(iter(state.waiting))
        _begin_with(builder, key, state.waiting.pop(key))
    else:
        builder.turn_to(v1.IDLE)


def _settle(builder: AcpEventBuilder, message_id: str) -> None:
    remember(builder.state.settled, message_id)
    change = builder.new_event().message_state
    change.message_id = message_id
    change.state = v1.MESSAGE_STATE_CONSUMED


# ---------------------------------------------------------------- errors


def _on_error(error: RpcError, builder: AcpEventBuilder) -> None:
    data = plain(error.data)
    text = error.message
    if isinstance(data, dict):
        if isinstance(data.get(KEY), dict):
            trouble = read(msgspec.json.encode(data[KEY]), Trouble) or Trouble()
            _fail(builder, trouble.message or text, trouble)
            return
        more = next((str(data[name]) for name in _DETAILS if data.get(name)), "")
        text = f"{text}: {more}" if more and more not in text else text
    elif isinstance(data, str) and data not in text:
        text = f"{text}: {data}"
    if needs_login(error):
        _fail(builder, text or "The agent is not logged in", Trouble(kind="auth", advice=login_advice(builder)))
        return
    _fail(builder, text or "The turn failed")


def _fail(builder: AcpEventBuilder, message: str, trouble: Trouble | None = None) -> None:
    trouble = trouble or Trouble()
    builder.state.turn_failed = True
    limited = trouble.kind == "rate_limit" or trouble.status == _RATE_LIMITED
    error = builder.new_event().error
    error.code = ErrorCode.RATE_LIMITED if limited else ErrorCode.AGENT_ERROR
    error.message = shortened(message, _LONGEST_ERROR)
    if trouble.status is not None:
        error.details["api_error_status"] = str(trouble.status)
    if trouble.kind:
        error.details["api_error_type"] = trouble.kind
    if reset_at := rfc3339(trouble.retry_at_ms * _NS_OF_MS):
        error.details["reset_at"] = reset_at
    if trouble.advice:
        error.message += f". What to do: {trouble.advice}"
        error.details["advice"] = trouble.advice
