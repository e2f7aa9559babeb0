"""Which processes belong to agents, decided from tables of processes alone."""

from collections.abc import Mapping, Sequence

import pytest

from betcode.holder.platform import Process
from betcode.holder.process_tree import Judgement, Membership, ProcessTree, scope_run

INSIDE, OUTSIDE, SUSPECT, GONE = Membership.INSIDE, Membership.OUTSIDE, Membership.SUSPECT, Membership.GONE
HOLDER = Process(100, 1, 50, zombie=False, session=100)
AGENT = Process(101, 100, 51, zombie=False, session=101)


def table(*processes: Process) -> dict[int, Process]:
    everything = (Process(1, 0, 0, zombie=False, session=1), Process(10, 1, 5, zombie=False, session=10), *processes)
    return {one.pid: one for one in everything}


def judged(tree: ProcessTree, pid: int, now: Mapping[int, Process], marked: Mapping[int, str] = {}) -> Judgement:
    markers = {(one.pid, one.start): {marked.get(one.pid, "")} for one in now.values()}
    found = tree.known(pid, now.get) or tree.judge(pid, now.get, markers)
    assert found is not None
    return found


def holding(*seen: Process) -> ProcessTree:
    """A tree that has seen a holder, its agent and these."""
    tree = ProcessTree(own_pid=20)
    tree.add_holder(HOLDER, Process(1, 0, 0, zombie=False), "run-1")
    tree.observe(table(HOLDER, AGENT, *seen))
    return tree


TOOL = Process(102, 101, 60, zombie=False, session=101)
OTHERS_SHELL = Process(30, 10, 70, zombie=False, session=30)
NEW_SERVER = Process(40, 1, 70, zombie=False, session=40)  # a tmux, started while the agent runs


@pytest.mark.parametrize(
    ("what", "process", "expected"),
    [
        ("the holder", HOLDER, INSIDE),
        ("the agent", AGENT, INSIDE),
        ("a tool", TOOL, INSIDE),
        ("an orphan, which its holder inherits", Process(103, 100, 61, zombie=False, session=103), INSIDE),
        ("a shell of the person", OTHERS_SHELL, OUTSIDE),
        ("a server that the person starts", NEW_SERVER, OUTSIDE),
        ("a process of another pid namespace", Process(50, 0, 70, zombie=False, session=50), OUTSIDE),
        ("one that has ended", Process(51, 10, 70, zombie=True, session=50), GONE),
    ],
)
def test_while_the_holder_lives_parents_decide(what: str, process: Process, expected: Membership) -> None:
    assert judged(holding(), process.pid, table(HOLDER, AGENT, process, TOOL)).membership is expected, what


def test_the_run_is_named() -> None:
    assert judged(holding(), 102, table(HOLDER, AGENT, TOOL)).run_id == "run-1"


ORPHAN = Process(104, 100, 62, zombie=False, session=104)
FREED = Process(104, 1, 62, zombie=False, session=104)  # the same, when its holder is dead


@pytest.mark.parametrize(
    ("what", "seen", "process", "expected"),
    [
        ("what was seen below the holder", [ORPHAN], FREED, INSIDE),
        ("what was never seen before", [], FREED, SUSPECT),
        ("what was seen outside while the holder lived", [NEW_SERVER], NEW_SERVER, OUTSIDE),
        ("what is older than the holder", [], Process(41, 1, 49, zombie=False, session=41), OUTSIDE),
        ("what has a parent outside", [], OTHERS_SHELL, OUTSIDE),
        (
            "a child in a session whose leader was seen",
            [ORPHAN],
            Process(105, 1, 90, zombie=False, session=104),
            INSIDE,
        ),
    ],
)
def test_after_the_holder_was_killed(
    what: str, seen: Sequence[Process], process: Process, expected: Membership
) -> None:
    tree = holding(*seen)
    assert judged(tree, process.pid, table(process)).membership is expected, what
    tree.observe(table(process))
    assert judged(tree, process.pid, table(process)).membership is expected, f"{what}, at a later time"


@pytest.mark.parametrize(
    "holder", [Process(100, 10, 900, zombie=False, session=100), Process(100, 1, 50, zombie=True, session=100)]
)
def test_a_holder_has_died_though_its_pid_is_there(holder: Process) -> None:
    assert judged(holding(), 104, table(holder, FREED)).membership is SUSPECT


def test_a_process_that_was_judged_before_and_has_ended_is_gone() -> None:
    tree = holding()
    assert judged(tree, 101, table(HOLDER, AGENT)).membership is INSIDE
    assert judged(tree, 101, table(HOLDER, Process(101, 100, 51, zombie=True, session=101))).membership is GONE


def test_while_a_process_of_an_agent_lives_without_a_holder_newcomers_are_suspects() -> None:
    """It can fork and end itself between two observations, and its child looks like anybody's."""
    tree = holding(ORPHAN)
    tree.observe(table(FREED))
    child = Process(200, 1, 500, zombie=False, session=200)
    tree.observe(table(child))
    assert judged(tree, 200, table(child)).membership is SUSPECT
    tree.observe(table())
    later = Process(201, 1, 600, zombie=False, session=201)
    tree.observe(table(later))
    assert judged(tree, 201, table(later)).membership is OUTSIDE, "nothing of the agent is left"


def test_after_a_holder_that_left_without_children_nobody_is_a_suspect() -> None:
    tree = holding(TOOL)
    tree.release_holder("run-1")
    assert judged(tree, 40, table(NEW_SERVER)).membership is OUTSIDE


def test_the_parent_of_the_holder_is_a_reaper_too() -> None:
    manager = Process(11, 1, 6, zombie=False, session=11)
    tree = ProcessTree()
    tree.add_holder(Process(100, 11, 50, zombie=False, session=100), manager, "run-1")
    tree.observe(table(manager, Process(100, 11, 50, zombie=False, session=100)))
    freed = Process(104, 11, 62, zombie=False, session=104)
    assert judged(tree, 104, table(manager, freed)).membership is SUSPECT


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ({102: "run-1"}, INSIDE),
        ({102: "run-9"}, OUTSIDE),
        ({}, OUTSIDE),
        ({60: "run-1"}, INSIDE),
        ({20: "run-1"}, OUTSIDE),
    ],
)
def test_environments_count_also_of_parents(marked: Mapping[int, str], expected: Membership) -> None:
    """A filter of git below the daemon: 20 is the daemon, 60 its git, 102 the filter."""
    daemon, git = Process(20, 10, 40, zombie=False, session=20), Process(60, 20, 80, zombie=False, session=20)
    tree = ProcessTree(own_pid=20)
    tree.add_marker("run-1")
    run_by_git = table(daemon, git, Process(102, 60, 81, zombie=False, session=20))
    tree.observe(run_by_git)
    if 20 not in marked:  # the daemon itself was seen outside
        assert judged(tree, 102, run_by_git, marked).membership is expected
    else:
        assert judged(tree, 20, run_by_git, marked).membership is expected


def test_a_holder_that_is_known_late_takes_its_agent_along() -> None:
    tree = ProcessTree()
    tree.observe(table(HOLDER, AGENT, TOOL))
    assert judged(tree, 102, table(HOLDER, AGENT, TOOL)).membership is OUTSIDE
    tree.add_holder(HOLDER, None, "run-1")
    assert judged(tree, 102, table(HOLDER, AGENT, TOOL)).membership is INSIDE


def test_a_pid_that_is_used_again_is_another_process() -> None:
    tree = holding(ORPHAN)
    tree.observe(table(Process(104, 10, 900, zombie=False, session=104)))
    assert judged(tree, 104, table(Process(104, 10, 900, zombie=False, session=104))).membership is OUTSIDE


def test_where_a_parent_is_younger_than_its_child_the_table_is_read_again() -> None:
    tree = holding()
    now = table(Process(30, 10, 70, zombie=False), Process(31, 30, 60, zombie=False))
    assert tree.judge(31, now.get, {(one.pid, one.start): () for one in now.values()}) is None


@pytest.mark.parametrize(
    ("group", "run"),
    [
        ("0::/user.slice/user@1000.service/app.slice/betcode-run-01ABC.scope\n", "01ABC"),
        ("0::/user.slice/session-3.scope\n", ""),
        ("", ""),
    ],
)
def test_the_scope_of_a_holder_is_recognised(group: str, run: str) -> None:
    assert scope_run(group) == run
