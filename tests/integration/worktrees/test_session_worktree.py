"""A session belongs to the worktree that its directory is in, starts there, and follows it."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from betcode.domain.errors import InvalidRequest, WorktreeNotFound, WorktreeUnusable
from betcode.domain.repositories.worktrees import WorktreeRow, WorktreeState
from betcode.domain.store.store_ports import SessionFilter
from betcode.domain.values.identifiers import Seq, SessionId, new_session_id
from betcode.git.command import Git
from integration.worktrees.conftest import Bench
from support.engine.engine import EngineSession
from support.git.repositories import commit, git, make_repository
from support.git.worktree_sessions import a_new, where_it_works
from support.storage.hung_disk import hung_disk

pytestmark = pytest.mark.anyio


@pytest.fixture
def fix(repository: Path, tmp_path: Path) -> Path:
    """A worktree that somebody made with git, with a directory in it."""
    commit(repository, {"src/app/main.py": "print()\n"})
    git(repository, "worktree", "add", "-q", "-b", "fix", str(tmp_path / "fix"))
    return tmp_path / "fix"


async def _row(bench: Bench, path: Path) -> WorktreeRow:
    return next(each.row for each in await bench.worktrees.listed(str(path)) if each.row.path == str(path))


async def _talk(bench: Bench, session: SessionId, place: Path) -> EngineSession:
    return EngineSession(bench.engine, bench.store, session, place)


@pytest.mark.behaviour("converse.start.worktree", "launch.cwd-from-worktree", "session.list.by-worktree")
async def test_a_session_that_names_a_worktree_starts_in_it_and_is_listed_with_it(bench: Bench, fix: Path) -> None:
    row = await _row(bench, fix)
    session = await bench.engine.create(a_new(worktree=row.id))
    assert await where_it_works(await _talk(bench, session, fix)) == str(fix)
    elsewhere = await bench.engine.create(a_new(fix.parent))
    listed, total = await bench.engine.summaries(SessionFilter(worktree_id=row.id))
    assert ([each.row.new.session_id for each in listed], total) == ([session], 1)
    assert (await bench.engine.row(elsewhere)).new.worktree_id == ""


async def test_a_directory_that_is_named_with_a_worktree_must_be_in_it(
    bench: Bench, fix: Path, repository: Path
) -> None:
    row = await _row(bench, fix)
    nested = fix / "nested"
    git(repository, "worktree", "add", "-q", "-b", "nested", str(nested))
    await bench.worktrees.listed(str(fix))
    (fix.parent / "way-in").symlink_to(fix / "src")
    (fix / "way-out").symlink_to(repository / "src")

    inside = await bench.engine.create(a_new(fix.parent / "way-in", worktree=row.id))
    made = (await bench.engine.row(inside)).new
    assert (made.working_directory, made.subdirectory) == (str(fix / "src"), "src")
    for outside in (repository, fix / "way-out", nested):
        with pytest.raises(InvalidRequest, match="is not in the worktree fix"):
            await bench.engine.create(a_new(outside, worktree=row.id))


async def test_unknown_and_unfinished_worktrees_are_refused(bench: Bench, fix: Path) -> None:
    with pytest.raises(WorktreeNotFound):
        await bench.engine.create(a_new(worktree="0190-none"))
    row = await _row(bench, fix)
    for state in (WorktreeState.CREATING, WorktreeState.REMOVING):
        await bench.store.worktrees.save_worktrees([replace(row, state=state)])
        with pytest.raises(WorktreeUnusable):
            await bench.engine.create(a_new(worktree=row.id))


@pytest.mark.behaviour("worktree.many-sessions")
async def test_sessions_made_anywhere_in_a_repository_belong_to_the_nearest_worktree(
    bench: Bench, fix: Path, repository: Path
) -> None:
    git(repository, "worktree", "add", "-q", "-b", "nested", str(fix / "nested"))
    places = {
        repository / "src": "shop",
        fix / "src" / "app": "fix",
        fix: "fix",
        fix / "nested" / "src": "nested",
        repository / ".git" / "hooks": "",
        fix.parent: "",
    }
    sessions = {place: await bench.engine.create(a_new(place)) for place in places}
    names: dict[str, str] = {each.row.id: each.row.name for each in await bench.worktrees.listed("")}
    bound = {place: (await bench.engine.row(session)).new for place, session in sessions.items()}
    assert {place: names.get(new.worktree_id, "") for place, new in bound.items()} == places
    assert bound[fix / "src" / "app"].subdirectory == "src/app"
    assert bound[fix / "src" / "app"].working_directory == str(fix / "src" / "app")
    counts = {each.row.name: each.sessions.open_count for each in await bench.worktrees.listed("")}
    assert counts == {"shop": 1, "fix": 2, "nested": 1}


async def test_an_agent_starts_where_its_worktree_was_moved_to(bench: Bench, fix: Path, repository: Path) -> None:
    session = await bench.engine.create(a_new(fix / "src"))
    git(repository, "worktree", "move", str(fix), str(fix.parent / "elsewhere"))
    talk = await _talk(bench, session, fix.parent / "elsewhere")
    assert await where_it_works(talk) == str(fix.parent / "elsewhere" / "src")
    assert (await bench.engine.row(session)).new.working_directory == str(fix / "src"), "as it was made"


async def test_nothing_is_accepted_while_the_worktree_is_gone_and_it_goes_on_when_it_is_back(
    bench: Bench, fix: Path, repository: Path
) -> None:
    session = await bench.engine.create(a_new(fix))
    talk = await _talk(bench, session, fix)
    shutil.rmtree(fix)
    with pytest.raises(
        WorktreeUnusable, match=r"missing at .*fix: .* `betcode worktree create fix`, or start a new session"
    ):
        await talk.say("hello")
    history, total = await bench.engine.summaries(SessionFilter())
    assert total == 1
    assert history[0].row.state.last_seq == 1
    git(repository, "worktree", "prune")
    git(repository, "worktree", "add", "-q", str(fix), "fix")
    assert await where_it_works(talk) == str(fix)


async def test_a_session_whose_worktree_was_forgotten_works_where_it_was_made_if_that_is_there(
    bench: Bench, fix: Path
) -> None:
    session = await bench.engine.create(a_new(fix / "src"))
    talk = await _talk(bench, session, fix)
    await bench.store.worktrees.forget_worktree((await _row(bench, fix)).id)
    assert await where_it_works(talk) == str(fix / "src")
    shutil.rmtree(fix)
    with pytest.raises(WorktreeUnusable, match=r"no longer known.*start a new session"):
        await talk.say("hello")


async def test_another_repository_in_place_of_a_worktree_is_not_worked_in(
    bench: Bench, fix: Path, repository: Path
) -> None:
    talk = await _talk(bench, await bench.engine.create(a_new(fix)), fix)
    shutil.rmtree(fix)
    make_repository(fix)
    with pytest.raises(WorktreeUnusable, match="missing at"):
        await talk.say("hello")
    other = await bench.engine.create(a_new(fix))
    new, old = (await bench.engine.row(other)).new, (await bench.engine.row(talk.session)).new
    assert new.worktree_id not in ("", old.worktree_id)
    assert {each.row.state for each in await bench.worktrees.listed(str(repository))} == {
        WorktreeState.READY,
        WorktreeState.STALE,
    }


@pytest.mark.behaviour("worktree.switch.active")
async def test_the_active_worktree_is_begun_in_only_from_the_main_one(
    bench: Bench, fix: Path, repository: Path
) -> None:
    (repository / "only-here").mkdir()
    row = await _row(bench, fix)
    main = await _row(bench, repository)

    async def made_in(directory: Path) -> tuple[str, str]:
        new = (await bench.engine.row(await bench.engine.create(a_new(directory), in_active_worktree=True))).new
        return new.worktree_id, new.working_directory

    assert await made_in(repository / "src") == (main.id, str(repository / "src")), "nobody has switched"
    await bench.worktrees.switch(row.id, a_new)
    assert await made_in(repository / "src") == (row.id, str(fix / "src"))
    assert await made_in(repository / "only-here") == (row.id, str(fix))
    assert (await bench.engine.row(await bench.engine.create(a_new(repository / "src")))).new.worktree_id == main.id
    other = fix.parent / "other"
    git(repository, "worktree", "add", "-q", "-b", "other", str(other))
    assert (await made_in(other))[1] == str(other)
    assert await made_in(fix.parent) == ("", str(fix.parent))
    shutil.rmtree(fix)
    assert await made_in(repository / "src") == (main.id, str(repository / "src")), "there is no other place"


async def test_the_same_request_again_is_the_same_session_wherever_it_was_put(
    bench: Bench, fix: Path, repository: Path
) -> None:
    row = await _row(bench, fix)
    await bench.worktrees.switch(row.id, a_new)
    in_active, named, found = new_session_id(), new_session_id(), new_session_id()
    asked = {
        in_active: (a_new(repository, session=in_active), True),
        named: (a_new(worktree=row.id, session=named), False),
        found: (a_new(fix / "src", session=found), False),
    }
    for session, (new, active) in asked.items():
        assert await bench.engine.create(new, in_active_worktree=active) == session
    await bench.worktrees.switch((await _row(bench, repository)).id, a_new)
    shutil.rmtree(fix)
    for session, (new, active) in asked.items():
        assert await bench.engine.create(new, in_active_worktree=active) == session
    others = (
        (replace(asked[in_active][0], working_directory=str(repository / "src")), True),
        (asked[in_active][0], False),
        (replace(asked[named][0], working_directory=str(fix)), False),
        (replace(asked[found][0], working_directory=str(repository)), False),
    )
    for new, active in others:
        with pytest.raises(InvalidRequest, match="Another session has this id"):
            await bench.engine.create(new, in_active_worktree=active)


async def test_no_session_fails_by_an_odd_repository_or_a_missing_git(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = tmp_path / "odd"
    odd.mkdir()
    (odd / ".git").write_text("gitdir: /nowhere\n")
    assert (await bench.engine.row(await bench.engine.create(a_new(odd)))).new.worktree_id == ""
    repository = make_repository(tmp_path / "unknown")
    monkeypatch.setattr(bench.worktrees._context, "git", Git({"PATH": "/nowhere"}))
    assert (await bench.engine.row(await bench.engine.create(a_new(repository)))).new.worktree_id == ""


async def test_a_disk_that_hangs_holds_up_neither_a_start_nor_the_event_loop(
    bench: Bench, fix: Path, repository: Path
) -> None:
    main = await _row(bench, repository)
    with hung_disk(fix) as disk:
        with pytest.raises(InvalidRequest, match="did not answer"):
            await bench.engine.create(a_new(fix))  # as everywhere: it could not be checked
        assert (await bench.engine.row(await bench.engine.create(a_new(repository)))).new.worktree_id == main.id
        assert disk.on_a_loop == []


async def test_forks_keep_the_worktree(bench: Bench, fix: Path) -> None:
    talk = await _talk(bench, await bench.engine.create(a_new(fix / "src")), fix)
    assert await where_it_works(talk) == str(fix / "src")
    forked = await bench.engine.fork(talk.session, Seq(0), "")
    new, old = (await bench.engine.row(forked.session_id)).new, (await bench.engine.row(talk.session)).new
    assert (new.worktree_id, new.subdirectory) == (old.worktree_id, "src")
    assert new.worktree_id
