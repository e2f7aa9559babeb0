"""Exits that are no crash, and those of cancelled agents: what is recorded, and what becomes of the messages."""

from dataclasses import replace

import pytest

from betcode.domain.runs.state import CancelStep, RunStimulus
from betcode.domain.sessions.status import SessionStatus
from betcode.domain.sessions.transcript import TranscriptEnd
from betcode.domain.store.rows import NO_CRASHES, InputKind, InputState
from betcode.engine.core.exit import (
    ExitFacts,
)
from support.engine.core_values import (
    EARLIER_RUN,
    FORGETFUL,
    RUN,
    given,
    message,
    other,
    run,
)
from support.engine.exit_facts import (
    ACTIVE,
    CANCELLED,
    CLOSED,
    COMPACTION_ERROR,
    CONSUMED,
    ENDED,
    IDLE,
    UNKNOWN,
    WRONG_KEY,
    decided,
    facts,
    quiet,
)

NOT_A_CRASH = {
    "it was asked to end": (facts(state=IDLE, exited=ENDED, agent=run(asked_to_end=True)), [], {}, {}),
    "it ended by itself at rest": (facts(state=IDLE, exited=ENDED, agent=run()), [], {}, {}),
    "a message came after it had served": (facts(message("m"), exited=ENDED, agent=run(), has_served=True), [], {}, {}),
    "it was given a message after it had served": (facts(given("m"), agent=run(), has_served=True), [], {}, {}),
    "its daemon died before it had a holder": (quiet(message("m"), was_begun=False, exited=None), [], {}, {}),
    "a hung agent of a closed session": (
        facts(given("m"), state=CLOSED, hang="it hung", agent=run(asked_to_end=True, turn_open=True)),
        ["message m CANCELLED"],
        {"m": CANCELLED},
        {},
    ),
    "it failed at rest and says why": (facts(state=IDLE, failure=WRONG_KEY, agent=run()), ["notice"], {}, {}),
    "its session was closed": (
        facts(given("m"), other(InputKind.ANSWER), state=CLOSED, agent=run(asked_to_end=True)),
        ["message m CANCELLED"],
        {"m": CANCELLED, "answer": CANCELLED},
        {},
    ),
    "the daemon stopped in a turn": (
        facts(given("m"), agent=run(turn_open=True, stopped=True)),
        ["notice", "turn stopped", "status IDLE"],
        {},
        {"status": SessionStatus.IDLE, "transcript": TranscriptEnd.INTERRUPTED},
    ),
    "the daemon stopped before the agent's first word": (
        quiet(given("m"), agent=run(turn_open=True, stopped=True)),
        ["notice", "turn stopped", "status IDLE"],
        {},
        {"status": SessionStatus.IDLE},
    ),
    "the daemon stopped an agent that cannot recognise a repeated message": (
        facts(given("m"), agent=run(turn_open=True, stopped=True), capabilities=FORGETFUL),
        ["message m UNKNOWN", "notice", "turn stopped", "status IDLE"],
        {"m": UNKNOWN},
        {"status": SessionStatus.IDLE, "transcript": TranscriptEnd.INTERRUPTED},
    ),
    "the daemon stopped at rest": (facts(state=IDLE, agent=run(stopped=True)), [], {}, {}),
    "a compaction ended with it": (
        facts(other(InputKind.COMPACTION, run=RUN, number=1, state=InputState.DELIVERED), agent=run(turn_open=True)),
        [COMPACTION_ERROR, "turn error", "status IDLE"],
        {"compaction": CANCELLED},
        {"status": SessionStatus.IDLE},
    ),
    "a compaction was done and its turn was not": (
        facts(other(InputKind.COMPACTION, run=RUN, number=1), agent=run(turn_open=True), compaction_done=True),
        ["turn end_turn", "status IDLE"],
        {"compaction": CANCELLED},
        {"status": SessionStatus.IDLE},
    ),
    "a compaction ended with it, and a message waits": (
        facts(other(InputKind.COMPACTION, run=RUN, number=1), message("m"), agent=run(turn_open=True)),
        [COMPACTION_ERROR, "turn error"],
        {"compaction": CANCELLED},
        {},
    ),
    "a compaction ended with the daemon, and a message waits": (
        facts(other(InputKind.COMPACTION, run=RUN, number=1), message("m"), agent=run(turn_open=True, stopped=True)),
        ["notice", COMPACTION_ERROR, "turn error", "status IDLE"],
        {"compaction": CANCELLED},
        {"status": SessionStatus.IDLE},
    ),
    "an agent on its way out did not take a compaction": (
        facts(other(InputKind.COMPACTION), agent=run(asked_to_end=True)),
        [],
        {},
        {},
    ),
}

CANCEL = {
    "it did not stop its turn": (
        facts(given("m"), given("n", 2), agent=run(CancelStep.ENDING, turn_open=True, answering=("m",))),
        ["message m CONSUMED", "notice", "turn cancelled m"],
        {"m": CONSUMED},
        {"crashes": NO_CRASHES, "transcript": TranscriptEnd.ABANDONED},
    ),
    "nothing else is open": (
        facts(given("m"), agent=run(CancelStep.ENDING, turn_open=True, answering=("m",))),
        ["message m CONSUMED", "notice", "turn cancelled m", "status IDLE"],
        {"m": CONSUMED},
        {"crashes": NO_CRASHES, "transcript": TranscriptEnd.ABANDONED, "status": SessionStatus.IDLE},
    ),
    "its turn had not begun": (
        facts(given("m"), given("n", 2), agent=run(CancelStep.SIGNALLED)),
        ["message m CANCELLED", "notice", "turn cancelled m"],
        {"m": CANCELLED},
        {"crashes": NO_CRASHES, "transcript": TranscriptEnd.ABANDONED},
    ),
    "it was to continue a turn": (
        facts(
            message("m", run=EARLIER_RUN, number=3),
            message("n"),
            state=replace(ACTIVE, transcript=TranscriptEnd.INTERRUPTED),
            agent=run(CancelStep.INTERRUPTED),
        ),
        ["message m CANCELLED", "notice", "turn cancelled m"],
        {"m": CANCELLED},
        {"crashes": NO_CRASHES, "transcript": TranscriptEnd.ABANDONED},
    ),
    "queued messages were cancelled too": (
        facts(given("m"), given("n", 2), message("o"), agent=run(CancelStep.ENDING, cancel_queued=True)),
        ["message m CANCELLED", "message n CANCELLED", "notice", "turn cancelled m"],
        {"m": CANCELLED, "n": CANCELLED},
        {"crashes": NO_CRASHES, "transcript": TranscriptEnd.ABANDONED},
    ),
    "it had ended the turn and made way": (
        facts(message("m"), agent=run(CancelStep.LEAVING)),
        [],
        {},
        {"crashes": NO_CRASHES},
    ),
    "it made way and nothing waits": (
        facts(agent=run(CancelStep.LEAVING)),
        ["status IDLE"],
        {},
        {"crashes": NO_CRASHES, "status": SessionStatus.IDLE},
    ),
    "it made way with a message that it may have begun": (
        facts(given("m"), agent=run(CancelStep.LEAVING), capabilities=FORGETFUL),
        ["message m UNKNOWN", "status IDLE"],
        {"m": UNKNOWN},
        {"crashes": NO_CRASHES, "status": SessionStatus.IDLE},
    ),
    "the daemon stopped meanwhile, and a message waits": (
        facts(given("m"), message("n"), agent=run(CancelStep.ENDING, stopped=True)),
        ["message m CANCELLED", "notice", "notice", "turn cancelled m", "status IDLE"],
        {"m": CANCELLED},
        {"crashes": NO_CRASHES, "transcript": TranscriptEnd.ABANDONED, "status": SessionStatus.IDLE},
    ),
}


@pytest.mark.parametrize(("case", "events", "fates", "fields"), NOT_A_CRASH.values(), ids=NOT_A_CRASH.keys())
def test_an_exit_that_is_no_crash(
    case: ExitFacts, events: list[str], fates: dict[str, InputState], fields: dict[str, object]
) -> None:
    end, said, changed = decided(case)
    assert (end.crashed, end.retry_in_s, end.stimuli) == (False, None, (RunStimulus.AGENT_EXITED,))
    assert (said, end.fates, changed) == (events, fates, fields)


@pytest.mark.parametrize(("case", "events", "fates", "fields"), CANCEL.values(), ids=CANCEL.keys())
def test_the_end_of_a_cancelled_agent(
    case: ExitFacts, events: list[str], fates: dict[str, InputState], fields: dict[str, object]
) -> None:
    end, said, changed = decided(case)
    assert (end.crashed, end.after_cancel, end.stimuli) == (False, True, (RunStimulus.AGENT_EXITED,))
    assert (said, end.fates, changed) == (events, fates, fields)
