"""A busy agent, and daemons that connect, say half of something, stall and are killed: its output stays whole."""

import json
import os
import random
import signal
import socket
import sys
from pathlib import Path

import anyio
import anyio.abc
import pytest

from betcode.domain.runs.journal_record import RecordKind
from betcode.engine.shell.holder_client import HolderGone, attach
from betcode.holder import protocol
from betcode.holder.platform import resident_bytes
from support.holder.holders import Held, agent_command, held
from support.paths import SUPPORT
from support.patience import PATIENCE_S

SOAK = os.environ.get("BETCODE_SOAK") == "1"
CONNECTS = 50_000 if SOAK else 2_000
KILLS = 500 if SOAK else 25
INPUTS = 2_000 if SOAK else 150
CLIENT = SUPPORT / "holder" / "storm_client.py"

pytestmark = pytest.mark.anyio


def misbehave(run: Held, chance: random.Random, number: int) -> socket.socket | None:
    """One connection of a bad daemon; a stalled one is given back to be kept open."""
    caller = socket.socket(socket.AF_UNIX)
    caller.settimeout(5)
    try:
        caller.connect(str(run.run_dir / "socket"))
        kind = number % 8
        whole = protocol.encode_frame(protocol.INPUT, 1, str(10**9), b"must never arrive\n")
        if kind == 0:
            caller.send(whole[: chance.randrange(len(whole))])
        elif kind == 1:
            caller.send(bytearray(whole).replace(b"never", b"NEVER"))  # the checksum is wrong now
        elif kind == 2:
            caller.send(chance.randbytes(chance.randrange(1, 3000)))
        elif kind == 3:  # asks and asks and never reads an answer
            caller.setblocking(False)
            caller.send(b"".join(protocol.encode_frame(protocol.STATUS, serial) for serial in range(300)))
            return caller
        elif kind == 4:
            caller.recv(65536)
            caller.send(protocol.encode_frame(protocol.LISTEN, 0, "0") + b"input 1 2 67000000 ")
            return caller
        elif kind == 5:
            caller.send(
                protocol.encode_frame(protocol.SIGNAL, 1, "SIGNOTHING") + protocol.encode_frame("end", 2, "nan")
            )
        elif kind == 6:
            caller.shutdown(socket.SHUT_RD)
            caller.send(protocol.encode_frame(protocol.QUIT, 1) * 5)
    except OSError:
        pass  # being thrown out is an answer too
    caller.close()
    return None


async def connect_badly(run: Held, chance: random.Random) -> None:
    stalled: list[socket.socket] = []
    for number in range(CONNECTS):
        kept = misbehave(run, chance, number)
        if kept is not None:
            stalled.append(kept)
        if len(stalled) > 300:
            stalled.pop(chance.randrange(len(stalled))).close()
        await anyio.lowlevel.checkpoint()
    for caller in stalled:
        caller.close()


async def kill_clients(run: Held, chance: random.Random) -> None:
    """Whole processes that follow and hand over as a daemon does, killed or stopped at any moment."""
    for _ in range(KILLS):
        async with await anyio.open_process([sys.executable, "-I", "-S", str(CLIENT), str(run.run_dir)]) as client:
            assert client.stdout is not None
            with anyio.fail_after(PATIENCE_S):
                for _ in range(chance.randrange(1, 6)):
                    await client.stdout.receive()
            if chance.random() < 0.3:
                os.kill(client.pid, signal.SIGSTOP)
            client.kill()


async def hand_over_everything(run: Held, *, task_status: anyio.abc.TaskStatus[None]) -> None:
    """The one good daemon: reattaches whenever it is thrown out, and hands over each input until it is taken."""
    task_status.started()
    number = 1
    while number <= INPUTS:
        try:
            async with attach(run.run_dir, timeout_s=PATIENCE_S) as attachment:
                while number <= INPUTS:
                    await attachment.hand_over(number, b"input %d\n" % number)
                    number += 1
                    await attachment.grown(run.reader.seen)
                    run.records += run.reader.read(2**22)
        except HolderGone:
            continue


async def test_the_agents_output_is_whole_whatever_its_daemons_do(tmp_path: Path) -> None:
    chance = random.Random(7)
    with held(tmp_path / "run", agent_command("talker.py")) as run:
        with anyio.fail_after(3600 if SOAK else 2 * PATIENCE_S):
            async with anyio.create_task_group() as tasks:
                await tasks.start(hand_over_everything, run)
                tasks.start_soon(kill_clients, run, chance)
                tasks.start_soon(connect_badly, run, chance)
            resident = resident_bytes(run.pid)
            async with attach(run.run_dir) as attachment:
                assert attachment.hello.last_input == INPUTS
                await attachment.hand_over(INPUTS + 1, b"stop\n")
                end = json.loads(await run.exit(attachment))
        assert end["code"] == 0
        assert RecordKind.DAMAGED not in [record.kind for record in run.records]
        said = [line for line in run.lines() if line.startswith(b"tick")]
        assert said == [b"tick %d %s" % (number, b"." * (number % 300)) for number in range(len(said))]
        assert b"last %d" % len(said) in run.lines()
        heard = [line for line in run.lines() if line.startswith(b"got")]
        assert heard == [*(b"got input %d" % number for number in range(1, INPUTS + 1)), b"got stop"]
        assert resident <= 15 * 1024 * 1024
        assert (run.run_dir / "holder.log").read_text() == ""
