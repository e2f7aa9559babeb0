"""Any content of the directory of runs: the daemon serves, other sessions go on, and what is odd is reported."""

import errno
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path

import anyio
import apsw
import pytest

from betcode.cli.doctor import runs as doctor_runs
from betcode.cli.doctor.finding import Level, Situation
from betcode.client import Client, open_client
from betcode.config.settings import Settings
from betcode.holder.launch import holder_pid
from support.daemon.odd_runs import FIRST, ODD_RUNS, OddRun, UnprivilegedDaemon, put_strays
from support.daemon.process import Daemon, agent_program, becomes_true, obedient_daemon
from support.daemon.runs import lives
from support.daemon.session import Talk, assert_whole, is_idle, kinds, settled_text
from support.plugins.wide import representative
from support.providers.claude_world import obedient_talk

pytestmark = pytest.mark.anyio


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


async def two_turns(daemon: Daemon, client: Client) -> tuple[Talk, Talk, Path]:
    """Two sessions in the middle of a turn, and the run directory of the first."""
    odd, other = await obedient_talk(daemon, client), await obedient_talk(daemon, client)
    await odd.say("wait odd-goes-on\nsay odd is done")
    await odd.until(lambda event: event.text_delta.text == "waiting")
    (run,) = daemon.paths.runs.iterdir()
    await other.say("wait other-goes-on\nsay other is done")
    await other.until(lambda event: event.text_delta.text == "waiting")
    return odd, other, run


async def made_odd(case: OddRun, run: Path, stack: ExitStack) -> None:
    if case.holder_dead:
        pid = holder_pid(run)
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        await becomes_true(lambda: not lives(pid))
    case.apply(run, stack)


@contextmanager
def stopped(daemon: Daemon) -> Iterator[None]:
    """The daemon lives, and sees all that happens in the block at once: a holder that is dead, and what it left."""
    os.kill(daemon.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(daemon.pid, signal.SIGCONT)


async def assert_reported(daemon: Daemon, client: Client, name: str, problem: str) -> None:
    """By the daemon, and, where files show it, by the doctor."""

    async def is_reported() -> bool:
        details = await client.health()
        return (name, problem) in [(one.name, one.problem) for one in details.unusable_runs]

    with anyio.fail_after(30):
        while not await is_reported():  # noqa: ASYNC110 - it is found when it is used
            await anyio.sleep(0.05)
    situation = Situation(daemon.paths, Settings(), {}, "", 0.0)
    found = [one.says for one in doctor_runs.runs(situation) if one.level is Level.TROUBLE]
    found += [one.says for one in doctor_runs.reported((await client.health()).unusable_runs, daemon.paths)]
    assert f"runs/{name}: {problem}" in found


async def assert_goes_on(daemon: Daemon, talk: Talk, file: str, words: str) -> None:
    (daemon.work / file).touch()
    assert settled_text(await talk.until(is_idle)).endswith(words)
    assert_whole(talk.events)
    assert "error" not in kinds(talk.events)


def part(kind: str) -> tuple[str, bool, bool]:
    """The part of a run's directory that is odd, whether a holder still uses it, and whether it is reported."""
    case = ODD_RUNS[kind]
    return kind.split(maxsplit=1)[0], case.holder_dead, bool(case.reported)


# A representative for each part.
@pytest.mark.parametrize("kind", representative(ODD_RUNS, part))
async def test_a_daemon_starts_and_serves_whatever_a_run_is(tmp_path: Path, stack: ExitStack, kind: str) -> None:
    case = ODD_RUNS[kind]
    async with obedient_daemon(tmp_path) as daemon:
        async with open_client(daemon.paths) as client:
            odd, other, run = await two_turns(daemon, client)
        daemon.kill()
        await made_odd(case, run, stack)
        await daemon.start()
        async with open_client(daemon.paths) as client:
            odd.client = other.client = client
            await assert_goes_on(daemon, other, "other-goes-on", "other is done")
            if case.reported and not case.heals_by_itself:
                await assert_reported(daemon, client, run.name, case.reported)
            stack.close()
            (daemon.work / "odd-goes-on").touch()
            await assert_usable(odd)


@pytest.mark.parametrize("kind", representative(ODD_RUNS, part))
async def test_a_daemon_goes_on_when_a_run_becomes_odd(tmp_path: Path, stack: ExitStack, kind: str) -> None:
    case = ODD_RUNS[kind]
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        odd, other, run = await two_turns(daemon, client)
        with stopped(daemon) if case.holder_dead else nullcontext():
            await made_odd(case, run, stack)
        if case.reported:
            await assert_reported(daemon, client, run.name, case.reported)
        await assert_goes_on(daemon, other, "other-goes-on", "other is done")
        stack.close()
        (daemon.work / "odd-goes-on").touch()
        await assert_usable(odd)
        assert daemon.exit_code is None


async def assert_usable(odd: Talk) -> None:
    """Whatever became of its turn, the next message has an answer."""
    await odd.say("say again")
    await odd.until(lambda event: event.text_delta.is_complete and event.text_delta.text == "again")


async def test_a_run_of_an_unknown_provider_is_reported_and_its_agent_left_alone(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon:
        async with open_client(daemon.paths) as client:
            odd, other, run = await two_turns(daemon, client)
        agents = daemon.agent_pids
        daemon.kill()
        changed = "UPDATE sessions SET provider = 'of-the-future' WHERE session_id = ?"
        database = apsw.Connection(str(daemon.paths.database))
        database.execute(changed, (odd.session_id,))
        database.close()
        await daemon.start()
        async with open_client(daemon.paths) as client:
            other.client = client
            await assert_goes_on(daemon, other, "other-goes-on", "other is done")
            (found,) = (await client.health()).unusable_runs
            assert (found.name, found.session_id) == (run.name, odd.session_id)
            assert "of-the-future" in found.problem
            assert f"betcode session delete {odd.session_id}" in found.remedy
            assert all(map(lives, agents))
            await client.delete(odd.session_id)
            await becomes_true(lambda: not lives(agents[0]))


def no_access(run: Path) -> None:
    run.chmod(0)


def read_only(run: Path) -> None:
    run.chmod(0o500)


def no_lock(run: Path) -> None:
    (run / "lock").chmod(0)


def no_segment(run: Path) -> None:
    (run / FIRST).chmod(0)


PERMISSIONS: dict[Callable[[Path], None], str] = {
    no_access: f"`{{}}` cannot be used: {os.strerror(errno.EACCES)}",
    read_only: f"its directory cannot be written: {os.strerror(errno.EACCES)}",
    no_lock: f"`lock` cannot be used: {os.strerror(errno.EACCES)}",
    no_segment: f"`{FIRST}` cannot be used: {os.strerror(errno.EACCES)}",
}


# One representative: what may not be opened makes no difference to other sessions.
@pytest.mark.parametrize("deny", representative(PERMISSIONS, lambda _: "permission", lambda deny: deny.__name__))
@pytest.mark.parametrize("at_start", [True, False], ids=["at start", "while running"])
async def test_a_run_that_may_not_be_opened_is_its_sessions_trouble_alone(
    tmp_path: Path, deny: Callable[[Path], None], at_start: bool
) -> None:
    daemon = UnprivilegedDaemon(tmp_path, claude_bin=agent_program(tmp_path))
    try:
        await daemon.start()
        async with open_client(daemon.paths, sleep=daemon.until_it_serves) as client:
            odd, other, run = await two_turns(daemon, client)
            if at_start:
                daemon.kill()
            deny(run)
            if at_start:
                await daemon.start()
            problem = PERMISSIONS[deny].format(run.name)
            await assert_goes_on(daemon, other, "other-goes-on", "other is done")
            details = await client.health()
            assert [(one.name, one.problem, one.session_id) for one in details.unusable_runs] == [
                (run.name, problem, odd.session_id)
            ]
            (daemon.work / "odd-goes-on").touch()
            await assert_usable(odd)
            assert daemon.exit_code is None
    finally:
        daemon.end_everything()


async def test_entries_that_are_no_runs_are_reported_and_left_alone(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon:
        async with open_client(daemon.paths) as client:
            _, other, _ = await two_turns(daemon, client)
            problems = put_strays(daemon.paths.runs)
            before = sorted(daemon.paths.runs.iterdir())
            for name, problem in problems.items():
                await assert_reported(daemon, client, name, problem)
        await daemon.restart()
        async with open_client(daemon.paths) as client:
            other.client = client
            await assert_goes_on(daemon, other, "other-goes-on", "other is done")
            for name, problem in problems.items():
                await assert_reported(daemon, client, name, problem)
        assert sorted(daemon.paths.runs.iterdir()) == before
