"""Advice for failures that a restart does not fix."""

from collections.abc import Sequence

from betcode.domain.agents.agent_state import Failure
from betcode.domain.values.text import shortened, without_escapes
from betcode.providers.acp.event_builder import AcpEventBuilder
from betcode.providers.acp.profile import Profile
from betcode.providers.acp.state import State
from betcode.wire.acp.frames import AuthMethod, RpcError

AUTH_REQUIRED = -32000
_MOST_LOGINS = 6
_LONGEST = 300


def needs_login(error: RpcError) -> bool:
    return error.code == AUTH_REQUIRED or "auth_required" in error.message.lower()


def ways_in(methods: Sequence[AuthMethod]) -> list[str]:
    """Return the ways to log in that the agent offers."""
    said = (f"{each.name}: {each.description}" if each.description else each.name for each in methods[:_MOST_LOGINS])
    return [shortened(" ".join(without_escapes(each).split()), _LONGEST) for each in said if each]


def login_advice(builder: AcpEventBuilder) -> str:
    ways = builder.profile.login or "log in with the agent's own program"
    offered = "; ".join(builder.state.logins)
    return f"{ways} (the agent offers: {offered})" if offered else ways


def failure_of(state: State, profile: Profile) -> Failure | None:
    """Return why the handshake failed; None if it did not."""
    if not state.trouble:
        return None
    if state.is_gone:
        return Failure(state.trouble, has_conversation=False, did_nothing=True)
    return Failure(state.trouble or f"read the output of {profile.title}", did_nothing=True)
