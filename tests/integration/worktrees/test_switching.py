"""Switching makes a worktree the active one of its repository, and leads to a session in it; no agent is started."""

import shutil
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from betcode.domain.bounded_io import BoundedIOPort
from betcode.domain.errors import InvalidRequest, WorktreeNotFound, WorktreeUnusable
from betcode.domain.store.rows import NewSession
from betcode.domain.values.identifiers import SessionId
from betcode.engine import Engine
from betcode.worktrees import SeenWorktree, SwitchResult
from integration.worktrees.conftest import Bench
from support.daemon.runs import runs_in
from support.daemon.session import is_idle
from support.engine.engine import EngineSession
from support.git.repositories import git
from support.git.worktree_sessions import a_new

pytestmark = pytest.mark.anyio


@pytest.fixture
async def trees(bench: Bench, repository: Path, tmp_path: Path) -> dict[str, str]:
    """The ids of three worktrees by their names."""
    for name in ("fix", "try"):
        git(repository, "worktree", "add", "-q", "-b", name, str(tmp_path / name))
    return {each.row.name: each.row.id for each in await bench.worktrees.listed(str(repository))}


async def _seen(bench: Bench, worktree: str) -> SeenWorktree:
    return next(each for each in await bench.worktrees.listed("") if each.row.id == worktree)


@pytest.mark.behaviour("worktree.switch.previous", "worktree.switch.session", "worktree.switch.active")
async def test_a_switch_names_the_one_before_and_makes_a_session_without_an_agent(
    bench: Bench, trees: dict[str, str]
) -> None:
    first = await bench.worktrees.switch(trees["fix"], a_new)
    assert (first.previous, first.session_created, first.seen.is_active) == ("", True, True)
    made = (await bench.engine.row(first.session)).new
    assert (made.worktree_id, made.working_directory) == (trees["fix"], first.seen.row.path)
    second = await bench.worktrees.switch(trees["try"], a_new)
    assert second.previous == trees["fix"]
    back = await bench.worktrees.switch(trees["fix"][:-1], a_new)
    assert (back.previous, back.session, back.session_created) == (trees["try"], first.session, False)
    assert back.seen.sessions.active == first.session
    assert back.seen.row.last_used_ns > first.seen.row.last_used_ns
    assert [each.row.name for each in await bench.worktrees.listed("") if each.is_active] == ["fix"]
    assert not runs_in(bench.paths.runs), "no agent"


@pytest.mark.behaviour("worktree.list.info")
async def test_a_switch_leads_to_the_session_at_work_else_to_the_newest_that_is_open(
    bench: Bench, trees: dict[str, str]
) -> None:
    async def leads_to(expected: str) -> None:
        assert (await _seen(bench, trees["fix"])).sessions.active == expected
        assert (await bench.worktrees.switch(trees["fix"], a_new)).session == expected

    old = await bench.engine.create(a_new(worktree=trees["fix"]))
    new = await bench.engine.create(a_new(worktree=trees["fix"]))
    await bench.engine.rename(new, "newer")
    await leads_to(new)
    slow = a_new(worktree=trees["fix"])
    slow = replace(slow, environment={**(slow.environment or {}), "BETCODE_DEMO_FLOOD": "1000000"})
    talk = EngineSession(bench.engine, bench.store, await bench.engine.create(slow), Path())
    await talk.say("work")
    await bench.engine.rename(new, "newest")
    await leads_to(talk.session)
    await bench.engine.cancel_turn(talk.session)
    await talk.until(is_idle)
    for each in (talk.session, new):
        await bench.engine.close(each)
    await leads_to(old)
    await bench.engine.close(old)
    assert (await _seen(bench, trees["fix"])).sessions.active == ""
    assert (await _seen(bench, trees["fix"])).sessions.open_count == 0
    assert (await bench.worktrees.switch(trees["fix"], a_new)).session_created


class _Patient:
    """An engine whose first session is not made before a second one is asked for, unless nobody asks."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._asked = 0
        self._second = anyio.Event()

    @property
    def file_io(self) -> BoundedIOPort:
        return self._engine.file_io

    async def create(self, new: NewSession) -> SessionId:
        self._asked += 1
        if self._asked > 1:
            self._second.set()
        with anyio.move_on_after(0.3):
            await self._second.wait()
        return await self._engine.create(new)


async def test_two_switches_at_once_make_one_session(
    bench: Bench, trees: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench.worktrees._context, "sessions", _Patient(bench.engine))
    done: list[SwitchResult] = []

    async def switch() -> None:
        done.append(await bench.worktrees.switch(trees["fix"], a_new))

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(switch)
    assert len({each.session for each in done}) == 1
    assert [each.session_created for each in done].count(True) == 1


@pytest.mark.behaviour("worktree.unknown")
async def test_what_cannot_be_switched_to_changes_nothing(bench: Bench, trees: dict[str, str], tmp_path: Path) -> None:
    await bench.worktrees.switch(trees["try"], a_new)
    shutil.rmtree(tmp_path / "fix")
    with pytest.raises(WorktreeNotFound):
        await bench.worktrees.switch("0190-none", a_new)
    with pytest.raises(WorktreeUnusable, match="missing at"):
        await bench.worktrees.switch(trees["fix"], a_new)
    with pytest.raises(InvalidRequest, match="No such provider"):
        await bench.worktrees.switch(
            trees["shop"], lambda: NewSession(a_new().session_id, "nobody", "", environment={}, created_ns=1)
        )
    assert (await _seen(bench, trees["try"])).is_active
