"""Those who watch how sessions go: everything in order, and the sum where somebody is too slow."""

from itertools import pairwise

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from betcode.domain.sessions.phase import Phase, Transition
from betcode.domain.values.identifiers import Seq, SessionId, SessionKey
from betcode.engine.follow.growth import GrownLogs, Growth, NewReport
from betcode.engine.operations.lifecycle.phases import WAITING_LIMIT, PhaseBoard, summed_up

pytestmark = pytest.mark.anyio

ONE, TWO = SessionId("one"), SessionId("two")


def chain(session: SessionId, *phases: Phase) -> list[Transition]:
    return [Transition(session, before, after, str(after), 1) for before, after in pairwise([None, *phases]) if after]


async def test_a_watcher_of_one_session_hears_of_no_other() -> None:
    board = PhaseBoard()
    with board.watching(ONE) as one, board.watching(None) as everything:
        for each in [*chain(ONE, Phase.CREATED), *chain(TWO, Phase.CREATED, Phase.STARTING)]:
            board.tell(each)
        assert [len(one), len(everything)] == [1, 3]
        assert (await one.take()).session == ONE
        assert [(await everything.take()).session for _ in range(3)] == [ONE, TWO, TWO]
    board.tell(chain(ONE, Phase.CREATED)[0])
    assert len(everything) == 0, "it watches no more"


async def test_who_waits_is_woken() -> None:
    board, seen = PhaseBoard(), []
    with board.watching(None) as watch:

        async def take() -> None:
            seen.append(await watch.take())

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(take)
            await anyio.wait_all_tasks_blocked()
            board.tell(chain(ONE, Phase.CREATED)[0])
    assert seen == chain(ONE, Phase.CREATED)


async def test_one_who_never_reads_costs_an_entry_per_session() -> None:
    board = PhaseBoard()
    turns = [Phase.CREATED, Phase.STARTING, Phase.RUNNING, *[Phase.WORKING, Phase.RUNNING] * WAITING_LIMIT * 3]
    with board.watching(None) as slow:
        for each in [*chain(ONE, *turns), *chain(TWO, *turns, Phase.WORKING)]:
            board.tell(each)
        assert len(slow) <= WAITING_LIMIT
        heard = [await slow.take() for _ in range(len(slow))]
    for session, last in ((ONE, Phase.RUNNING), (TWO, Phase.WORKING)):
        mine = [each for each in heard if each.session == session]
        assert (mine[0].before, mine[-1].after) == (None, last)
        assert all(before.after is after.before for before, after in pairwise(mine))


@given(st.lists(st.sampled_from(Phase), min_size=1, max_size=30))
def test_a_sum_goes_from_where_it_was_to_where_it_came(phases: list[Phase]) -> None:
    transitions = chain(ONE, *phases)
    (total,) = list(summed_up(transitions))
    assert (total.before, total.after) == (None, phases[-1])
    assert list(summed_up([*transitions[1:], Transition(ONE, phases[-1], phases[0], "", 1)])) == [] or len(phases) == 1


async def test_a_log_that_grows_is_noted_once_from_where_it_was_first_read() -> None:
    growth = Growth()
    with growth.watching(None) as watch, growth.watching(TWO) as other:
        for after in (4, 7, 9):
            growth.note(GrownLogs(ONE, SessionKey(1), Seq(after)))
        assert await watch.take_all() == [GrownLogs(ONE, SessionKey(1), Seq(4))]
        growth.note(GrownLogs(TWO, SessionKey(2), Seq(1)))
        assert await other.take_all() == await watch.take_all() == [GrownLogs(TWO, SessionKey(2), Seq(1))]
        growth.note_report()
        growth.note_report()
        assert await watch.take_all() == await other.take_all() == [NewReport()]
    assert not growth.is_watched
