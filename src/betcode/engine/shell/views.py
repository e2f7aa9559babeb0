"""Build the values that decisions read from a session in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from betcode.engine.core.view import RunView, SessionView

if TYPE_CHECKING:
    from betcode.engine.shell.run import AgentRun
    from betcode.engine.shell.session import LiveSession


def session_view(session: LiveSession) -> SessionView:
    return SessionView(
        info=session.writer.new,
        state=session.writer.state,
        capabilities=session.capabilities,
        inputs=session.inputs,
        prompts=session.prompts,
        orphaned=session.orphaned,
        budget_prompt=session.budget.prompt,
        closed_reason=session.stop_request.closed_reason,
        stopped_by=session.stop_request.client,
        backing_off=session.recovery.crashed,
        is_compacting=session.compaction is not None,
    )


def agent_view(session: LiveSession) -> RunView | None:
    """The session's agent, if it has one."""
    return None if session.run is None else run_view(session.run)


def run_view(run: AgentRun) -> RunView:
    return RunView(
        row=run.row,
        turn_open=run.dialogue.view.turn_open,
        answering=run.dialogue.view.answering,
        asked_to_end=run.flags.asked_to_end,
        stopped=run.flags.stopped,
    )
