"""Translates token usage: from the prompt's response, from updates, or call by call."""

from betcode.providers.acp.about import add_session_info
from betcode.providers.acp.event_builder import AcpEventBuilder
from betcode.providers.acp.state import Tokens
from betcode.providers.event_builder import dollars, uint32, uint64
from betcode.wire.acp.frames import Params, Prompted, Update

_DIGITS = 9  # of a dollar amount: a difference of two totals has rounding errors
_PERCENT_STEP = 0.5  # smaller changes of the context usage are not reported


def on_update(update: Update, builder: AcpEventBuilder) -> None:
    """Store the context usage and the cost of the conversation so far."""
    state = builder.state
    if update.used is not None:
        state.context_tokens = max(update.used, 0)
    if update.size:
        state.context_size = update.size
    if update.cost is not None and update.cost.currency in ("", "USD"):
        state.cost = dollars(update.cost.amount)


def on_call(params: Params, builder: AcpEventBuilder) -> None:
    """Add the tokens of one model call, which only our own agent programs report."""
    state = builder.state
    used = state.used
    state.has_usage = True
    state.used = Tokens(
        uint64(used.input + max(params.input_tokens, 0)),
        uint64(used.output + max(params.output_tokens, 0)),
        uint64(used.cached_read + max(params.cached_read_tokens, 0)),
        uint64(used.cached_write + max(params.cached_write_tokens, 0)),
        dollars(used.cost_usd + params.cost_usd),
    )
    state.model = params.model or state.model
    state.context_tokens = max(params.context_tokens, 0) or state.context_tokens
    state.context_size = params.context_size or state.context_size


def report(builder: AcpEventBuilder, prompted: Prompted | None) -> None:
    """Add an event with the turn's tokens and cost."""
    state = builder.state
    _report_context(builder)
    tokens = state.used if state.has_usage else _tokens(prompted)
    cost = state.used.cost_usd
    if state.cost:
        # A new process may count from zero, although the conversation is the same.
        cost += state.cost - state.total_cost if state.cost >= state.total_cost else state.cost
        state.total_cost = state.cost
    usage = builder.new_event().usage
    usage.input_tokens = uint32(tokens.input)
    usage.output_tokens = uint32(tokens.output)
    usage.cache_read_tokens = uint32(tokens.cached_read)
    usage.cache_creation_tokens = uint32(tokens.cached_write)
    usage.model = _model(prompted) or state.model
    usage.cost_usd = round(dollars(cost), _DIGITS)
    usage.duration_ms = uint32((builder.mono_ns - state.turn_began_ns) / 1_000_000)
    usage.context_tokens = uint64(state.context_tokens)


def _tokens(prompted: Prompted | None) -> Tokens:
    if prompted is None:
        return Tokens()
    usage = prompted.usage
    if usage is not None:
        tokens = Tokens(
            usage.input_tokens, usage.output_tokens, usage.cached_read_tokens or 0, usage.cached_write_tokens or 0
        )
        counted = tokens.input + tokens.output + tokens.cached_read + tokens.cached_write
        if usage.thought_tokens and counted + usage.thought_tokens == usage.total_tokens:
            tokens.output += usage.thought_tokens  # some agents include them in the output, some do not
        return tokens
    quota = prompted.meta.quota if prompted.meta else None
    if quota is not None and quota.token_count is not None:
        return Tokens(quota.token_count.input_tokens, quota.token_count.output_tokens)
    return Tokens()


def _model(prompted: Prompted | None) -> str:
    quota = prompted.meta.quota if prompted and prompted.meta else None
    return quota.model_usage[0].model if quota and len(quota.model_usage) == 1 else ""


def _report_context(builder: AcpEventBuilder) -> None:
    """Report the context usage if it has changed visibly."""
    state = builder.state
    if not state.context_tokens or state.context_size <= 0:
        return
    percent = min(100.0 * state.context_tokens / state.context_size, 100.0)
    if abs(percent - state.context_percent) >= _PERCENT_STEP:
        state.context_percent = percent
        add_session_info(builder)
