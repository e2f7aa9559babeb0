"""Facts about the end of an agent, for tests: a crash in a turn, but for what a case names."""

from collections.abc import Mapping
from typing import Any

from betcode.domain.agents.agent_state import Failure
from betcode.domain.runs.crash_policy import CrashHistory
from betcode.domain.runs.exit_record import ExitRecord
from betcode.domain.runs.state import RunStimulus
from betcode.domain.sessions.status import SessionStatus
from betcode.domain.store.rows import InputState, SessionState
from betcode.engine.core.exit import (
    ExitFacts,
    RunExit,
    classify_exit,
    exit_effects,
)
from support.engine.core_values import (
    NOW_NS,
    brief,
    moves,
    run,
    session,
)

ENDED, FAILED, KILLED = ExitRecord(0), ExitRecord(1), ExitRecord(signal="SIGKILL")
ACTIVE = SessionState(status=SessionStatus.ACTIVE)
IDLE = SessionState(status=SessionStatus.IDLE)
CLOSED = SessionState(status=SessionStatus.CLOSED)
CANCELLED, CONSUMED, UNKNOWN = InputState.CANCELLED, InputState.CONSUMED, InputState.UNKNOWN
CRASHED, GIVEN_UP = RunStimulus.AGENT_CRASHED, RunStimulus.GIVEN_UP
FIRST = CrashHistory((NOW_NS,), 1)
MANY = CrashHistory((NOW_NS - 4, NOW_NS - 3, NOW_NS - 2, NOW_NS - 1), 4)
WRONG_KEY = Failure("log in")
CRASH_ERROR, START_ERROR = "error SUBPROCESS_CRASHED", "error AGENT_UNAVAILABLE"
COMPACTION_ERROR = "error COMPACTION_FAILED"
NO_START = ["status ERROR", START_ERROR, "turn crashed", "status IDLE"]
GAVE_UP = ["status ERROR", CRASH_ERROR, "turn crashed", "status IDLE"]


def facts(*inputs: Any, state: SessionState = ACTIVE, exited: ExitRecord | None = KILLED, **more: Any) -> ExitFacts:
    """An agent that was killed in a turn, but for what a row says."""
    names = ("capabilities", "budget_prompt", "prompts", "orphaned", "backing_off")
    about = {name: more.pop(name) for name in names if name in more}
    agent = more.pop("agent", run(turn_open=True))
    return ExitFacts(session(*inputs, state=state, **about), agent, exited, **{"has_spoken": True, **more})


def quiet(*inputs: Any, **more: Any) -> ExitFacts:
    """An agent that never said anything."""
    return facts(*inputs, **{"agent": run(), "has_spoken": False, **more})


def decided(case: ExitFacts) -> tuple[RunExit, list[str], Mapping[str, object]]:
    end = classify_exit(case, NOW_NS)
    decision = exit_effects(case, end, (), NOW_NS)
    assert moves(decision.changes) == end.fates
    return end, brief(decision.events), decision.fields
