"""Values for tests of the engine's core: sessions, runs and rows with defaults, and a short form of events."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from betcode.domain.agents.capabilities import Capabilities
from betcode.domain.permissions.audit import DecidedBy
from betcode.domain.runs.state import CancelStep, RunState
from betcode.domain.sessions.status import SessionStatus
from betcode.domain.store.changes import AddAudit, Change, MoveInput, SavePrompt
from betcode.domain.store.rows import (
    InputKind,
    InputRow,
    InputState,
    NewSession,
    PromptKind,
    PromptRow,
    RunRow,
    SessionState,
)
from betcode.domain.values.identifiers import RunId, RunKey, Seq, SessionId, SessionKey
from betcode.engine.core.view import RunView, SessionView
from betcode.v1 import agent_pb2 as v1

SESSION = SessionId("0199d2a0-0001-7000-8000-000000000001")
KEY = SessionKey(1)
RUN = RunKey(7)
EARLIER_RUN = RunKey(6)
NOW_NS = 1_000_000_000_000

CAPABLE = Capabilities(
    resume=True,
    continues_broken_turn=True,
    interrupt=True,
    permissions=True,
    deltas=True,
    recognises_repeats=True,
    compaction=True,
)
FORGETFUL = replace(CAPABLE, recognises_repeats=False, continues_broken_turn=False)


def message(input_id: str, *, run: RunKey | None = None, number: int = 0) -> InputRow:
    state = InputState.ACCEPTED if run is None else InputState.DELIVERED
    return InputRow(input_id, KEY, InputKind.MESSAGE, b"", state, run, number)


def given(input_id: str, number: int = 1) -> InputRow:
    """A message that the run has."""
    return message(input_id, run=RUN, number=number)


def other(kind: InputKind, input_id: str = "", *, run: RunKey | None = None, number: int = 0, **more: Any) -> InputRow:
    return InputRow(input_id or str(kind), KEY, kind, b"", run=run, number=number, **more)


def prompt(request_id: str = "p1", **more: Any) -> PromptRow:
    row = PromptRow(request_id, KEY, RUN, PromptKind.PERMISSION, "Edit", '{"a":1}', b"", Seq(1), NOW_NS)
    return replace(row, **more)


def session(*inputs: InputRow, state: SessionState | None = None, **more: Any) -> SessionView:
    return SessionView(
        NewSession(SESSION, "claude", "/work"),
        state or SessionState(status=SessionStatus.ACTIVE),
        more.pop("capabilities", CAPABLE),
        {row.input_id: row for row in inputs},
        **more,
    )


def run(step: CancelStep = CancelStep.NONE, *, key: RunKey = RUN, cancel_queued: bool = False, **more: Any) -> RunView:
    row = RunRow(key, KEY, RunId("r"), RunState.RUNNING, 1, cancel_step=step, cancel_queued=cancel_queued)
    return RunView(row, **more)


def brief(events: Iterable[v1.AgentEvent]) -> list[str]:
    """Each event as its kind and what tells it from others of that kind."""
    return [_brief(event) for event in events]


def _brief(event: v1.AgentEvent) -> str:
    match event.WhichOneof("event"):
        case "status_change":
            return f"status {v1.AgentStatus.Name(event.status_change.status)}"
        case "turn_complete":
            return " ".join(["turn", event.turn_complete.stop_reason, *event.turn_complete.message_ids])
        case "message_state":
            state = v1.MessageState.Name(event.message_state.state).removeprefix("MESSAGE_STATE_")
            return f"message {event.message_state.message_id} {state}"
        case "error":
            return f"error {event.error.code}"
        case "permission_resolved":
            return f"{event.permission_resolved.resolution} {event.permission_resolved.request_id}"
        case kind:
            return kind or ""


def moves(changes: Iterable[Change]) -> dict[str, InputState]:
    return {change.input_id: change.state for change in changes if isinstance(change, MoveInput)}


def saved_prompts(changes: Iterable[Change]) -> dict[str, PromptRow]:
    return {change.row.request_id: change.row for change in changes if isinstance(change, SavePrompt)}


def audited(changes: Iterable[Change]) -> list[tuple[str, str, DecidedBy]]:
    entries = [change.entry for change in changes if isinstance(change, AddAudit)]
    return [(entry.request_id, entry.outcome, entry.decided_by) for entry in entries]
