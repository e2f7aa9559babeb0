"""What each turn changed is noted, whoever began it and however it went, and without anyone waiting for it."""

import shutil
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from betcode.config.settings import Settings, WorktreeSettings
from betcode.domain.errors import GitFailed, InvalidRequest, WorktreeUnusable
from betcode.domain.repositories.worktrees import TurnSnapshot
from betcode.domain.sessions.turn_watch import WatchedSession
from betcode.domain.values.identifiers import new_session_id
from support.daemon.process import becomes_true
from support.daemon.session import is_idle
from support.engine.turn_snapshots import NotedEngine, noted_engine
from support.git.repositories import commit, define_filter, git, make_repository

pytestmark = pytest.mark.anyio


@pytest.fixture
async def noted(tmp_path: Path) -> AsyncIterator[NotedEngine]:
    async with noted_engine(tmp_path) as engine:
        yield engine


def _lines(patch: bytes) -> set[str]:
    """What a patch adds and removes, and the files in which it does."""
    lines = patch.decode().splitlines()
    return {line for line in lines if line[:1] in "+-" and not line.startswith(("+++ /dev", "--- /dev", "--- a/"))}


async def test_each_turn_has_its_own_changes_and_all_together_have_what_people_did_between(noted: NotedEngine) -> None:
    talk = await noted.session()
    before = {path: path.stat().st_mtime_ns for path in (noted.work / ".git").rglob("*") if path.is_file()}
    await noted.edit(talk, "echo more >> a", "rm b")
    (noted.work / "mine").write_text("by hand\n")
    await noted.edit(talk, "mkdir deep; echo new > deep/c")

    rows = await noted.rows(talk)
    assert [(row.turn, row.top, row.note) for row in rows] == [(1, str(noted.work), ""), (2, str(noted.work), "")]
    assert (await noted.row(talk)).state.turns == 2
    assert all(0 < row.started_ns < row.ended_ns for row in rows)
    note, first = await noted.diff(talk, 1)
    assert (note, _lines(first)) == ("", {"+++ b/a", "+more", "-two"})
    assert _lines((await noted.diff(talk, 2))[1]) == {"+++ b/deep/c", "+new"}
    everything = {"+++ b/a", "+more", "-two", "+++ b/mine", "+by hand", "+++ b/deep/c", "+new"}
    assert _lines((await noted.diff(talk))[1]) == everything
    assert (await noted.diff(talk, 1, counts=True))[1] == b"1\t0\ta\x000\t1\tb\x00"
    after = {path: path.stat().st_mtime_ns for path in (noted.work / ".git").rglob("*") if path.is_file()}
    assert after == before
    assert [oct(path.stat().st_mode & 0o77) for path in noted.directory.iterdir()] == ["0o0"]


async def test_the_end_of_a_turn_is_the_beginning_of_the_one_that_waited_behind_it(noted: NotedEngine) -> None:
    talk = await noted.session()
    await talk.say("wait go-1\nspawn sh -c echo\tx>first")
    await talk.say("wait go-2\nspawn sh -c echo\ty>second")
    await noted.let_go(talk, 1)
    await talk.until(lambda event: event.HasField("turn_complete"))
    await noted.let_go(talk, 2)
    await talk.until(is_idle)
    first, second = await noted.rows(talk)
    assert first.end_tree == second.start_tree
    assert _lines((await noted.diff(talk, 1))[1]) == {"+++ b/first", "+x"}
    assert _lines((await noted.diff(talk, 2))[1]) == {"+++ b/second", "+y"}


async def test_an_open_turn_is_compared_with_the_tree_now_and_says_so(noted: NotedEngine) -> None:
    talk = await noted.session()
    await noted.edit(talk, "echo 1 > first")
    await talk.say("wait go-2")
    await noted.rows(talk)
    (noted.work / "meanwhile").write_text("x\n")
    note, patch = await noted.diff(talk, 2)
    assert note == "turn 2 is open: compared with the tree as it is now"
    assert _lines(patch) == {"+++ b/meanwhile", "+x"}
    assert _lines((await noted.diff(talk))[1]) == {"+++ b/first", "+1", "+++ b/meanwhile", "+x"}
    assert _lines((await noted.diff(talk, 1))[1]) == {"+++ b/first", "+1"}
    (noted.work / "go-2").touch()
    await talk.until(is_idle)


async def test_a_turn_that_another_agent_goes_on_with_is_one_turn(noted: NotedEngine) -> None:
    talk = await noted.session()
    await talk.say("wait go-1\nspawn sh -c date>>a\nstumble once")
    await noted.let_go(talk, 1)
    await talk.until(is_idle)
    assert talk.agents == 2
    assert [row.turn for row in await noted.rows(talk)] == [1] == [(await noted.row(talk)).state.turns]
    assert (await noted.diff(talk, 1, counts=True))[1] == b"2\t0\ta\x00"  # of both agents


async def test_a_beginning_that_comes_behind_a_tool_says_so_and_holds_nobody_up(home: Path, noted: NotedEngine) -> None:
    release = noted.root / "release"
    waits = f"until [ -e {release} ]; do sleep 0.01; done; cat"
    commit(noted.work, {".gitattributes": "slow filter=slow\n"})
    define_filter(home, "slow", clean=waits)
    (noted.work / "slow").write_text("x\n")
    talk = await noted.session()
    await talk.say("peek")
    await talk.until(is_idle)  # though git has not ended
    release.touch()
    (row,) = await noted.rows(talk)
    assert row.note == "the snapshot of the beginning is late: a tool was used before the tree was read"
    await talk.say("say nothing")
    await talk.until(is_idle)
    assert (await noted.rows(talk))[1].note == ""


async def test_sessions_in_no_repository_are_left_alone(noted: NotedEngine, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    bare = tmp_path / "bare.git"
    git(tmp_path, "clone", "-q", "--bare", str(noted.work), str(bare))
    for place in (tmp_path / "plain", bare):
        talk = await noted.session(place)
        await noted.edit(talk, "echo 1 > first")
        assert not await noted.rows(talk)
        with pytest.raises(WorktreeUnusable, match="does not work in a git repository"):
            await noted.diff(talk)
    assert not list(noted.directory.iterdir())


async def test_nothing_is_noted_where_nobody_wants_it(tmp_path: Path) -> None:
    async with noted_engine(tmp_path, Settings(worktree=WorktreeSettings(snapshots=False))) as noted:
        talk = await noted.session()
        await noted.edit(talk, "echo 1 > first")
        assert not await noted.rows(talk)
        assert not list(noted.directory.iterdir())
        noted.snapshots.use(Settings())
        await noted.edit(talk, "echo 2 > second")
        assert [row.turn for row in await noted.rows(talk)] == [2]
        with pytest.raises(InvalidRequest, match="Turn 1 has no snapshot: the first one is of turn 2"):
            await noted.diff(talk, 1)


async def test_nothing_is_noted_while_the_feature_is_off(tmp_path: Path) -> None:
    async with noted_engine(tmp_path, is_on=False) as noted:
        talk = await noted.session()
        await noted.edit(talk, "echo 1 > first")
        assert not await noted.rows(talk)
        assert not list(noted.directory.iterdir())


async def test_a_turn_that_is_not_there_is_refused_with_those_that_are(noted: NotedEngine) -> None:
    talk = await noted.session()
    with pytest.raises(WorktreeUnusable, match="had no turn yet"):
        await noted.diff(talk)
    await noted.edit(talk, "echo 1 > first")
    with pytest.raises(InvalidRequest, match="There is no turn 2: the session has 1 turn"):
        await noted.diff(talk, 2)


async def test_a_deleted_session_takes_its_objects_along_and_what_is_left_over_is_swept(tmp_path: Path) -> None:
    async with noted_engine(tmp_path) as noted:
        talk, other = await noted.session(), await noted.session()
        await noted.edit(talk, "echo 1 > first")
        await other.say("say hello")
        await other.until(is_idle)
        await noted.rows(other)
        assert {path.name for path in noted.directory.iterdir()} == {talk.session, other.session}
        await noted.supervisor.delete(other.session)
        await becomes_true(lambda: not (noted.directory / other.session).exists())
        (noted.directory / "nobody" / "objects").mkdir(parents=True)
        (noted.directory / talk.session / "look-broken-off").mkdir()
    async with noted_engine(tmp_path) as noted:
        await becomes_true(lambda: [path.name for path in noted.directory.iterdir()] == [talk.session])
        assert not (noted.directory / talk.session / "look-broken-off").exists()
        again = replace(talk, supervisor=noted.supervisor, store=noted.store)
        assert _lines((await noted.diff(again, 1))[1]) == {"+++ b/first", "+1"}


async def test_an_end_that_no_daemon_noted_is_noted_by_the_next_one(tmp_path: Path) -> None:
    async with noted_engine(tmp_path) as noted:
        talk = await noted.session()
        await noted.edit(talk, "echo 1 > first")
        (row,) = await noted.rows(talk)
        # As a daemon leaves it that is killed between the turn and its snapshot.
        await noted.store.worktrees.save_snapshot(replace(row, end_tree="", ended_ns=0))
    async with noted_engine(tmp_path) as noted:
        again = replace(talk, supervisor=noted.supervisor, store=noted.store)
        (late,) = await noted.rows(again)
        assert (late.end_tree, late.note) == (row.end_tree, "the snapshot of the end is late: the next daemon made it")
        note, patch = await noted.diff(again)
        assert (note, _lines(patch)) == (late.note, {"+++ b/first", "+1"})


async def test_a_turn_of_which_no_daemon_noted_anything_is_shown_from_the_end_of_the_one_before(tmp_path: Path) -> None:
    async with noted_engine(tmp_path) as noted:
        talk = await noted.session()
        await noted.edit(talk, "echo 1 > first")
        await noted.edit(talk, "echo 2 > second")
    with apsw.Connection(str(tmp_path / "log.db")) as db:  # as where a daemon is killed before git has answered
        db.execute("DELETE FROM turn_snapshots WHERE turn = 2")
    async with noted_engine(tmp_path) as noted:
        again = replace(talk, supervisor=noted.supervisor, store=noted.store)
        note, patch = await noted.diff(again, 2)
        assert _lines(patch) == {"+++ b/second", "+2"}
        assert note == (
            "there is no snapshot of the beginning; compared with the end of turn 1; "
            "the snapshot of the end is late: the next daemon made it"
        )


async def test_what_git_cleaned_up_is_told_and_a_worktree_that_is_gone_does_no_harm(
    noted: NotedEngine, tmp_path: Path
) -> None:
    place = tmp_path / "linked"
    git(noted.work, "worktree", "add", "-q", "-b", "fix", str(place))
    talk = await noted.session(place)
    await noted.edit(talk, "echo 1 > first")
    git(noted.work, "worktree", "remove", "--force", str(place))
    assert _lines((await noted.diff(talk, 1))[1]) == {"+++ b/first", "+1"}

    commit(place := make_repository(tmp_path / "other"), {"only": "here\n"})
    talk = await noted.session(place)
    await noted.edit(talk, "echo 1 > only")
    git(place, "reset", "-q", "--hard", "HEAD~1")
    git(place, "reflog", "expire", "--expire=now", "--all")
    git(place, "gc", "-q", "--prune=now")
    with pytest.raises(GitFailed, match="git deleted it"):
        await noted.diff(talk, 1)
    shutil.rmtree(place)
    with pytest.raises(GitFailed, match="its repository is missing"):
        await noted.diff(talk, 1)
    with pytest.raises(WorktreeUnusable):
        await talk.say("say hello")
    assert all(isinstance(row, TurnSnapshot) for row in await noted.rows(talk))


async def test_a_worktree_that_was_moved_is_noted_where_it_is_now(noted: NotedEngine, tmp_path: Path) -> None:
    place = tmp_path / "linked"
    git(noted.work, "worktree", "add", "-q", "-b", "fix", str(place))
    (row,) = [each.row for each in await noted.worktrees.listed(str(noted.work)) if each.row.path == str(place)]
    session = WatchedSession((await noted.row(await noted.session(place))).key, new_session_id(), str(place), row.id)
    git(noted.work, "worktree", "move", str(place), str(tmp_path / "moved"))
    await noted.worktrees.listed(str(noted.work))
    ground = await noted.snapshots.ground(session)
    assert ground is not None
    assert ground.top == str(tmp_path / "moved")
