"""Pauses while the model's API does not serve the agent; only our own programs report them."""

from betcode.domain.agents.agent_state import ApiPause, PauseKind
from betcode.domain.values.times import LATEST_NS
from betcode.providers.acp.event_builder import AcpEventBuilder
from betcode.providers.acp.state import State
from betcode.v1 import agent_pb2 as v1
from betcode.wire.acp.frames import Params

_NS_OF_MS = 1_000_000
_WORDS = {
    PauseKind.LIMIT: "Rate limit reached; the agent is waiting",
    PauseKind.OVERLOAD: "The model's API is overloaded; the agent is retrying",
    PauseKind.API: "The model's API failed; the agent is retrying",
}


def on_pause(params: Params, builder: AcpEventBuilder) -> None:
    state = builder.state
    if params.kind not in _WORDS:
        resumed(builder)
        return
    state.pause = params.kind
    state.pause_until_ns = min(max(params.until_ms, 0) * _NS_OF_MS, LATEST_NS)
    builder.notice(v1.NOTICE_KIND_API_RETRY, _WORDS[PauseKind(params.kind)], kind=params.kind)


def resumed(builder: AcpEventBuilder) -> None:
    """End the pause: the agent's output shows that the API serves it."""
    builder.state.has_spoken = True
    if builder.state.pause:
        builder.state.pause, builder.state.pause_until_ns = "", 0


def api_pause(state: State) -> ApiPause | None:
    return ApiPause(PauseKind(state.pause), state.pause_until_ns) if state.pause else None
