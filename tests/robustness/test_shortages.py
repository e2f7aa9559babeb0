"""What the daemon stands on is taken away: descriptors, directories, its own file. Agents do not pay for it."""

import os
import shutil
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from betcode.client import Client, NewConversation, open_client
from support.daemon.process import Daemon, agent_program, becomes_true, obedient_daemon
from support.daemon.runs import lives, runs_in
from support.daemon.session import Talk, assert_whole, is_idle, kinds, settled_text
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio


async def a_talk(daemon: Daemon, client: Client) -> Talk:
    new = NewConversation(str(daemon.work), provider="claude", environment=daemon.environment)
    return Talk(client, await client.start_session(new))


@contextmanager
def limited_daemon(root: Path, *, soft: int, hard: int) -> Iterator[Daemon]:
    """A daemon that may have so many files open; it is being started."""
    daemon = Daemon(root, claude_bin=agent_program(root))
    try:
        daemon.launch(argv=["prlimit", f"--nofile={soft}:{hard}", *daemon.argv])
        yield daemon
    finally:
        daemon.end_everything()


def open_files(daemon: Daemon) -> int:
    return len(os.listdir(f"/proc/{daemon.pid}/fd"))  # noqa: PTH208 the number is wanted, not paths


def connect_in_vain(daemon: Daemon, number: int, stack: ExitStack) -> None:
    """Clients that connect, say nothing and stay."""
    for _ in range(number):
        connection = stack.enter_context(socket.socket(socket.AF_UNIX))
        connection.setblocking(False)
        connection.connect_ex(str(daemon.paths.socket))


async def test_clients_that_take_every_descriptor_do_not_end_the_daemon_or_an_agent(tmp_path: Path) -> None:
    with limited_daemon(tmp_path, soft=128, hard=128) as daemon:
        await becomes_true(daemon.paths.socket.exists)
        async with open_client(daemon.paths) as client:
            talk = await a_talk(daemon, client)
            await talk.say("wait go\ncount 300\nwait more\nsay end")
            await talk.until(lambda event: event.text_delta.text == "waiting")
            with ExitStack() as crowd:
                connect_in_vain(daemon, 200, crowd)
                await becomes_true(lambda: open_files(daemon) >= 128)
                (daemon.work / "go").touch()
                await talk.until(lambda event: event.text_delta.text.startswith("299"))
                assert (await client.health()).overall_status  # which looks at every process
                (run,) = runs_in(daemon.paths.runs)
            (daemon.work / "more").touch()
            await talk.until(is_idle)
            assert_whole(talk.events)
            assert "error" not in kinds(talk.events)
            assert daemon.agent_pids == [run.agent_pid]


async def test_many_clients_find_room_and_agents_keep_the_limit_of_their_user(tmp_path: Path) -> None:
    with limited_daemon(tmp_path, soft=128, hard=4096) as daemon:
        await becomes_true(daemon.paths.socket.exists)
        tell = daemon.work / "tell.py"
        tell.write_text("import resource\nprint(resource.getrlimit(resource.RLIMIT_NOFILE))")
        with ExitStack() as crowd:
            with anyio.fail_after(PATIENCE_S):
                while open_files(daemon) <= 300:  # a daemon that is slow to accept leaves no room in line
                    connect_in_vain(daemon, 10, crowd)
                    await anyio.lowlevel.checkpoint()
            async with open_client(daemon.paths) as client:
                talk = await a_talk(daemon, client)
                told = settled_text(await talk.turn(f"spawn {sys.executable} {tell}"))
                assert open_files(daemon) > 300
        assert told == "(128, 4096)"


async def test_a_removed_directory_of_runs_is_made_again(tmp_path: Path) -> None:
    async with (
        obedient_daemon(tmp_path, settings={"agents": {"idle_retire": 0.2}}) as daemon,
        open_client(daemon.paths) as client,
    ):
        shutil.rmtree(daemon.paths.runs)
        first = await a_talk(daemon, client)
        assert settled_text(await first.turn("say one")) == "one"
        shutil.rmtree(daemon.paths.runs)
        await becomes_true(lambda: not lives(daemon.agent_pids[0]))
        second = await a_talk(daemon, client)
        assert settled_text(await second.turn("say two")) == "two"


@pytest.mark.parametrize("replaced", [False, True], ids=["removed", "replaced"])
async def test_a_daemon_whose_database_is_taken_away_ends_and_says_why(tmp_path: Path, replaced: bool) -> None:
    async with obedient_daemon(tmp_path) as daemon:
        database = daemon.paths.database
        if replaced:
            copy = shutil.copy(database, database.with_name("copy"))
            Path(copy).replace(database)
        else:
            database.unlink()
        assert await daemon.ended() == 1
        assert "was removed or replaced while the daemon runs" in daemon.log


@pytest.mark.parametrize("which", ["socket", "ticket_socket"])
async def test_a_daemon_whose_socket_is_removed_makes_way_for_one_that_can_be_reached(
    tmp_path: Path, which: str
) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        talk = await a_talk(daemon, client)
        await talk.say("wait more\nsay end")
        await talk.until(lambda event: event.text_delta.text == "waiting")
        getattr(daemon.paths, which).unlink()
        assert await daemon.ended() == 1
        assert "was removed, so clients cannot reach this daemon" in daemon.log
        await daemon.start()
        (daemon.work / "more").touch()
        await talk.until(is_idle)
        assert_whole(talk.events)
        assert "error" not in kinds(talk.events)


async def test_an_agent_cannot_start_the_daemon_that_would_hold_it(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon:
        script = daemon.work / "start.sh"
        told = daemon.work / "told"
        os.mkfifo(daemon.work / "dead")
        paths = daemon.paths
        betcode = Path(sys.executable).with_name("betcode")
        script.write_text(
            f"#!/bin/sh\nread line < {daemon.work}/dead\n{betcode} --state-dir {paths.state_dir} "
            f"--config-dir {paths.config_dir} session list > {told}.part 2>&1\nmv {told}.part {told}\n"
        )
        script.chmod(0o755)
        async with open_client(paths) as client:
            talk = await a_talk(daemon, client)
            await talk.say(f"spawn {script}\nsay done")
            await talk.until(lambda event: event.status_change.status != 0)
            daemon.kill()
            await anyio.to_thread.run_sync((daemon.work / "dead").write_text, "now\n", abandon_on_cancel=True)
            await becomes_true(told.exists)
            assert "start the daemon in your own terminal" in told.read_text()
            await daemon.start()
            await talk.until(is_idle)
            assert "error" not in kinds(talk.events), "the agent was not harmed"
            assert_whole(talk.events)
