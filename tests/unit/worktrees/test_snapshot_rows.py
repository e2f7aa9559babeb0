"""Which rows follow from a look at the tree."""

from dataclasses import replace

from betcode.domain.repositories.worktrees import TurnSnapshot
from betcode.domain.values.identifiers import SessionKey
from betcode.worktrees.turns.snapshot_rows import TreeSnapshot, TurnBegan, TurnsEnded, rows_after

_KEY = SessionKey(7)
_S = 1_000_000_000
_NOW = TreeSnapshot(_KEY, 100 * _S, "tree", "/top")
_BEGUN = TurnSnapshot(_KEY, 3, "/top", "before", started_ns=90 * _S)


def test_an_end_belongs_to_the_beginning_of_its_turn() -> None:
    assert rows_after(TurnsEnded(3, 3, 99 * _S), {3: _BEGUN}, _NOW) == [
        replace(_BEGUN, end_tree="tree", ended_ns=99 * _S)
    ]


def test_an_end_that_is_noted_long_after_the_turn_says_how_long() -> None:
    (row,) = rows_after(TurnsEnded(3, 3, 88 * _S), {3: _BEGUN}, _NOW)
    assert row.note == "the snapshot of the end is late: 12 s after the turn"


def test_of_turns_that_ended_together_the_first_has_the_changes() -> None:
    first, second, third = rows_after(TurnsEnded(3, 5, 99 * _S), {3: _BEGUN}, _NOW)
    assert (first.start_tree, first.end_tree, first.note) == ("before", "tree", "")
    for row in (second, third):
        assert (row.start_tree, row.end_tree) == ("tree", "tree")
        assert row.note == "it is shown with turn 3: both ended before the tree was read"
        assert row.ended_ns  # it is not looked for again
    assert [second.turn, third.turn] == [4, 5]


def test_a_turn_whose_beginning_nobody_saw_begins_where_the_one_before_has_ended() -> None:
    before = replace(_BEGUN, end_tree="between", ended_ns=95 * _S)
    (row,) = rows_after(TurnsEnded(4, 4, 99 * _S), {3: before}, _NOW)
    assert (row.turn, row.start_tree, row.end_tree) == (4, "between", "tree")
    assert row.note == "there is no snapshot of the beginning; compared with the end of turn 3"
    (alone,) = rows_after(TurnsEnded(4, 4, 99 * _S), {}, _NOW)
    assert (alone.start_tree, alone.end_tree, alone.note) == ("", "tree", "there is no snapshot of the beginning")


def test_a_turn_that_goes_on_keeps_its_beginning() -> None:
    stopped = replace(_BEGUN, end_tree="half", ended_ns=95 * _S)
    assert rows_after(TurnBegan(3), {3: stopped}, _NOW) == [_BEGUN]


def test_what_went_wrong_is_told_once_and_the_turn_is_over_all_the_same() -> None:
    failed = TreeSnapshot(_KEY, 100 * _S, "", "/top", trouble="git does not work here")
    (begun,) = rows_after(TurnBegan(3), {}, failed)
    assert (begun.start_tree, begun.note) == ("", "there is no snapshot of the beginning: git does not work here")
    (ended,) = rows_after(TurnsEnded(3, 3, 99 * _S), {3: begun}, replace(failed, trouble="again"))
    assert (ended.end_tree, ended.ended_ns) == ("", 99 * _S)
    assert (
        ended.note
        == "there is no snapshot of the beginning: git does not work here; there is no snapshot of the end: again"
    )
    left_out = replace(_NOW, note="omitted: big (larger than 1 KiB)")
    (begun,) = rows_after(TurnBegan(3), {}, left_out)
    (ended,) = rows_after(TurnsEnded(3, 3, 99 * _S), {3: begun}, left_out)
    assert ended.note == left_out.note
