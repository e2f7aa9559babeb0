"""Pauses while the model's API does not serve the agent: usage limit, overload, or a temporary failure."""

from betcode.domain.agents.agent_state import ApiPause, PauseKind
from betcode.domain.values.times import LATEST_NS, rfc3339
from betcode.providers.claude.event_builder import ClaudeEventBuilder
from betcode.providers.claude.state import State
from betcode.v1 import agent_pb2 as v1
from betcode.wire.frames import ApiRetry, RateLimit, RateLimits

_NS = 1_000_000_000
_MS = 1_000_000
_KINDS = {429: PauseKind.LIMIT, 503: PauseKind.OVERLOAD, 529: PauseKind.OVERLOAD}


def on_retry(frame: ApiRetry, builder: ClaudeEventBuilder) -> None:
    kind = _KINDS.get(frame.error_status or 0, PauseKind.OVERLOAD if frame.error == "overloaded" else PauseKind.API)
    delay_ms = int(min(max(0.0, frame.retry_delay_ms), LATEST_NS / _MS))
    _pause(builder, kind, builder.wall_ns + delay_ms * _MS)
    what = f"{frame.error or 'error'}{f' {frame.error_status}' if frame.error_status is not None else ''}"
    builder.notice(
        v1.NOTICE_KIND_API_RETRY,
        f"The model's API failed ({what}); trying again in {delay_ms / 1000:.1f} s "
        f"({frame.attempt} of {frame.max_retries})",
        attempt=str(frame.attempt),
        max_retries=str(frame.max_retries),
        retry_delay_ms=str(delay_ms),
        error=frame.error or "",
        error_status="" if frame.error_status is None else str(frame.error_status),
        waiting_for=kind,
        reset_at=rfc3339(builder.state.pause_until_ns),
    )


def on_rate_limit(frame: RateLimit, builder: ClaudeEventBuilder) -> None:
    limits = frame.rate_limit_info
    if limits.status in ("", "allowed"):
        if limits.status and builder.state.pause == PauseKind.LIMIT:
            resumed(builder.state)
        return
    reached = limits.status == "rejected" and not limits.uses_overage
    if reached:
        _pause(builder, PauseKind.LIMIT, _reset_ns(limits))
    reset_at = rfc3339(_reset_ns(limits))
    builder.notice(
        v1.NOTICE_KIND_AGENT,
        f"The usage limit{f' ({limits.kind})' if limits.kind else ''} is {'reached' if reached else 'near'}"
        f"{f'; it is reset at {reset_at}' if reset_at else ''}",
        status=limits.status,
        limit=limits.kind or "",
        resets_at="" if limits.resets_at is None else str(int(_reset_ns(limits) / _NS)),
        reset_at=reset_at,
        waiting_for=PauseKind.LIMIT if reached else "",
    )


def resumed(state: State) -> None:
    """The API has answered."""
    state.pause, state.pause_until_ns = "", 0


def turn_over(builder: ClaudeEventBuilder) -> None:
    """Nobody tries again any more; a limit holds until it is reset, whoever asks."""
    if builder.state.pause != PauseKind.LIMIT or builder.state.pause_until_ns <= builder.wall_ns:
        resumed(builder.state)


def api_pause(state: State) -> ApiPause | None:
    return ApiPause(PauseKind(state.pause), state.pause_until_ns) if state.pause else None


def _reset_ns(limits: RateLimits) -> int:
    if limits.resets_at is None or not limits.resets_at > 0:  # what is no number is not known either
        return 0
    return int(min(limits.resets_at, LATEST_NS // _NS)) * _NS


def _pause(builder: ClaudeEventBuilder, kind: PauseKind, until_ns: int) -> None:
    builder.state.pause, builder.state.pause_until_ns = kind.value, min(until_ns, LATEST_NS)
