"""Ends of every kind: asked for, refused, killed from outside; afterwards nobody is left."""

import json
import os
import signal
from pathlib import Path

import anyio
import pytest

from betcode.domain.runs.journal_record import RecordKind
from betcode.engine.shell.holder_client import Attachment, HolderGone, attach
from betcode.holder.launch import descends_from, end_leftovers
from betcode.holder.platform import marked
from betcode.holder.protocol import REFUSED_NOTE
from support.daemon.runs import lives
from support.holder.holders import Held, agent_command, gone, held, lock_fallen, more
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio


async def tools(run: Held, attachment: Attachment, count: int) -> list[int]:
    """The pids of the tools of leaves_tools.py, when it and they are ready for what comes."""
    with anyio.fail_after(PATIENCE_S):
        while len(run.lines()) <= count:
            run.records += await more(run.reader, attachment)
    return [int(line.split()[1]) for line in run.lines() if line != b"set up"]


async def test_an_idle_agent_is_let_go_by_eof(tmp_path: Path) -> None:
    with held(tmp_path / "run", agent_command("echo.py")) as run:
        async with attach(run.run_dir) as attachment:
            await run.line(attachment, b"ready")
            await attachment.hand_over(1, b"last words\n")
            await attachment.end(10, nothing_open=True)
            assert json.loads(await run.exit(attachment)) == {
                "code": 0, "signal": None, "asked": True, "errno": None, "error": None,
            }  # fmt: skip
        assert run.lines() == [b"ready", b"got last words", b"eof"]


async def test_an_agent_that_ignores_eof_is_terminated(tmp_path: Path) -> None:
    with held(tmp_path / "run", agent_command("stubborn.py")) as run:
        async with attach(run.run_dir) as attachment:
            await run.line(attachment, b"ready")
            await attachment.end(0.3, nothing_open=True)
            assert json.loads(await run.exit(attachment))["signal"] == "SIGTERM"
        assert b"eof" in run.lines()


async def test_an_agent_at_work_is_terminated_with_its_stdin_open(tmp_path: Path) -> None:
    fate = tmp_path / "fate"
    with held(tmp_path / "run", agent_command("tells_its_fate.py", str(fate))) as run:
        async with attach(run.run_dir) as attachment:
            await run.line(attachment, b"ready")
            await attachment.end(10)
            assert json.loads(await run.exit(attachment))["code"] == 143
    assert fate.read_text() == "SIGTERM\n"


async def test_an_agent_that_ignores_everything_is_killed_after_the_grace(tmp_path: Path) -> None:
    with held(tmp_path / "run", agent_command("stubborn.py", "term")) as run:
        async with attach(run.run_dir) as attachment:
            await run.line(attachment, b"ready")
            await attachment.end(3600)
            await attachment.end(0.2)  # a shorter grace counts
            assert json.loads(await run.exit(attachment))["signal"] == "SIGKILL"


async def test_ending_an_agent_ends_the_tools_that_left_its_session(tmp_path: Path) -> None:
    with held(tmp_path / "run", agent_command("leaves_tools.py", "stay")) as run:
        async with attach(run.run_dir) as attachment:
            pids = await tools(run, attachment, 9)
            await attachment.end(0.1)
            await run.exit(attachment)
        assert not any(lives(pid) for pid in pids), "the end is told when everybody is gone"
        assert marked(run.marker) == []


async def test_tools_left_behind_by_an_agent_that_ended_are_ended_too(tmp_path: Path) -> None:
    with held(tmp_path / "run", agent_command("leaves_tools.py", "exit")) as run:
        async with attach(run.run_dir) as attachment:
            pids = await tools(run, attachment, 9)
            await attachment.hand_over(1, b"go\n")
            end = json.loads(await run.exit(attachment))
        assert (end["code"], end["asked"]) == (0, False)
        assert b"left 9 processes behind" in run.lines(RecordKind.NOTE)[0]
        assert not any(lives(pid) for pid in pids), "the end is told when everybody is gone"


async def test_tools_of_a_killed_agent_are_ended(tmp_path: Path) -> None:
    with held(tmp_path / "run", agent_command("leaves_tools.py", "stay")) as run:
        async with attach(run.run_dir) as attachment:
            await tools(run, attachment, 9)
            os.kill(attachment.hello.agent_pid, signal.SIGKILL)
            assert json.loads(await run.exit(attachment))["signal"] == "SIGKILL"
        assert marked(run.marker) == []


async def test_a_pipe_held_open_by_a_stranger_delays_the_end_only_for_a_while(tmp_path: Path) -> None:
    with held(tmp_path / "run", agent_command("echo.py")) as run:
        async with attach(run.run_dir) as attachment:
            await run.line(attachment, b"ready")
            stranger = os.open(f"/proc/{attachment.hello.agent_pid}/fd/1", os.O_WRONLY)
            try:
                await attachment.close_input()
                await run.line(attachment, b"eof")
                os.write(stranger, b"not the agent's\nhalf")
                assert json.loads(await run.exit(attachment))["code"] == 0
            finally:
                os.close(stranger)
        assert run.lines() == [b"ready", b"eof", b"not the agent's", b"half"]


async def test_when_a_holder_is_killed_its_agent_gets_a_signal_and_no_eof(tmp_path: Path) -> None:
    fate = tmp_path / "fate"
    with held(tmp_path / "run", agent_command("tells_its_fate.py", str(fate))) as run:
        async with attach(run.run_dir) as attachment:
            await run.line(attachment, b"ready")
            os.kill(run.pid, signal.SIGKILL)
            await gone(attachment.hello.agent_pid)
    assert fate.read_text() == "SIGTERM\n"


async def test_when_a_holder_is_killed_everything_it_held_is_ended(tmp_path: Path) -> None:
    with held(tmp_path / "run", agent_command("leaves_tools.py", "stay")) as run:
        async with attach(run.run_dir) as attachment:
            hello = attachment.hello
            pids = [*await tools(run, attachment, 9), hello.agent_pid]
            os.kill(run.pid, signal.SIGKILL)
            with anyio.fail_after(PATIENCE_S), pytest.raises(HolderGone):
                await attachment.grown(2**50)
            await lock_fallen(run)
            ended = await anyio.to_thread.run_sync(end_leftovers, run.marker, hello.agent_pid, hello.agent_start)
            assert ended == 10
            assert not any(lives(pid) for pid in pids)
        run.read_rest()
        assert RecordKind.EXIT not in [record.kind for record in run.records]


async def test_ending_leftovers_leaves_a_process_alone_that_only_has_the_pid(tmp_path: Path) -> None:
    with held(tmp_path / "run", agent_command("echo.py")) as run:
        async with attach(run.run_dir) as attachment:
            hello = attachment.hello
            assert end_leftovers("another-run", hello.agent_pid, hello.agent_start + 1, grace_s=0) == 0
            await attachment.hand_over(1, b"alive\n")
            await run.line(attachment, b"got alive")


async def test_a_holder_told_to_terminate_ends_its_agent_first(tmp_path: Path) -> None:
    with held(tmp_path / "run", agent_command("echo.py")) as run:
        async with attach(run.run_dir) as attachment:
            await run.line(attachment, b"ready")
            os.kill(run.pid, signal.SIGTERM)
            end = json.loads(await run.exit(attachment))
        assert (end["signal"], end["asked"]) == ("SIGTERM", True)


async def test_an_agent_that_signals_its_own_process_group_does_not_hit_the_holder(tmp_path: Path) -> None:
    with held(tmp_path / "run", ["sh", "-c", "echo before; kill -KILL 0"]) as run:
        await gone(run.pid)
        run.read_rest()
        assert json.loads(run.records[-1].data)["signal"] == "SIGKILL"
        assert run.lines() == [b"before"]


async def test_an_agents_own_processes_are_refused(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    with held(run_dir, agent_command("visitor.py", str(run_dir / "socket"))) as run:
        async with attach(run_dir) as attachment:
            answer = await run.line(attachment, b"answer")
            hello = attachment.hello
            assert b"refused" in answer
            assert b"may not talk to its holder" in answer
            [note] = run.lines(RecordKind.NOTE)
            assert note.startswith(f"{REFUSED_NOTE}pid ".encode())
            assert f" < {run.pid} (python".encode() in note
            assert descends_from(hello.agent_pid, {run.pid})
            assert not descends_from(os.getpid(), {run.pid})
