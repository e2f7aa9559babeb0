"""Execute: commands in a campaign, by the API."""

from pathlib import Path

import anyio
import pytest

from obey.local.v1 import local_pb2 as pb
from support.daemon.runs import gone
from support.git.repositories import make_repository
from support.obey.campaigns import allow
from support.obey.daemon import Obeyed, refused
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def programs(it: Obeyed) -> None:
    allow(it.root, sh=True, touch=True)


def execute(it: Obeyed, command: str, *args: str, timeout_s: float = 0.0) -> pb.ExecuteRequest:
    request = pb.ExecuteRequest(campaign_id=it.campaign_id, command=command, args=args)
    request.timeout.FromNanoseconds(int(timeout_s * 1e9))
    return request


async def run(it: Obeyed, command: str, *args: str, timeout_s: float = 0.0) -> tuple[bytes, bytes, pb.ExecuteExit]:
    out, err = b"", b""
    async for answer in it.stub.Execute(execute(it, command, *args, timeout_s=timeout_s), timeout=PATIENCE_S):
        out += answer.stdout
        err += answer.stderr
        if answer.HasField("exit"):
            return out, err, answer.exit
    raise AssertionError("it did not say how it ended")


async def test_output_comes_as_it_is_written_and_the_end_comes_last(it: Obeyed) -> None:
    out, err, end = await run(it, "sh", "-c", "echo out; echo err >&2; pwd; exit 7")
    assert out == f"out\n{it.root}\n".encode()
    assert err == b"err\n"
    assert (end.exit_code, end.timed_out) == (7, False)
    assert end.HasField("duration")


async def test_git_works_in_the_root(it: Obeyed) -> None:
    make_repository(it.root)
    (it.root / "new.txt").touch()
    out, _, end = await run(it, "git", "status", "--short", "new.txt")
    assert (out, end.exit_code) == (b"?? new.txt\n", 0)


@pytest.mark.parametrize(
    ("command", "args"),
    [
        ("touch", ["../ran"]),
        ("touch", ["/tmp/ran"]),
        ("touch", ["out/ran"]),
        ("touch", ["--reference=/etc/passwd", "ran"]),
        ("touch", ["-r../x", "ran"]),
        ("touch", ["a/../../ran"]),
        ("touch", ["~/ran"]),
        ("touch", [".env"]),
        ("touch", ["ran\0"]),
        ("touch ran", []),
        ("/usr/bin/touch", ["ran"]),
        ("rm", ["-rf", "."]),
        ("git", ["push", "--force"]),
        ("git", ["-c", "alias.x=!touch ran", "x"]),
        ("git", ["reset", "--hard"]),
        ("git", ["clean", "-fd"]),
    ],
)
async def test_what_is_refused_is_not_run(it: Obeyed, command: str, args: list[str]) -> None:
    if not (it.root / "out").is_symlink():
        (it.root / "out").symlink_to(it.daemon.root)
    error = await refused(it.stub.Execute(execute(it, command, *args), timeout=PATIENCE_S))
    assert error.status == "PERMISSION_DENIED"
    assert error.message.startswith("OBEY-")
    assert error.message.isprintable()
    for place in (it.root, it.daemon.root, Path("/tmp")):
        assert not (place / "ran").exists()
        assert not (place / ".env").exists()


async def test_a_command_of_nothing_or_of_no_campaign_is_refused(it: Obeyed) -> None:
    assert (await refused(it.stub.Execute(execute(it, "")))).status == "INVALID_ARGUMENT"
    assert (await refused(it.stub.Execute(execute(it, "git", "status", timeout_s=-1)))).status == "INVALID_ARGUMENT"
    request = pb.ExecuteRequest(campaign_id="none", command="git")
    assert (await refused(it.stub.Execute(request))).reason == "OBEY-2001"


async def test_time_runs_out(it: Obeyed) -> None:
    _, _, end = await run(it, "sh", "-c", "exec sleep 600", timeout_s=0.3)
    assert end.timed_out
    assert end.exit_code == 128 + 15


async def test_whoever_leaves_ends_the_command(it: Obeyed) -> None:
    call = it.stub.Execute(execute(it, "sh", "-c", "echo $$; exec sleep 600"))
    with anyio.fail_after(PATIENCE_S):
        pid = int((await anext(aiter(call))).stdout)
    call.cancel()
    await gone(pid)


async def test_a_reader_that_does_not_read_holds_up_its_command_alone(it: Obeyed) -> None:
    slow = it.stub.Execute(execute(it, "sh", "-c", "echo $$; exec yes"))
    with anyio.fail_after(PATIENCE_S):
        pid = int((await anext(aiter(slow))).stdout.split(b"\n")[0])
        out, _, _ = await run(it, "sh", "-c", "yes | head -c 3000000")
    assert len(out) == 3_000_000
    slow.cancel()
    await gone(pid)
