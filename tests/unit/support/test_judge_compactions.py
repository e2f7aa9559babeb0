"""The judge of the robustness rounds on compactions and forks: what is sound passes, and what is not is found."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from betcode.v1 import agent_pb2 as v1
from support.rounds.evidence import Asked, InputSeen, Noted, Numbered, Sent, SessionEvidence, View
from support.rounds.judge import judge_session
from support.rounds.viewers import in_pieces

MESSAGE, COMPACTION, RUN = "message-1", "compaction-1", 41
BOUNDARY = 4  # the text


def of_the_agent() -> list[v1.AgentEvent]:
    """A turn, then a compaction, in the agent's words."""
    made = [v1.AgentEvent() for _ in range(9)]
    made[0].message_state.message_id, made[0].message_state.state = MESSAGE, v1.MESSAGE_STATE_DELIVERED
    made[1].text_delta.text, made[1].text_delta.is_complete = "hello", True
    made[2].message_state.message_id, made[2].message_state.state = MESSAGE, v1.MESSAGE_STATE_CONSUMED
    made[3].turn_complete.message_ids.append(MESSAGE)
    made[4].status_change.status = v1.IDLE
    made[5].status_change.status = v1.COMPACTING
    made[6].compaction.tokens_before, made[6].compaction.tokens_after = 120, 40
    made[7].turn_complete.stop_reason = "end_turn"
    made[8].status_change.status = v1.IDLE
    return made


def log(*more: v1.AgentEvent) -> list[v1.AgentEvent]:
    first, said, told = v1.AgentEvent(), v1.AgentEvent(), of_the_agent()
    first.session_info.session_id = "s"
    said.user_input.message_id, said.user_input.content = MESSAGE, "say hello"
    boundary = told[6].compaction
    boundary.messages_before, boundary.messages_after, boundary.tokens_saved = 2, 1, 60
    boundary.compacted_before = BOUNDARY
    made = [first, said, *told, *more]
    for number, event in enumerate(made, start=1):
        event.sequence = number
    return made


def numbered(made: list[v1.AgentEvent]) -> tuple[Numbered, ...]:
    return tuple((event.sequence, event.SerializeToString()) for event in made)


def with_log(one: SessionEvidence, made: list[v1.AgentEvent]) -> SessionEvidence:
    whole = numbered(made)
    seen = whole[BOUNDARY - 1 :]
    views = (View("an early client", 0, whole), View("a late one", BOUNDARY - 1, seen, asked_after=0))
    return replace(one, log=whole, followed=seen, resumed=seen, views=views)


def sound() -> SessionEvidence:
    one = SessionEvidence(
        "s",
        boundary=BOUNDARY,
        reading=tuple(of_the_agent()),
        sent=(Sent(MESSAGE, "say hello", 2),),
        compactions=(Asked("done", 2, 1, 60), Asked("SESSION_ACTIVE"), Asked("done", 1, 1, 0)),
        ledger=tuple(Noted(what, name, RUN) for name in (MESSAGE, COMPACTION) for what in ("began", "did")),
        inputs={MESSAGE: InputSeen("message", "consumed"), COMPACTION: InputSeen("compaction", "consumed")},
    )
    return with_log(one, log())


def changed(change: Callable[[v1.CompactionBoundary], None]) -> SessionEvidence:
    made = log()
    change(made[8].compaction)
    return with_log(sound(), made)


def begun_again() -> SessionEvidence:
    event = v1.AgentEvent()
    event.status_change.status = v1.COMPACTING
    return with_log(sound(), log(event))


def viewed(view: View) -> SessionEvidence:
    return replace(sound(), views=(view,))


def fork() -> SessionEvidence:
    """Of the first turn."""
    made = log()[:6]
    told, info, rests = v1.AgentEvent(), v1.AgentEvent(), v1.AgentEvent()
    told.notice.message, info.session_info.session_id, rests.status_change.status = "Forked", "t", v1.IDLE
    for event in (told, info, rests):
        event.sequence = made[-1].sequence + 1
        made.append(event)
    whole = numbered(made)
    one = SessionEvidence(
        "t",
        forked_at=6,
        original=whole[:6],
        sent=(Sent(MESSAGE, "say hello", 2),),
        inputs={MESSAGE: InputSeen("message", "consumed")},
    )
    return replace(one, log=whole, followed=whole, resumed=whole)


BROKEN: dict[str, tuple[Callable[[], SessionEvidence], str]] = {
    "a boundary that comes after it": (lambda: changed(lambda it: setattr(it, "compacted_before", 9)), "from 0 to 9"),
    "another boundary stored": (lambda: replace(sound(), boundary=0), "and is stored as 0"),
    "more messages than before": (lambda: changed(lambda it: setattr(it, "messages_after", 3)), "2 messages become 3"),
    "told of what never was": (
        lambda: replace(sound(), compactions=(Asked("done", 9, 1, 60),)),
        "that the log does not have",
    ),
    "told of a failure that never was": (
        lambda: replace(sound(), compactions=(Asked("COMPACTION_FAILED"),)),
        "the log does not say so",
    ),
    "done and never begun": (lambda: replace(sound(), ledger=sound().ledger[:2]), "no agent ever began it"),
    "done twice": (lambda: replace(sound(), ledger=(*sound().ledger, sound().ledger[-1])), "done 2 times"),
    "left open": (
        lambda: replace(sound(), inputs={**sound().inputs, COMPACTION: InputSeen("compaction", "delivered")}),
        "is still open",
    ),
    "never over": (begun_again, "nothing says that it is over"),
    "a snapshot of what was not compacted": (
        lambda: viewed(View("a client", 6, sound().log[6:], asked_after=0)),
        "which is no boundary",
    ),
    "a snapshot of what was seen": (
        lambda: viewed(View("a client", BOUNDARY - 1, sound().log[3:], asked_after=5)),
        "had seen 5",
    ),
    "a hole behind a snapshot": (
        lambda: viewed(View("a client", BOUNDARY - 1, sound().log[4:], asked_after=0)),
        "was shown 5-11 of 4-10",
    ),
    "replay with what was compacted": (lambda: replace(sound(), followed=sound().log), "Follow differs"),
    "a fork of another history": (lambda: replace(fork(), original=fork().log[:5]), "differs from its original"),
    "a fork that runs its original's message": (
        lambda: replace(fork(), ledger=(Noted("began", MESSAGE, RUN),)),
        "is not in the log",
    ),
}


def test_a_sound_compaction_is_accepted() -> None:
    assert judge_session(sound()) == []


def test_a_sound_fork_is_accepted() -> None:
    assert judge_session(fork()) == []


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_promise_is_found(name: str) -> None:
    broken, words = BROKEN[name]
    assert words in "\n".join(judge_session(broken()))


def test_what_follows_a_snapshot_is_a_piece_of_its_own() -> None:
    snapshot = v1.AgentEvent()
    snapshot.session_info.is_compacted, snapshot.session_info.compacted_before = True, 4
    shown = [(1, b"1"), (2, b"2"), (0, snapshot.SerializeToString()), (4, b"4")]
    assert list(in_pieces("it", 0, shown)) == [
        View("it", 0, ((1, b"1"), (2, b"2"))),
        View("it", 3, ((4, b"4"),), asked_after=2),
    ]
