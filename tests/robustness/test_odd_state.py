"""Any entry under a name of the state directory: the daemon starts, serves, and a session's turn works."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from betcode.cli.doctor import runs as doctor_runs
from betcode.cli.doctor.finding import Level, Situation
from betcode.client import Client, open_client
from betcode.config.settings import Settings
from support.daemon.odd_runs import UnprivilegedDaemon, emptied
from support.daemon.process import Daemon, agent_program, obedient_daemon
from support.daemon.session import Talk
from support.plugins.wide import representative
from support.providers.claude_world import obedient_talk

pytestmark = pytest.mark.anyio


def dangling(path: Path) -> None:
    path.symlink_to("nowhere")


def directory_with_a_file(path: Path) -> None:
    path.mkdir()
    (path / "kept").write_text("content")


FILES = ("betcode.db.incarnation", "betcode.db.reserve", "search.db")
DIRECTORIES = ("runs", "snapshots")
ODD_ENTRIES: list[tuple[str, Callable[[Path], object]]] = [
    *((name, os.mkfifo) for name in (*DIRECTORIES, *FILES)),
    *((name, Path.touch) for name in DIRECTORIES),
    *((name, dangling) for name in DIRECTORIES),
    *((name, directory_with_a_file) for name in FILES),
]


def named(case: tuple[str, Callable[[Path], object]]) -> str:
    return f"{case[0]} {case[1].__name__}"


async def answered(talk: Talk, word: str) -> None:
    await talk.say(f"say {word}")
    await talk.until(lambda event: event.text_delta.is_complete and event.text_delta.text == word)


def found_by_doctor(daemon: Daemon) -> list[str]:
    situation = Situation(daemon.paths, Settings(), {}, "", 0.0)
    return [one.says for one in doctor_runs.runs(situation) if one.level is Level.TROUBLE]


async def unusable(client: Client) -> list[tuple[str, str]]:
    return [(one.name, one.problem) for one in (await client.health()).unusable_runs]


# A representative for each name: the FIFO, which blocks whoever opens it without care.
@pytest.mark.parametrize("case", representative(ODD_ENTRIES, lambda case: case[0], named))
async def test_a_daemon_starts_and_serves_whatever_an_entry_of_the_state_is(
    tmp_path: Path, case: tuple[str, Callable[[Path], object]]
) -> None:
    name, make = case
    async with obedient_daemon(tmp_path) as daemon:
        async with open_client(daemon.paths) as client:
            talk = await obedient_talk(daemon, client)
            await answered(talk, "before")
        daemon.kill()
        make(emptied(daemon.paths.state_dir / name))
        await daemon.start()
        async with open_client(daemon.paths) as client:
            talk.client = client
            await answered(talk, "again")
            await answered(await obedient_talk(daemon, client), "other")
        await daemon.restart()
        async with open_client(daemon.paths) as client:
            talk.client = client
            await answered(talk, "once-more")


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (os.mkfifo, "it is a FIFO, not a directory"),
        pytest.param(Path.touch, "it is a regular file, not a directory", marks=pytest.mark.wide),
        pytest.param(dangling, "it is a symbolic link, not a directory", marks=pytest.mark.wide),
    ],
)
async def test_an_unusable_directory_of_runs_is_renamed_at_start_and_reported(
    tmp_path: Path, make: Callable[[Path], object], problem: str
) -> None:
    async with obedient_daemon(tmp_path) as daemon:
        daemon.kill()
        runs = daemon.paths.runs
        make(emptied(runs))
        runs.with_name("runs.unusable-1").touch()
        await daemon.start()
        assert runs.stat().st_mode & 0o777 == 0o700
        said = f"{problem}; the daemon found it as `runs` and renamed it"
        earlier = "it is a regular file, not a directory; the daemon found it as `runs` and renamed it"
        async with open_client(daemon.paths) as client:
            assert await unusable(client) == [("runs.unusable-1", earlier), ("runs.unusable-2", said)]
            reported = (await client.health()).unusable_runs
            assert doctor_runs.reported(reported, daemon.paths) == [], "the files show it"
        assert found_by_doctor(daemon) == [f"runs.unusable-1: {earlier}", f"runs.unusable-2: {said}"]
        (warned,) = [line for line in daemon.paths.daemon_log.read_text().splitlines() if "runs.unusable-2" in line]
        assert "warn" in warned.lower()
        assert problem in warned


async def test_a_directory_of_runs_that_may_not_be_listed_is_named_and_is_private_after_a_restart(
    tmp_path: Path,
) -> None:
    daemon = UnprivilegedDaemon(tmp_path, claude_bin=agent_program(tmp_path))
    try:
        await daemon.start()
        async with open_client(daemon.paths, sleep=daemon.until_it_serves) as client:
            talk = await obedient_talk(daemon, client)
            await answered(talk, "before")
            daemon.paths.runs.chmod(0)
            reported = (await client.health()).unusable_runs
            (found,) = [one for one in reported if one.name == "runs"]
            assert found.problem == "`runs` cannot be used: Permission denied"
            assert found.remedy == "allow the daemon's user to list it: chmod 700 runs in the state directory"
            assert not found.can_be_set_aside
            await daemon.restart()
            assert daemon.paths.runs.stat().st_mode & 0o777 == 0o700
            await answered(talk, "again")
            assert await unusable(client) == []
    finally:
        daemon.end_everything()


async def test_a_daemon_serves_on_when_the_directory_of_runs_becomes_odd(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        runs = daemon.paths.runs
        os.mkfifo(emptied(runs))
        talk = await obedient_talk(daemon, client)
        await talk.say("say hello")
        assert "runs" in (await talk.until("error"))[-1].error.message
        assert await unusable(client) == [("runs", "it is a FIFO, not a directory")]
        assert found_by_doctor(daemon) == ["runs: it is a FIFO, not a directory"]
        runs.unlink()
        await answered(talk, "again")
        assert daemon.exit_code is None
