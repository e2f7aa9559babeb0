"""The judge of the robustness rounds: a sound history passes, and each broken promise is found."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from betcode.v1 import agent_pb2 as v1
from support.rounds.evidence import (
    Given,
    InputSeen,
    Noted,
    Numbered,
    PromptSeen,
    RoundEvidence,
    Sent,
    SessionEvidence,
    View,
)
from support.rounds.judge import judge, judge_session

MESSAGE, REQUEST, RUN = "message-1", "request-1", 41


def events() -> list[v1.AgentEvent]:
    """A turn with one prompt, as it should be."""
    made = [v1.AgentEvent() for _ in range(12)]
    made[0].session_info.session_id = "s"
    made[1].user_input.message_id, made[1].user_input.content = MESSAGE, "tool"
    made[2].message_state.message_id, made[2].message_state.state = MESSAGE, v1.MESSAGE_STATE_DELIVERED
    made[3].status_change.status = v1.THINKING
    made[4].text_delta.text = "hello"
    made[5].permission_request.request_id = REQUEST
    made[6].permission_resolved.request_id, made[6].permission_resolved.resolution = REQUEST, "answered"
    made[6].permission_resolved.decision = v1.ALLOW_ONCE
    made[7].text_delta.text = "done"
    made[8].message_state.message_id, made[8].message_state.state = MESSAGE, v1.MESSAGE_STATE_CONSUMED
    made[9].usage.model = "m"
    made[10].turn_complete.message_ids.append(MESSAGE)
    made[10].turn_complete.stop_reason = "end_turn"
    made[11].status_change.status = v1.IDLE
    return made


def numbered(made: Sequence[v1.AgentEvent]) -> tuple[Numbered, ...]:
    for number, event in enumerate(made, start=1):
        event.sequence = number
    return tuple((event.sequence, event.SerializeToString()) for event in made)


def with_log(one: SessionEvidence, log: tuple[Numbered, ...]) -> SessionEvidence:
    """The same log for everyone who reads it."""
    return replace(one, log=log, followed=log, resumed=log, views=(View("a client", 0, log),))


def with_events(one: SessionEvidence, made: Sequence[v1.AgentEvent]) -> SessionEvidence:
    return with_log(one, numbered(made))


def sound() -> SessionEvidence:
    of_the_agent = [made for place, made in enumerate(events()) if place in (2, 3, 4, 5, 7, 8, 9, 10, 11)]
    one = SessionEvidence(
        "s",
        reading=tuple(of_the_agent),
        sent=(Sent(MESSAGE, "tool", 2),),
        given=(Given(REQUEST, True, "taken"), Given(REQUEST, True, "again"), Given(REQUEST, False, "PERMISSION_STALE")),
        ledger=(Noted("began", MESSAGE, RUN), Noted("heard", REQUEST, RUN, "allow"), Noted("did", MESSAGE, RUN)),
        inputs={MESSAGE: InputSeen("message", "consumed"), "x": InputSeen("answer", "consumed")},
        prompts={REQUEST: PromptSeen("answered", "ALLOW_ONCE")},
    )
    return with_events(one, events())


def inserted(place: int, *new: v1.AgentEvent) -> SessionEvidence:
    made = events()
    made[place:place] = new
    return with_events(sound(), made)


def without(place: int) -> SessionEvidence:
    made = events()
    del made[place]
    return with_events(sound(), made)


def changed(place: int, change: Callable[[v1.AgentEvent], None]) -> tuple[Numbered, ...]:
    made = events()
    change(made[place])
    return numbered(made)


def jumping(place: int, by: int, *, reason: str = "") -> SessionEvidence:
    """From an event on, all numbers are so much higher."""
    made = events()
    if reason:
        gap = v1.AgentEvent()
        gap.gap.reason = reason
        made.insert(place, gap)
    log = numbered(made)
    for event in made[place:]:
        event.sequence += by
    log = tuple((event.sequence, event.SerializeToString()) for event in made)
    one = with_log(sound(), log)
    return replace(one, sent=(replace(one.sent[0], seq=made[1].sequence),), may_have_gaps=True)


def noted(*more: Noted) -> SessionEvidence:
    return replace(sound(), ledger=(*sound().ledger, *more))


def ended(*more: Noted) -> SessionEvidence:
    """The message was seen in a terminal state at second 5."""
    return replace(noted(*more), ended_at={MESSAGE: 5.0})


def state(message_id: str, state: v1.MessageState.ValueType, reason: str = "") -> v1.AgentEvent:
    event = v1.AgentEvent()
    event.message_state.message_id, event.message_state.state, event.message_state.reason = message_id, state, reason
    return event


def completed() -> v1.AgentEvent:
    event = v1.AgentEvent()
    event.turn_complete.stop_reason = "crashed"
    return event


def shown_otherwise() -> SessionEvidence:
    one = sound()
    other = changed(4, lambda event: setattr(event.text_delta, "text", "never said"))
    return replace(one, views=(*one.views, View("another", 3, other[3:5])))


def ends_thinking() -> SessionEvidence:
    made = events()
    made[11].status_change.status = v1.THINKING
    one = with_events(sound(), made)
    return replace(one, reading=(*one.reading[:-1], made_bare(made[11])))


def made_bare(event: v1.AgentEvent) -> v1.AgentEvent:
    bare = v1.AgentEvent()
    bare.CopyFrom(event)
    bare.sequence = 0
    return bare


def swapped() -> SessionEvidence:
    one = sound()
    log = list(one.log)
    log[4], log[7] = log[7], log[4]
    return with_log(one, tuple(log))


def view(after: int, *places: int) -> SessionEvidence:
    one = sound()
    return replace(one, views=(View("a client", after, tuple(one.log[place] for place in places)),))


def resolved(**facts: object) -> SessionEvidence:
    """The prompt is resolved with these facts."""

    def change(event: v1.AgentEvent) -> None:
        for name, value in facts.items():
            setattr(event.permission_resolved, name, value)

    return with_log(sound(), changed(6, change))


def given_again(times: int, *, heard: bool) -> SessionEvidence:
    """The answer to the prompt is given to a later agent, which asks the same."""
    more = []
    for number in range(times):
        event = v1.AgentEvent()
        event.permission_resolved.request_id = f"request-{number + 2}"
        event.permission_resolved.resolution, event.permission_resolved.rule = "answered", f"the answer to {REQUEST}"
        more.append(event)
    one = inserted(7, *more)
    return one if heard else replace(one, ledger=(one.ledger[0], one.ledger[2]))


def cancelled_and_done() -> SessionEvidence:
    made = events()
    made[8].message_state.state = v1.MESSAGE_STATE_CANCELLED
    one = replace(sound(), inputs={**sound().inputs, MESSAGE: InputSeen("message", "cancelled")})
    return replace(with_events(one, made), reading=(*one.reading[:5], made_bare(made[8]), *one.reading[6:]))


BROKEN: dict[str, tuple[Callable[[], SessionEvidence], str]] = {
    "a number left out": (lambda: jumping(5, 3), "are missing, and nothing says why"),
    "a gap without a reason": (lambda: inserted(3, v1.AgentEvent(gap=v1.Gap(bytes_lost=3))), "gives no reason"),
    "a gap without a cause": (lambda: inserted(3, v1.AgentEvent(gap=v1.Gap(reason="torn"))), "no journal was lost"),
    "two events swapped": (swapped, "comes after"),
    "an event that says another number": (
        lambda: with_log(sound(), tuple((seq + (seq == 4), data) for seq, data in sound().log)),
        "says that it is",
    ),
    "Follow misses the end": (lambda: replace(sound(), followed=sound().log[:-1]), "Follow differs from the log"),
    "ResumeSession repeats": (
        lambda: replace(sound(), resumed=(*sound().log, sound().log[-1])),
        "ResumeSession differs from the log",
    ),
    "other content under a number": (shown_otherwise, "and is also"),
    "shown and lost": (lambda: replace(sound(), log=sound().log[:-1]), "which is not in the log"),
    "a view with a hole": (lambda: view(0, 0, 1, 3), "was shown 1-2 4 of 1-3"),
    "a view that repeats": (lambda: view(0, 0, 1, 1), "was shown 1-2 2 of"),
    "a view that begins too late": (lambda: view(2, 4, 5), "was shown 5-6 of 3-4"),
    "the agent's word missing": (lambda: without(7), "what the journal says"),
    "the agent's last word missing": (lambda: without(11), "what the journal says is missing, first"),
    "the agent's word twice": (lambda: inserted(5, events()[4]), "is not what the journal says next"),
    "a turn completed twice": (lambda: inserted(12, completed()), "a turn is completed again"),
    "no last word": (ends_thinking, "the last status told is THINKING"),
    "said after the end": (lambda: replace(sound(), after_rest=sound().log[:1]), "after it had come to rest"),
    "a turn without a snapshot": (lambda: replace(sound(), unnoted=(5,)), "the tree was not noted in turn 5"),
    "a session at work for ever": (lambda: replace(sound(), status="active"), "is active though nothing is left"),
    "acknowledged and not there": (lambda: replace(sound(), sent=(Sent(MESSAGE, "tool", 3),)), "does not show it"),
    "acknowledged with other words": (lambda: replace(sound(), sent=(Sent(MESSAGE, "rm", 2),)), "is shown as 'tool'"),
    "accepted twice": (lambda: inserted(3, events()[1]), "is accepted 2 times"),
    "sent by nobody": (lambda: replace(sound(), sent=()), "was sent by nobody"),
    "refused and there": (lambda: replace(sound(), sent=(Sent(MESSAGE, "tool", refused="X"),)), "was refused"),
    "never ended": (lambda: without(8), "nothing says what became of it"),
    "ended twice": (lambda: inserted(9, state(MESSAGE, v1.MESSAGE_STATE_CANCELLED)), "CANCELLED again"),
    "unknown without a word": (lambda: inserted(3, state("m", v1.MESSAGE_STATE_UNKNOWN)), "nothing says why"),
    "stored otherwise": (
        lambda: replace(sound(), inputs={MESSAGE: InputSeen("message", "delivered")}),
        "is stored as delivered",
    ),
    "an answer left open": (
        lambda: replace(sound(), inputs={**sound().inputs, "x": InputSeen("answer", "accepted")}),
        "is still open",
    ),
    "named by two turns": (
        lambda: inserted(11, v1.AgentEvent(turn_complete=v1.TurnComplete(message_ids=[MESSAGE]))),
        "is named by 2 turns",
    ),
    "done twice": (lambda: noted(Noted("did", MESSAGE, RUN)), "done 2 times"),
    "run and unknown": (lambda: noted(Noted("began", "other", RUN)), "is not in the log"),
    "consumed and never begun": (lambda: replace(sound(), ledger=()), "no agent ever began it"),
    "consumed and never done": (lambda: replace(sound(), ledger=sound().ledger[:2]), "no agent ever finished it"),
    "two messages at once": (lambda: noted(Noted("crowded", MESSAGE, RUN)), "that takes one at a time, and had one"),
    "cancelled and done": (cancelled_and_done, "is cancelled, and an agent did it"),
    "two agents at once": (
        lambda: noted(Noted("ran", "t", 42), Noted("ran", "u", RUN)),
        f"agent {RUN} worked while another one did",
    ),
    "asked twice": (lambda: inserted(6, events()[5]), "is asked 2 times"),
    "never resolved": (lambda: without(6), "is open though nothing is left to do"),
    "resolved twice": (lambda: inserted(7, events()[6]), "is resolved 2 times"),
    "resolved and never asked": (lambda: without(5), "was never asked"),
    "shown though answered before": (
        lambda: resolved(rule="the answer to request-0"),
        "is shown though it was answered before",
    ),
    "an answer given twice": (lambda: given_again(2, heard=False), f"the answer to {REQUEST} is given 2 times"),
    "an answer given to two agents": (
        lambda: given_again(1, heard=True),
        "is given again though an agent has heard it",
    ),
    "superseded by nothing": (lambda: resolved(resolution="superseded"), "is superseded by nothing"),
    "superseded by what nobody was asked": (
        lambda: resolved(resolution="superseded", superseded_by="request-9"),
        "is superseded by request-9, which nobody was asked",
    ),
    "a prompt stored otherwise": (
        lambda: replace(sound(), prompts={REQUEST: PromptSeen("lost", "")}),
        "is stored as lost",
    ),
    "an answer that was not taken": (
        lambda: replace(sound(), given=(Given("request-2", True, "taken"),)),
        "the log does not have it",
    ),
    "another answer taken": (
        lambda: replace(sound(), given=(Given(REQUEST, False, "taken"),)),
        "not the one in the log",
    ),
    "two first answers": (lambda: replace(sound(), given=(Given(REQUEST, True, "taken"),) * 2), "were each the first"),
    "heard twice": (lambda: noted(Noted("heard", REQUEST, RUN, "allow")), "heard 2 answers"),
    "heard what nobody said": (lambda: noted(Noted("heard", "other", RUN, "allow")), "heard an answer"),
    "heard otherwise": (
        lambda: replace(sound(), ledger=(*sound().ledger[:1], Noted("heard", REQUEST, RUN, "deny"), sound().ledger[2])),
        "heard deny",
    ),
    "a tool run twice": (lambda: noted(Noted("ran", "t", RUN), Noted("ran", "t", RUN)), "tool t ran 2 times"),
    "a tool of an ended turn": (lambda: ended(Noted("ran", "t", RUN, at=6.0, turn=MESSAGE)), "noted 'ran'"),
    "an ended turn continued": (lambda: ended(Noted("again", MESSAGE, RUN, at=6.0)), "noted 'again'"),
    "an ended message begun": (lambda: ended(Noted("began", MESSAGE, RUN, at=6.0)), "noted 'began'"),
    "deleted and still there": (lambda: replace(sound(), is_deleted=True), "history is still there"),
    "a refusal nobody should meet": (lambda: replace(sound(), refusals=("got INTERNAL",)), "got INTERNAL"),
}


def test_a_sound_history_is_accepted() -> None:
    assert judge_session(sound()) == []


def test_an_answer_that_a_cancel_overtook_is_accepted() -> None:
    made = events()
    taken_back = v1.AgentEvent()
    taken_back.permission_resolved.request_id, taken_back.permission_resolved.resolution = REQUEST, "withdrawn"
    made.insert(7, taken_back)
    one = with_events(sound(), made)
    one = replace(one, reading=(*one.reading[:4], made_bare(taken_back), *one.reading[4:]))
    assert "is resolved 2 times" in " ".join(judge_session(one))
    late = (*one.ledger, Noted("withdrew", REQUEST, RUN))
    assert judge_session(replace(one, ledger=late)) == []


def test_what_an_agent_does_before_its_turn_ends_is_accepted() -> None:
    assert (
        judge_session(ended(Noted("again", MESSAGE, RUN, at=3.0), Noted("ran", "t", RUN, at=4.0, turn=MESSAGE))) == []
    )


def test_what_an_agent_says_of_a_message_that_has_ended_is_not_missed_in_the_log() -> None:
    late = state(MESSAGE, v1.MESSAGE_STATE_CONSUMED)
    assert judge_session(replace(sound(), reading=(*sound().reading[:-1], late, sound().reading[-1]))) == []


def test_a_message_by_which_the_engine_has_a_turn_continued_is_accepted() -> None:
    told = v1.AgentEvent()
    told.user_input.message_id, told.user_input.client_id = "told", "betcode"
    made = [*events()[:-1], told, state("told", v1.MESSAGE_STATE_CONSUMED), events()[-1]]
    one = noted(Noted("began", "told", RUN), Noted("did", "told", RUN))
    one = replace(one, inputs={**one.inputs, "told": InputSeen("message", "consumed")})
    assert judge_session(with_events(one, made)) == []
    made[-3].user_input.client_id = "somebody"
    assert "was sent by nobody" in " ".join(judge_session(with_events(one, made)))


def test_an_answer_that_no_agent_heard_is_given_once_to_a_later_one() -> None:
    assert judge_session(given_again(1, heard=False)) == []


def test_a_gap_that_says_why_is_accepted() -> None:
    assert judge_session(jumping(5, 1_000_000, reason="restored backup")) == []


def test_a_cancelled_message_that_no_agent_began_is_accepted() -> None:
    made = [*events()[:2], state(MESSAGE, v1.MESSAGE_STATE_CANCELLED, "cancelled"), completed(), events()[11]]
    one = SessionEvidence("s", sent=(Sent(MESSAGE, "tool", 2),), inputs={MESSAGE: InputSeen("message", "cancelled")})
    assert judge_session(with_events(one, made)) == []
    begun = replace(one, ledger=(Noted("began", MESSAGE, RUN),))
    assert "and an agent began it" in " ".join(judge_session(with_events(begun, made)))


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_promise_is_found(name: str) -> None:
    broken, words = BROKEN[name]
    assert words in "\n".join(judge_session(broken()))


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (RoundEvidence((), breaches=("run 7 has no row",)), "processes and rows disagree"),
        (RoundEvidence((), unasked_ends=("exit code 1",)), "ended though nobody asked"),
        (RoundEvidence((), errors_logged=("boom",)), "an error of its own"),
        (RoundEvidence((), left_running=("17 sleep",)), "still running"),
        (RoundEvidence((), left_lying=("socket",)), "left lying about"),
        (RoundEvidence((), left_open=("journal",)), "still has open: journal"),
        (RoundEvidence((), descriptors=(30, 60)), "60 descriptors open, and had 30"),
        (RoundEvidence((), resident_bytes=1 << 30), "takes 1024 MiB"),
        (RoundEvidence((replace(sound(), status="active"),)), "s: is active"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_a_round_left_behind_is_found(broken: RoundEvidence, words: str) -> None:
    assert words in "\n".join(judge(broken))
    assert judge(RoundEvidence((sound(),), descriptors=(30, 40))) == []
