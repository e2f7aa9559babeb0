"""A holder and its agent: inputs once, output whole, and a clear word when something cannot be."""

import fcntl
import hashlib
import json
import os
import resource
import signal
import socket
import stat
import sys
from contextlib import ExitStack, suppress
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from betcode.domain.runs.journal_record import RecordKind
from betcode.engine.shell.holder_client import AgentGone, HolderGone, HolderRefused, attach
from betcode.holder import protocol
from betcode.holder.launch import (
    HolderDidNotStart,
    HolderKilled,
    HolderSpec,
    holder_pid,
    holder_pids,
    is_alive,
    start_holder,
)
from betcode.holder.platform import ShortName, processes, resident_bytes
from support.holder.holders import Held, agent_command, gone, held, holder_left, lock_fallen
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio


async def test_inputs_reach_the_agent_once_and_in_order(tmp_path: Path) -> None:
    with held(tmp_path / "run", agent_command("echo.py")) as run:
        async with attach(run.run_dir) as first, attach(run.run_dir) as second:
            await first.hand_over(1, b"one\n")
            await second.hand_over(1, b"one again\n")
            await second.hand_over(2, b"two\n")
            await first.hand_over(2, b"two again\n")
            await first.hand_over(7, b"seven\n")
            assert (await second.status()).last_input == 7
            await first.close_input()
            end = json.loads(await run.exit(first))
        assert end["code"] == 0
        assert run.lines() == [b"ready", b"got one", b"got two", b"got seven", b"eof"]
        handed = [(record.number, record.data) for record in run.records if record.kind is RecordKind.IN]
        assert handed == [(1, b"one\n"), (2, b"two\n"), (7, b"seven\n")]


async def test_an_agent_has_its_opening_before_anyone_attaches(tmp_path: Path) -> None:
    with held(tmp_path / "run", agent_command("echo.py"), opening=b"first\n") as run:
        async with attach(run.run_dir) as attachment:
            assert attachment.hello.last_input == 1
            await attachment.hand_over(1, b"not this\n")
            await attachment.hand_over(2, b"second\n")
            await run.line(attachment, b"got second")
    assert run.lines() == [b"ready", b"got first", b"got second"]
    assert [record.number for record in run.records if record.kind is RecordKind.IN] == [1, 2]


async def test_the_agent_goes_on_when_every_attachment_is_left(tmp_path: Path) -> None:
    with held(tmp_path / "run", agent_command("echo.py")) as run:
        for number in range(1, 6):
            async with attach(run.run_dir) as attachment:
                assert attachment.hello.last_input == number - 1
                assert attachment.hello.holder_pid == run.pid == holder_pid(run.run_dir)
                await attachment.hand_over(number, b"%d\n" % number)
        async with attach(run.run_dir) as attachment:
            await run.line(attachment, b"got 5")
        assert run.lines()[1:] == [b"got %d" % number for number in range(1, 6)]
        assert holder_pids(tmp_path) == {run.pid}


async def test_an_agent_that_cannot_be_found_is_a_clear_end(tmp_path: Path) -> None:
    with held(tmp_path / "run", ["no-such-agent"]) as run:
        await gone(run.pid)
        run.read_rest()
        assert [record.kind for record in run.records] == [RecordKind.START, RecordKind.EXIT]
        end = json.loads(run.records[-1].data)
        assert end["error"] == "cannot start 'no-such-agent': No such file or directory"
        assert (end["code"], end["signal"], end["errno"]) == (None, None, 2)


async def test_a_missing_working_directory_is_a_clear_end(tmp_path: Path) -> None:
    with held(tmp_path / "run", agent_command("echo.py"), cwd=tmp_path / "nowhere") as run:
        await gone(run.pid)
        run.read_rest()
        assert b"the working directory cannot be entered: No such file" in run.records[-1].data


async def test_a_file_that_may_not_be_run_is_a_clear_end(tmp_path: Path) -> None:
    (tmp_path / "agent").write_text("not a program")
    with held(tmp_path / "run", [str(tmp_path / "agent")]) as run:
        await gone(run.pid)
        run.read_rest()
        assert b"Permission denied" in run.records[-1].data


async def test_an_agent_that_dies_in_the_middle_of_a_line_loses_nothing_it_said(tmp_path: Path) -> None:
    with held(tmp_path / "run", agent_command("half_line.py")) as run:
        await gone(run.pid)
        run.read_rest()
        assert run.lines() == [b"whole", b"half"]
        assert run.lines(RecordKind.ERR) == [b"a complaint"]
        assert json.loads(run.records[-1].data)["signal"] == "SIGKILL"
        await lock_fallen(run)


async def test_a_flood_is_whole_and_the_holder_stays_small(tmp_path: Path) -> None:
    with held(tmp_path / "run", agent_command("flood.py", "300000", "60")) as run:
        async with attach(run.run_dir) as attachment:
            await run.exit(attachment)
            resident = resident_bytes(run.pid)
        assert run.lines() == [b"%d %s" % (number, b"x" * 60) for number in range(300_000)]
        assert len(list(run.run_dir.glob("journal-*"))) > 1
        assert resident <= 15 * 1024 * 1024


async def test_lines_of_many_megabytes_are_whole_and_the_holder_stays_small(tmp_path: Path) -> None:
    with held(tmp_path / "run", agent_command("flood.py", "2", "20000000")) as run:
        async with attach(run.run_dir) as attachment:
            await run.exit(attachment)
            resident = resident_bytes(run.pid)
        assert run.lines() == [b"%d %s" % (number, b"x" * 20_000_000) for number in range(2)]
        assert resident <= 15 * 1024 * 1024


async def test_an_agent_that_does_not_read_delays_acknowledgements_and_nothing_else(tmp_path: Path) -> None:
    inputs = [bytes([65 + number]) * 700_000 for number in range(6)]
    with held(tmp_path / "run", agent_command("deaf.py", str(sum(map(len, inputs))))) as run:
        async with attach(run.run_dir) as attachment, attach(run.run_dir) as watcher:
            await run.line(attachment, b"ready")
            async with anyio.create_task_group() as tasks:
                for number, data in enumerate(inputs, 1):
                    tasks.start_soon(attachment.hand_over, number, data)
                with anyio.fail_after(PATIENCE_S):
                    while (await watcher.status()).last_input < 2:
                        await anyio.lowlevel.checkpoint()
                with anyio.move_on_after(0.3) as waited:
                    while (await watcher.status()).last_input < 6:
                        await anyio.lowlevel.checkpoint()
                assert waited.cancelled_caught, "what the agent does not read is not taken without bound"
                assert (await watcher.status()).last_written == 0
                await attachment.signal("SIGUSR1")  # gets past the inputs that wait
                answer = await run.line(attachment, b"read ")
        assert answer.split()[2].decode() == hashlib.sha256(b"".join(inputs)).hexdigest()


async def test_a_full_disk_stops_the_agent_and_loses_nothing(tmp_path: Path) -> None:
    with held(tmp_path / "run", agent_command("flood.py", "40000", "50")) as run:
        async with attach(run.run_dir) as attachment:
            before = resource.prlimit(run.pid, resource.RLIMIT_FSIZE)
            resource.prlimit(run.pid, resource.RLIMIT_FSIZE, (1_000_000, before[1]))
            with anyio.fail_after(PATIENCE_S):
                while (status := await attachment.status()).blocked is None:
                    await anyio.lowlevel.checkpoint()
            assert status.blocked == "File too large"
            assert not [record for record in run.records if record.kind is RecordKind.EXIT]
            with anyio.move_on_after(0.1) as waited:
                await attachment.hand_over(1, b"waits\n")
            assert waited.cancelled_caught, "nothing is acknowledged that is not on disk"
            resource.prlimit(run.pid, resource.RLIMIT_FSIZE, before)
            await run.exit(attachment)
        assert run.lines() == [b"%d %s" % (number, b"x" * 50) for number in range(40_000)]


async def test_what_the_agent_finds_is_what_it_was_given_and_nothing_of_the_holders(tmp_path: Path) -> None:
    secret = "hunter2-" + "x" * 20
    before = os.umask(0o027)
    try:
        with held(
            tmp_path / "run",
            agent_command("facts.py", str(tmp_path / "facts")),
            env={"SECRET": secret, "BYTES": "\udcff"},
        ) as run:
            async with attach(run.run_dir) as attachment:
                await run.exit(attachment)
            facts = json.loads((tmp_path / "facts").read_text())
            for path in run.run_dir.iterdir():
                if path.is_file():
                    assert secret.encode() not in path.read_bytes()
                assert stat.S_IMODE(path.lstat().st_mode) == 0o600
            assert stat.S_IMODE(run.run_dir.stat().st_mode) == 0o700
    finally:
        os.umask(before)
    assert facts["descriptors"] == [0, 1, 2, 3]  # 3 is the other end of its stdin
    assert facts["environment"]["SECRET"] == secret
    assert facts["environment"]["BYTES"] == "\udcff"
    assert facts["environment"]["BETCODE_RUN"] == run.marker
    assert facts["umask"] == 0o027
    assert facts["cwd"] == str(tmp_path)
    assert facts["session"]
    # Python itself ignores PIPE and XFSZ at its start; nothing else that a program can set may be ignored.
    ignored = {number for number in signal.valid_signals() if int(facts["signals"], 16) >> number - 1 & 1}
    assert ignored <= {signal.SIGPIPE, signal.SIGXFSZ}


async def test_a_holder_inherits_no_descriptor_of_the_daemon(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    with held(tmp_path / "run", agent_command("echo.py")) as run:
        ours = Path(f"/proc/self/fd/{writing}").readlink()
        theirs = [path.readlink() for path in Path(f"/proc/{run.pid}/fd").iterdir()]
        assert ours not in theirs
        assert os.getsid(run.pid) == run.pid != os.getsid(0)
        command = Path(f"/proc/{run.pid}/cmdline").read_bytes()
        assert command.split(b"\0")[1:5] == [b"-I", b"-S", b"-X", b"utf8"]
    os.close(reading)
    os.close(writing)


async def test_a_path_longer_than_a_socket_address_works(tmp_path: Path) -> None:
    run_dir = tmp_path / ("deep-" * 30) / ("deeper-" * 20) / "run"
    with held(run_dir, agent_command("echo.py"), cwd=tmp_path) as run:
        async with attach(run_dir) as attachment:
            await attachment.hand_over(1, b"from afar\n")
            await run.line(attachment, b"got from afar")
        assert len(str(run_dir)) > 200


async def test_a_removed_socket_is_bound_again(tmp_path: Path) -> None:
    with held(tmp_path / "run", agent_command("echo.py")) as run:
        async with attach(run.run_dir) as before:
            (run.run_dir / "socket").unlink()
            async with attach(run.run_dir) as attachment:
                await attachment.hand_over(1, b"again\n")
            await before.hand_over(2, b"and still\n")
            await run.line(before, b"got and still")


async def test_a_run_directory_cannot_be_used_twice(tmp_path: Path) -> None:
    with held(tmp_path / "run", agent_command("echo.py")) as run:
        spec = HolderSpec(run.run_dir, agent_command("echo.py"), {}, tmp_path, "second")
        with pytest.raises(HolderDidNotStart, match="another holder has this run"):
            start_holder(spec)
        async with attach(run.run_dir) as attachment:
            await attachment.close_input()
            await run.exit(attachment)
            await attachment.quit()
        await gone(run.pid)
        with pytest.raises(HolderDidNotStart, match="this run is over"):
            start_holder(spec)


async def kill_when_it_waits(run_dir: Path) -> None:
    """Kill the holder that has come to its run directory, and waits for the lock there."""
    while True:
        for one in processes().values():
            with suppress(OSError):
                if Path(f"/proc/{one.pid}/cwd").readlink() == run_dir:
                    os.kill(one.pid, signal.SIGKILL)
                    return
        await anyio.sleep(0.005)


async def test_a_holder_that_is_killed_before_it_is_ready_is_told_from_one_that_cannot_start(tmp_path: Path) -> None:
    said: list[HolderDidNotStart] = []

    def start(run_dir: Path) -> None:
        try:
            start_holder(HolderSpec(run_dir, agent_command("echo.py"), {}, tmp_path, run_dir.name))
        except HolderDidNotStart as trouble:
            said.append(trouble)

    with anyio.fail_after(20):
        while not any(isinstance(trouble, HolderKilled) for trouble in said):  # it waits no longer than a second
            run_dir = tmp_path / f"run{len(said)}"
            run_dir.mkdir()
            with (run_dir / "lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(kill_when_it_waits, run_dir)
                    await anyio.to_thread.run_sync(start, run_dir)
                    tasks.cancel_scope.cancel()
    assert isinstance(said[-1], HolderKilled)


async def test_attaching_where_no_holder_lives_says_so(tmp_path: Path) -> None:
    with pytest.raises(HolderGone):
        async with attach(tmp_path):
            pass
    assert not is_alive(tmp_path)
    assert holder_pid(tmp_path) is None


async def test_a_holder_leaves_when_its_agent_has_ended_and_not_before(tmp_path: Path) -> None:
    with held(tmp_path / "run", agent_command("echo.py")) as run:
        async with attach(run.run_dir) as attachment:
            with pytest.raises(HolderRefused, match="has not ended"):
                await attachment.quit()
            await attachment.close_input()
            await run.exit(attachment)
            assert (await attachment.status()).exit is not None
            with pytest.raises(AgentGone):
                await attachment.hand_over(1, b"too late\n")
            with pytest.raises(AgentGone):
                await attachment.signal("SIGINT")
            await attachment.end(1)
            await attachment.quit()
            await holder_left(attachment)
        await lock_fallen(run)


async def test_half_a_command_is_dropped_with_its_connection(tmp_path: Path) -> None:
    with held(tmp_path / "run", agent_command("echo.py")) as run:
        command = protocol.encode_frame(protocol.INPUT, 1, "1", b"half\n")
        for cut in range(0, len(command), 7):
            short = ShortName(str(run.run_dir))
            async with await anyio.connect_unix(short.path) as stream:
                await stream.receive()
                await stream.send(command[:cut])
            short.close()
        async with attach(run.run_dir) as attachment:
            assert (await attachment.status()).last_input == 0
            await attachment.hand_over(1, b"whole\n")
            await run.line(attachment, b"got whole")


async def test_a_client_that_never_reads_its_answers_is_dropped(tmp_path: Path) -> None:
    with held(tmp_path / "run", agent_command("echo.py")) as run, socket.socket(socket.AF_UNIX) as caller:
        caller.connect(str(run.run_dir / "socket"))
        questions = protocol.encode_frame(protocol.STATUS, 1) * 100_000
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            caller.sendall(questions)
        assert resident_bytes(run.pid) <= 15 * 1024 * 1024
        await _answers(run)


async def test_many_stalled_clients_cost_neither_descriptors_nor_the_daemon_at_work(tmp_path: Path) -> None:
    with held(tmp_path / "run", agent_command("echo.py")) as run, ExitStack() as callers:
        async with attach(run.run_dir) as attachment:
            await attachment.status()
            for _ in range(400):
                callers.enter_context(socket.socket(socket.AF_UNIX)).connect(str(run.run_dir / "socket"))
            async with attach(run.run_dir):
                pass  # let in after all of them
            await attachment.hand_over(1, b"still here\n")
            await run.line(attachment, b"got still here")
        assert len(list(Path(f"/proc/{run.pid}/fd").iterdir())) < 160


async def test_half_sent_commands_are_kept_only_up_to_a_bound(tmp_path: Path) -> None:
    with held(tmp_path / "run", agent_command("echo.py")) as run, ExitStack() as callers:
        begun = protocol.encode_frame(protocol.INPUT, 1, "1", bytes(60_000_000))[:50_000_000]
        for _ in range(4):
            caller = callers.enter_context(socket.socket(socket.AF_UNIX))
            caller.connect(str(run.run_dir / "socket"))
            with suppress(OSError):  # being dropped is what may happen to it
                caller.sendall(begun)
        assert resident_bytes(run.pid) < 150_000_000
        await _answers(run)


async def test_an_unknown_verb_is_refused_and_the_connection_goes_on(tmp_path: Path) -> None:
    with held(tmp_path / "run", agent_command("echo.py")) as run:
        async with await anyio.connect_unix(run.run_dir / "socket") as stream:
            hello = json.loads(await stream.receive())
            assert hello["protocol"] == protocol.VERSION == 1
            await stream.send(protocol.encode_frame("dance", 5))
            assert await stream.receive() == b"refused 5 unknown verb dance\n"
            await stream.send(protocol.encode_frame(protocol.STATUS, 6))
            assert (await stream.receive()).startswith(b"status 6 {")


async def test_a_holder_is_small(tmp_path: Path) -> None:
    with held(tmp_path / "run", agent_command("echo.py")) as run:
        async with attach(run.run_dir):
            assert resident_bytes(run.pid) <= 15 * 1024 * 1024


@pytest.mark.parametrize("works", [True, False])
async def test_under_systemd_a_holder_gets_a_scope_of_its_own(
    tmp_path: Path, works: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in = tmp_path / "bin" / "systemd-run"
    stand_in.parent.mkdir()
    end = 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"' if works else "exit 1"
    stand_in.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\n{end}\n')
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", f"{stand_in.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("INVOCATION_ID", "0123")
    with held(tmp_path / "run", agent_command("echo.py")) as run:
        asked = (tmp_path / "asked").read_text()
        assert asked.startswith(f"--user --scope --quiet --collect --unit=betcode-run-{run.marker}")
        assert sys.executable in asked
        assert "BETCODE_RUN" not in asked
        await _answers(run)


async def _answers(run: Held) -> None:
    async with attach(run.run_dir) as attachment:
        await attachment.hand_over(1, b"there?\n")
        await run.line(attachment, b"got there?")
