"""Restart a session under its own id: a new agent continues its conversation."""

import logging
from collections.abc import Mapping
from dataclasses import replace

import anyio

from betcode.domain.agents.provider_config import PREFIX
from betcode.domain.errors import AgentUnavailable, BetcodeError, SessionNotReady
from betcode.domain.sessions.phase import Phase
from betcode.domain.store.changes import SaveBinding, SaveMetadata
from betcode.engine.core.decision import Decision, UseMetadata
from betcode.engine.fault_points import FaultPoint
from betcode.engine.maintenance.shutdown import kill
from betcode.engine.operations.cancel import cancel_turn
from betcode.engine.operations.close import close
from betcode.engine.operations.lifecycle.stop import at_rest
from betcode.engine.operations.lifecycle.warm_start import BackgroundResult, begin
from betcode.engine.shell.session import LiveSession

logger = logging.getLogger(__name__)

_CANCELLED_WITHIN_S = 30.0  # interrupt, SIGINT, SIGTERM, and in the end everything is killed
_END_WITHIN_S = 8.0
_KILLED_WITHIN_S = 20.0


def reconfigured(metadata: Mapping[str, str], config: Mapping[str, str]) -> dict[str, str]:
    """The same with another configuration of the provider; an empty one leaves it as it was."""
    if not config:
        return dict(metadata)
    rest = {name: value for name, value in metadata.items() if not name.startswith(PREFIX)}
    return rest | {PREFIX + name: value for name, value in config.items()}


async def restart(session: LiveSession, config: Mapping[str, str], within_s: float) -> None:
    """End its agent, cancelling the turn at hand, and start another one.

    Raises:
        InvalidRequest: the configuration is not the provider's; nothing was done.
        SessionClosed, SessionNotReady: it is not live.
        AgentUnavailable, AgentMemoryExhausted: no other agent starts, and the session is closed for that reason.
        SessionFailed: an internal error stopped it.
    """
    metadata = reconfigured(session.writer.new.metadata, config)
    session.provider.check_session(replace(session.writer.new, metadata=metadata))
    async with session.changing():
        if session.phase is Phase.STOPPING:
            raise SessionNotReady(session.session_id, session.phase, "not being stopped")
        session.refuse_if_closed()
        if session.run is not None or not session.at_rest:
            session.lifecycle.stops()
        session.tell_phase()
    outcome = BackgroundResult()
    await session.tasks.complete(FaultPoint.RESTART, _carry_out, session, metadata, within_s, outcome)
    outcome.check()


async def _carry_out(
    session: LiveSession, metadata: Mapping[str, str], within_s: float, outcome: BackgroundResult
) -> None:
    try:
        await _set_back(session, metadata)
        await begin(session, within_s)  # where no agent starts, the session is closed there
    except BetcodeError as trouble:
        outcome.trouble = trouble


async def _set_back(session: LiveSession, metadata: Mapping[str, str]) -> None:
    """To where it was before its agent was started; where that cannot be, the session is closed."""
    try:
        await _make_way(session)
        async with session.changing():
            session.refuse_if_closed()
            _refuse_if_stopped(session)
            binding = replace(session.binding, restart_count=session.binding.restart_count + 1)
            key = session.writer.key
            await session.perform_locked(
                Decision(
                    changes=(SaveBinding(key, binding), SaveMetadata(key, metadata)), effects=(UseMetadata(metadata),)
                )
            )
            session.lifecycle.stop_is_over()
            session.lifecycle.starts()
            session.tell_phase()
    except BetcodeError as trouble:
        is_ours = session.lifecycle.is_stopping and not session.binding.stop_by_ns
        if is_ours and not session.is_closed:
            logger.warning("the session could not be restarted: %s", trouble, extra=session.log_extra)
            await close(session, failure=trouble.message)
        raise


def _refuse_if_stopped(session: LiveSession) -> None:
    """A stop that came while way was made goes first."""
    if session.binding.stop_by_ns:
        raise SessionNotReady(session.session_id, session.phase, "not being stopped")


async def _make_way(session: LiveSession) -> None:
    """No turn and no agent."""
    if not session.at_rest:
        await cancel_turn(session, cancel_queued=True)
        if not await at_rest(session, _CANCELLED_WITHIN_S):
            raise AgentUnavailable("The current turn could not be ended")
    run = session.run
    if run is None:
        return
    with anyio.move_on_after(_END_WITHIN_S):
        await run.end()
    if session.run is run:
        with anyio.move_on_after(_KILLED_WITHIN_S):
            await kill(session.context, [run])
    if session.run is run:
        raise AgentUnavailable("The running agent could not be ended")
