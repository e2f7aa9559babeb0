"""Every class of crash: what is recorded, what becomes of the messages, and whether the agent is restarted."""

from dataclasses import replace

import pytest

from betcode.domain.agents.agent_state import Failure
from betcode.domain.runs.crash_policy import CrashHistory
from betcode.domain.runs.exit_record import UNREADABLE, ExitRecord
from betcode.domain.sessions.status import SessionStatus
from betcode.domain.sessions.transcript import TranscriptEnd
from betcode.domain.store.rows import NO_CRASHES, InputKind, InputState
from betcode.domain.values.identifiers import RunKey
from betcode.engine.core.exit import (
    ExitFacts,
    classify_exit,
    exit_effects,
)
from betcode.v1 import agent_pb2 as v1
from support.engine.core_values import (
    FORGETFUL,
    NOW_NS,
    brief,
    given,
    message,
    other,
    prompt,
    run,
)
from support.engine.exit_facts import (
    ACTIVE,
    CANCELLED,
    CRASH_ERROR,
    CRASHED,
    ENDED,
    FAILED,
    FIRST,
    GAVE_UP,
    GIVEN_UP,
    IDLE,
    MANY,
    NO_START,
    UNKNOWN,
    WRONG_KEY,
    decided,
    facts,
    quiet,
)

BROKE_OFF = {"crashes": FIRST, "transcript": TranscriptEnd.INTERRUPTED}
RESTARTED = {
    "in a turn": (facts(given("m")), 0.5, [CRASH_ERROR], {}, BROKE_OFF),
    "by itself": (facts(given("m"), exited=ENDED), 0.5, [CRASH_ERROR], {}, BROKE_OFF),
    "with a tool at work": (facts(given("m"), running_tools=("Bash",)), 0.5, ["notice", CRASH_ERROR], {}, BROKE_OFF),
    "its holder was killed": (facts(given("m"), exited=None), 0.5, [CRASH_ERROR], {}, BROKE_OFF),
    "its end could not be read": (facts(given("m"), exited=UNREADABLE), 0.5, [CRASH_ERROR], {}, BROKE_OFF),
    "killed before its first word": (quiet(given("m")), 0.5, [CRASH_ERROR], {}, BROKE_OFF),
    "killed before it was given anything": (quiet(message("m")), 0.5, [CRASH_ERROR], {}, {"crashes": FIRST}),
    "before it had a row": (quiet(message("m"), agent=run(key=RunKey(0))), 0.5, [CRASH_ERROR], {}, {"crashes": FIRST}),
    "for the second time in a row": (
        facts(given("m"), state=replace(ACTIVE, crashes=CrashHistory((NOW_NS - 1,), 1))),
        1.0,
        [CRASH_ERROR],
        {},
        {"crashes": CrashHistory((NOW_NS - 1, NOW_NS), 2), "transcript": TranscriptEnd.INTERRUPTED},
    ),
    "it hung, and was asked to end": (
        facts(given("m"), hang="it hung", agent=run(asked_to_end=True, turn_open=True)),
        0.5,
        [CRASH_ERROR],
        {},
        BROKE_OFF,
    ),
    "answers go with it": (
        facts(given("m"), other(InputKind.ANSWER), other(InputKind.INTERRUPT)),
        0.5,
        [CRASH_ERROR],
        {"answer": CANCELLED, "interrupt": CANCELLED},
        BROKE_OFF,
    ),
    "the conversation that it was to begin is there already": (
        quiet(given("m"), exited=FAILED, failure=Failure("…", has_conversation=True, did_nothing=True)),
        0.5,
        [CRASH_ERROR],
        {},
        {**BROKE_OFF, "conversation_began": True},
    ),
    "the conversation that it was to resume never began": (
        quiet(
            given("m"),
            state=replace(ACTIVE, conversation_began=True),
            failure=Failure("…", has_conversation=False, did_nothing=True),
        ),
        0.5,
        [CRASH_ERROR],
        {},
        {"crashes": FIRST, "transcript": TranscriptEnd.FINISHED, "conversation_began": False},
    ),
    "for the messages sent since": (
        facts(given("m"), message("n"), capabilities=FORGETFUL),
        0.5,
        ["message m UNKNOWN", CRASH_ERROR, "turn crashed m"],
        {"m": UNKNOWN},
        {"crashes": FIRST, "transcript": TranscriptEnd.ABANDONED},
    ),
}

NOT_RESTARTED = {
    "too many crashes": (
        facts(given("m"), message("n"), state=replace(ACTIVE, crashes=MANY)),
        ["message m UNKNOWN", "message n CANCELLED", *GAVE_UP],
        {"m": UNKNOWN, "n": CANCELLED},
        TranscriptEnd.ABANDONED,
    ),
    "too many crashes, none of which said a word": (
        quiet(given("m"), state=replace(ACTIVE, crashes=MANY)),
        ["message m CANCELLED", *GAVE_UP],
        {"m": CANCELLED},
        TranscriptEnd.ABANDONED,
    ),
    "it would fail again": (
        facts(given("m"), failure=WRONG_KEY),
        ["message m UNKNOWN", *GAVE_UP],
        {"m": UNKNOWN},
        TranscriptEnd.ABANDONED,
    ),
    "it hung, and another would": (
        facts(given("m"), hang="it hung", hang_advice="update it", agent=run(asked_to_end=True, turn_open=True)),
        ["message m UNKNOWN", *GAVE_UP],
        {"m": UNKNOWN},
        TranscriptEnd.ABANDONED,
    ),
    "it did not start": (
        quiet(given("m"), exited=FAILED),
        ["message m CANCELLED", *NO_START],
        {"m": CANCELLED},
        TranscriptEnd.ABANDONED,
    ),
    "it could not be started": (
        quiet(message("m"), exited=None, trouble="no such program", agent=run(key=RunKey(0))),
        ["message m CANCELLED", *NO_START],
        {"m": CANCELLED},
        None,
    ),
    "its conversation is gone, and turns were finished in it": (
        quiet(
            given("m"),
            state=replace(ACTIVE, conversation_began=True, output_tokens=5),
            failure=Failure("start anew", has_conversation=False, did_nothing=True),
        ),
        ["message m CANCELLED", *NO_START],
        {"m": CANCELLED},
        TranscriptEnd.ABANDONED,
    ),
    "its turn was a background one, with no message": (facts(), GAVE_UP, {}, TranscriptEnd.INTERRUPTED),
    "its message cannot be repeated": (
        facts(given("m"), capabilities=FORGETFUL),
        ["message m UNKNOWN", *GAVE_UP],
        {"m": UNKNOWN},
        TranscriptEnd.INTERRUPTED,
    ),
    "the next message waits for a larger budget": (
        facts(given("m"), message("n"), capabilities=FORGETFUL, budget_prompt=prompt("budget")),
        ["message m UNKNOWN", *GAVE_UP],
        {"m": UNKNOWN},
        TranscriptEnd.INTERRUPTED,
    ),
    "and nothing waits for a larger budget any more": (
        facts(message("n"), failure=WRONG_KEY, budget_prompt=prompt("budget")),
        ["message n CANCELLED", "withdrawn budget", *GAVE_UP],
        {"n": CANCELLED},
        TranscriptEnd.ABANDONED,
    ),
}


@pytest.mark.parametrize(("case", "wait_s", "events", "fates", "fields"), RESTARTED.values(), ids=RESTARTED.keys())
def test_an_agent_is_restarted_that_crashed(
    case: ExitFacts, wait_s: float, events: list[str], fates: dict[str, InputState], fields: dict[str, object]
) -> None:
    end, said, changed = decided(case)
    assert (end.crashed, end.retry_in_s, end.stimuli) == (True, wait_s, (CRASHED,))
    assert end.retry_at_ns == NOW_NS + int(wait_s * 1e9)
    assert (said, end.fates, changed) == (events, fates, fields)


@pytest.mark.parametrize(("case", "events", "fates", "transcript"), NOT_RESTARTED.values(), ids=NOT_RESTARTED.keys())
def test_an_agent_is_not_restarted_when(
    case: ExitFacts, events: list[str], fates: dict[str, InputState], transcript: TranscriptEnd | None
) -> None:
    end, said, changed = decided(case)
    assert (end.crashed, end.retry_in_s, end.stimuli) == (True, None, (CRASHED, GIVEN_UP))
    assert (said, end.fates) == (events, fates)
    assert (changed["status"], changed["crashes"]) == (SessionStatus.IDLE, NO_CRASHES)
    assert changed.get("transcript") is transcript


@pytest.mark.parametrize(
    ("case", "note", "advice"),
    [
        (facts(given("m")), "killed by signal SIGKILL", ""),
        (facts(given("m"), exited=None), "its holder was killed", ""),
        (facts(given("m"), exited=UNREADABLE), "its exit status is unknown", ""),
        (facts(given("m"), hang="it hung"), "it hung", ""),
        (facts(given("m"), hang="it hung", trouble="no memory"), "no memory", ""),
        (facts(given("m"), last_errors=("one", "two")), "killed by signal SIGKILL; its last output: one two", ""),
        (facts(given("m"), last_errors=("x" * 700,)), f"killed by signal SIGKILL; its last output: {'x' * 600}", ""),
        (facts(state=IDLE, agent=run(), last_errors=("one",)), "killed by signal SIGKILL", ""),
        (facts(given("m"), failure=WRONG_KEY), "killed by signal SIGKILL", "log in"),
        (facts(given("m"), failure=WRONG_KEY, agent=run(asked_to_end=True)), "killed by signal SIGKILL", ""),
        (quiet(given("m"), exited=FAILED, directory_advice="make it"), "exit code 1", "make it"),
        (quiet(given("m"), exited=FAILED, failure=WRONG_KEY, directory_advice="make it"), "exit code 1", "log in"),
        (quiet(given("m"), exited=ExitRecord(error="no such file"), directory_advice="x"), "no such file", "x"),
        (quiet(given("m"), directory_advice="make it"), "killed by signal SIGKILL", ""),
        (quiet(given("m"), exited=FAILED, hang="it hung", directory_advice="make it"), "it hung", ""),
    ],
)
def test_people_read_why_it_ended_and_what_to_do(case: ExitFacts, note: str, advice: str) -> None:
    end = classify_exit(case, NOW_NS)
    assert (end.note, end.advice) == (note, advice)


def test_words_that_the_next_agent_repeats_are_taken_back_before_the_error() -> None:
    case, voided = facts(given("m")), [v1.AgentEvent(text_delta=v1.TextDelta(is_complete=True))]
    decision = exit_effects(case, classify_exit(case, NOW_NS), voided, NOW_NS)
    assert brief(decision.events) == ["text_delta", CRASH_ERROR]
