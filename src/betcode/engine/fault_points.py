"""Every named place in the engine where a test can raise an error or end the process.

Production code calls `faults` with a function that does nothing. `daemon/faults.py` reads the places from the
environment of a daemon that a test started.
"""

from enum import StrEnum
from typing import Protocol


class Faults(Protocol):
    """Called at a named place; `session_id` is empty where the place belongs to no session."""

    def __call__(self, place: str, session_id: str = "", /) -> None: ...


def no_faults(place: str, session_id: str = "", /) -> None:
    """Inject nothing."""


class FaultPoint(StrEnum):
    """The places of one session's work. A place that names a task is reached when the task begins."""

    # Tasks of a session.
    RUN = "run"
    ADOPT = "adopt"
    RECOVERY_WAIT = "recovery-wait"
    HANG_END = "hang-end"
    CANCEL_STEPS = "cancel-steps"
    CANCEL_SWEEP = "cancel-sweep"
    RULE_CHECK = "rule-check"
    WIND_UP = "wind-up"
    WARM_START = "warm-start"
    STOP = "stop"
    FINISH_STOP = "finish-stop"
    RESTART = "restart"
    RETIRE = "retire"
    COMPACTION = "compaction"
    BUDGET_CHECK = "budget-check"
    PROMPT_EXTENSION = "prompt-extension"
    PRESENCE = "presence"
    LOCK_CLOCK = "lock-clock"
    DRAIN = "drain"
    # Steps inside these tasks, and steps that run in a task of the engine or in a call.
    RUN_INIT = "run-init"
    ADOPT_INIT = "adopt-init"
    CLASSIFY_EXIT = "classify-exit"
    CANCEL_STEP = "cancel-step"
    RECOVERY_RESUME = "recovery-resume"
    ADVANCE = "advance"
    IDLE_CHECK = "idle-check"
    MAINTENANCE = "maintenance"
    CALL_SCREENING = "call-screening"
    PROMPT_EXPIRY = "prompt-expiry"
    SESSION_TIMEOUT = "session-timeout"
    SHUTDOWN = "shutdown"
    LOAD = "load"
    SETTLE = "settle"
    # Steps at which tests also end the process.
    RUN_CREATED = "run-created"
    AFTER_READING = "after-reading"
    AFTER_HAND_OVER = "after-hand-over"
    AFTER_ANSWER = "after-answer"
    AFTER_COMPACTION_ASKED = "after-compaction-asked"
    AFTER_EXPIRY = "after-expiry"
    BEFORE_BUDGET_PROMPT = "before-budget-prompt"
    CANCEL_SIGNALLED = "cancel-signalled"
    CANCEL_ENDING = "cancel-ending"
    DELETE_MARKED = "delete-marked"
    DELETE_FILES_REMOVED = "delete-files-removed"
