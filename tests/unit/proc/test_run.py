"""A program runs within its limits, and no process of its group outlives it."""

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from subprocess import DEVNULL, STDOUT

import anyio
import anyio.to_thread
import pytest

from betcode.proc import RunResult, run, run_blocking
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio

Runner = Callable[[str, float, int], Awaitable[RunResult]]


async def in_the_loop(script: str, limit_s: float = PATIENCE_S, output_limit_bytes: int = 100_000) -> RunResult:
    return await run(["sh", "-c", script], os.environ, limit_s=limit_s, output_limit_bytes=output_limit_bytes)


async def in_a_thread(script: str, limit_s: float = PATIENCE_S, output_limit_bytes: int = 100_000) -> RunResult:
    return await anyio.to_thread.run_sync(
        lambda: run_blocking(["sh", "-c", script], os.environ, limit_s=limit_s, output_limit_bytes=output_limit_bytes)
    )


BOTH = pytest.mark.parametrize("runner", [in_the_loop, in_a_thread])


def lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


async def until_gone(pid: int) -> None:
    with anyio.fail_after(PATIENCE_S):
        while lives(pid):  # noqa: ASYNC110 - the end of another program's process is no event here
            await anyio.sleep(0.01)


@BOTH
async def test_both_outputs_and_the_exit_code_are_returned(runner: Runner) -> None:
    assert await runner("echo out; echo err >&2; exit 3", PATIENCE_S, 100) == RunResult(3, b"out\n", b"err\n")


@BOTH
async def test_a_signal_is_a_negative_code(runner: Runner) -> None:
    assert (await runner("kill -TERM $$", PATIENCE_S, 100)).code == -15


@BOTH
async def test_output_over_the_limit_is_dropped_and_the_program_is_not_blocked(runner: Runner) -> None:
    done = await runner("head -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2; exit 4", PATIENCE_S, 100)
    assert (done.code, len(done.out), len(done.err)) == (4, 100, 100)


@BOTH
async def test_the_whole_group_is_killed_at_the_time_limit(runner: Runner) -> None:
    done = await runner("trap '' TERM; echo $$; sleep 1000 & echo $!; wait", 0.3, 100)
    assert done.timed_out
    for pid in map(int, done.out.split()):
        await until_gone(pid)


@BOTH
async def test_a_background_process_that_holds_the_pipe_does_not_delay_the_result(runner: Runner) -> None:
    done = await runner("sleep 1000 & echo $!", PATIENCE_S, 100)
    assert done.code == 0
    await until_gone(int(done.out))


@BOTH
async def test_a_program_that_closes_its_outputs_is_waited_for(runner: Runner) -> None:
    done = await runner("exec >&- 2>&-; sleep 0.1; exit 5", PATIENCE_S, 100)
    assert done.code == 5


async def test_a_missing_program_raises(tmp_path: Path) -> None:
    argv = [str(tmp_path / "none")]
    with pytest.raises(FileNotFoundError):
        await run(argv, os.environ, limit_s=PATIENCE_S)
    with pytest.raises(FileNotFoundError):
        run_blocking(argv, os.environ, limit_s=PATIENCE_S)


@pytest.mark.parametrize("with_handle", [True, False])
async def test_the_end_is_noticed_without_a_process_handle_too(
    with_handle: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not with_handle:
        monkeypatch.setattr("betcode.proc.child._exit_handle", lambda _: None)
    assert (await in_the_loop("sleep 1000 & echo $!; exit 6")).code == 6
    assert (await in_a_thread("echo out; exit 6")) == RunResult(6, b"out\n", b"")


async def test_input_larger_than_a_pipe_arrives_whole() -> None:
    done = await run(["wc", "-c"], os.environ, limit_s=PATIENCE_S, stdin=b"x" * 500_000)
    assert done.out.split() == [b"500000"]


async def test_a_program_that_reads_no_input_is_no_error() -> None:
    done = await run(["true"], os.environ, limit_s=PATIENCE_S, stdin=b"x" * 500_000)
    assert done.code == 0


async def test_outputs_can_be_merged_and_passed_on_as_they_come() -> None:
    pieces: list[bytes] = []
    argv = ["sh", "-c", "echo out; echo err >&2"]
    done = await run(argv, os.environ, limit_s=PATIENCE_S, on_output=pieces.append, stderr=STDOUT)
    assert (b"".join(pieces), done.out) == (b"out\nerr\n", b"")


async def test_the_directory_and_the_environment_are_those_given(tmp_path: Path) -> None:
    done = await run(["/bin/sh", "-c", "pwd; echo $A"], {"A": "b"}, limit_s=PATIENCE_S, directory=str(tmp_path))
    assert done.out.decode().split() == [str(tmp_path), "b"]


async def test_a_program_with_a_grace_period_may_tidy_up(tmp_path: Path) -> None:
    argv = ["sh", "-c", f"trap 'echo tidy > {tmp_path}/done; exit' TERM; echo ready; while :; do sleep 0.01; done"]
    ready = anyio.Event()
    async with anyio.create_task_group() as tasks:

        async def call() -> None:
            await run(argv, os.environ, limit_s=None, on_output=lambda _: ready.set(), grace_s=PATIENCE_S)

        tasks.start_soon(call)
        with anyio.fail_after(PATIENCE_S):
            await ready.wait()
        tasks.cancel_scope.cancel()
    assert (tmp_path / "done").read_text() == "tidy\n"


async def test_a_cancelled_call_leaves_no_process_behind() -> None:
    pids: list[int] = []
    started = anyio.Event()

    def note(piece: bytes) -> None:
        pids.extend(map(int, piece.split()))
        if len(pids) == 2:
            started.set()

    async with anyio.create_task_group() as tasks:

        async def call() -> None:
            argv = ["sh", "-c", "sleep 1000 & echo $$; echo $!; wait"]
            await run(argv, os.environ, limit_s=None, on_output=note)

        tasks.start_soon(call)
        with anyio.fail_after(PATIENCE_S):
            await started.wait()
        tasks.cancel_scope.cancel()
    for pid in pids:
        await until_gone(pid)


async def test_background_processes_survive_the_end_if_the_caller_wants_that(tmp_path: Path) -> None:
    argv = ["sh", "-c", f"sleep 1000 & echo $! > {tmp_path}/pid"]
    done = await run(argv, os.environ, limit_s=PATIENCE_S, stdout=DEVNULL, stderr=DEVNULL, keep_background=True)
    pid = int((tmp_path / "pid").read_text())
    try:
        assert done.code == 0
        assert lives(pid)
    finally:
        os.kill(pid, 9)
