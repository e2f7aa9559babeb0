"""Commands in campaigns: real programs, their output, and their end with everything they started."""

import asyncio
import json
import os
import signal
from contextlib import aclosing
from pathlib import Path

import anyio
import pytest

from betcode.campaigns import Executor, Exit, Output
from betcode.domain.errors import InvalidRequest
from betcode.domain.obey.campaign_errors import CampaignUnusable, CommandRefused
from betcode.util.bounded_io import BoundedIOPool
from support.daemon.runs import gone, lives
from support.git.repositories import make_repository
from support.obey.campaigns import allow, make_campaign, put_program
from support.patience import PATIENCE_S
from support.storage.hung_disk import hung_disk

pytestmark = pytest.mark.anyio


class Place:
    """A campaign in which `tool` may be run, which notes that it was."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.campaign = make_campaign(base / "root")
        self.root = self.campaign.root
        allow(self.root, tool=True)
        self.executor = Executor(BoundedIOPool(), socket=str(base / "daemon.sock"), grace_s=0.5)
        self.more: dict[str, str] = {}
        self.tool()

    def tool(self, *lines: str, name: str = "tool") -> None:
        put_program(self.base / "bin", name, f"touch {self.base}/ran", *lines)

    @property
    def environ(self) -> dict[str, str]:
        return {"PATH": f"{self.base}/bin:{os.environ['PATH']}", "HOME": str(self.base), **self.more}

    @property
    def has_run(self) -> bool:
        return (self.base / "ran").exists()

    async def run(self, *argv: str, timeout_s: float = 0.0) -> tuple[bytes, bytes, Exit]:
        out, err = b"", b""
        with anyio.fail_after(PATIENCE_S):
            async with aclosing(self.executor.execute(self.campaign, argv, self.environ, timeout_s=timeout_s)) as all_:
                async for piece in all_:
                    match piece:
                        case Output(is_error=True):
                            err += piece.data
                        case Output():
                            out += piece.data
                        case Exit():
                            return out, err, piece
        raise AssertionError("it did not say how it ended")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path.resolve())


async def pid_in(path: Path) -> int:
    with anyio.fail_after(PATIENCE_S):
        while not (path.exists() and path.read_text().strip()):  # noqa: ASYNC110 - of a file
            await anyio.sleep(0.01)
    return int(path.read_text())


async def test_a_command_tells_what_it_writes_and_how_it_ends(place: Place) -> None:
    place.tool('echo "out: $1 in $(pwd)"', "echo complaint >&2", "exit 3")
    out, err, end = await place.run("tool", "word")
    assert (out, err) == (f"out: word in {place.root}\n".encode(), b"complaint\n")
    assert (end.code, end.timed_out) == (3, False)
    assert end.duration_ms >= 0


async def test_words_stay_words(place: Place) -> None:
    place.tool('for word in "$@"; do echo "<$word>"; done')
    out, _, _ = await place.run("tool", "$(id)", "a b", "", "*", "; echo x", "`id`")
    assert out.decode().splitlines() == ["<$(id)>", "<a b>", "<>", "<*>", "<; echo x>", "<`id`>"]


async def test_a_command_sees_its_campaign_and_nobody_at_the_keyboard(place: Place) -> None:
    place.tool("cat", "env")
    place.more = {"OBEY_SESSION_ID": "another", "AWS_SECRET": "x", "GIT_DIR": "/x"}
    out, _, end = await place.run("tool")
    said = dict(line.split("=", 1) for line in out.decode().splitlines() if "=" in line)
    assert end.code == 0
    assert said["OBEY_CAMPAIGN_ID"] == place.campaign.id
    assert said["CAMP_ROOT"] == said["OBEY_CAMPAIGN_DIR"] == str(place.root)
    assert said["OBEY_AGENT"] == "execute"
    assert place.more.keys().isdisjoint(said)


async def test_descriptors_of_the_daemon_do_not_reach_a_command(place: Place) -> None:
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    try:
        place.tool(f"(echo leaked >&{writer}) 2>/dev/null && echo reached", "true")
        out, _, _ = await place.run("tool")
        assert out == b""
    finally:
        os.close(reader)
        os.close(writer)


LEAVING = [
    "/etc/passwd",
    "../x",
    "--out=../x",
    "-o../x",
    "-o/etc/passwd",
    "@/etc/passwd",
    "file:///etc/passwd",
    "~/x",
    "out/x",
    "-oout/x",
    "out",
    "a/../../x",
    ".env",
    "key.pem",
    "x\0y",
]


async def test_nothing_runs_where_a_word_leaves_the_root(place: Place) -> None:
    (place.root / "out").symlink_to(place.base)
    for word in LEAVING:
        with pytest.raises(CommandRefused):
            await place.run("tool", "fine", word)
    for argv in ((), ("sh", "-c", "true"), (f"{place.base}/bin/tool",), ("tool x",), ("../bin/tool",)):
        with pytest.raises(CommandRefused):
            await place.run(*argv)
    assert not place.has_run
    await place.run("tool", "fine")
    assert place.has_run


async def test_nothing_runs_where_the_settings_are_broken_or_the_root_is_gone(place: Place) -> None:
    (place.root / ".campaign/settings/allowlist.json").write_text("{")
    with pytest.raises(CampaignUnusable, match="is not JSON"):
        await place.run("tool")
    allow(place.root, tool=True)
    place.root.rename(place.base / "elsewhere")
    with pytest.raises((CampaignUnusable, CommandRefused)):
        await place.run("tool")
    assert not place.has_run


async def test_a_link_that_is_put_there_before_the_start_is_seen(place: Place) -> None:
    """The words are looked at last, after everything else that takes time."""
    put_program(place.base / "bin", "camp", f"ln -s /etc {place.root}/later", "exit 1")  # asked for its manifest
    with pytest.raises(CommandRefused, match="leaves the root"):
        await place.run("camp", "later/passwd")


async def test_a_command_that_takes_too_long_is_ended_with_all_it_started(place: Place) -> None:
    place.tool(
        f"sh -c 'echo $$ > {place.base}/inner; trap \"\" TERM; while :; do sleep 60; done' &", "echo begun", "wait"
    )
    out, _, end = await place.run("tool", timeout_s=0.5)
    assert out == b"begun\n"
    assert end.timed_out
    assert end.code == 128 + signal.SIGTERM
    await gone(await pid_in(place.base / "inner"))


async def test_whoever_leaves_ends_the_command_and_what_fled_from_its_group(place: Place) -> None:
    place.tool(f"setsid sh -c 'echo $$ > {place.base}/fled; exec sleep 600' &", "echo begun", "exec sleep 600")
    async with aclosing(place.executor.execute(place.campaign, ["tool"], place.environ)) as pieces:
        with anyio.fail_after(PATIENCE_S):
            assert await anext(pieces) == Output(b"begun\n")
        fled = await pid_in(place.base / "fled")
    await gone(fled)


async def test_a_caller_that_is_cancelled_leaves_nothing_running(place: Place) -> None:
    place.tool(f"echo $$ > {place.base}/pid", "exec sleep 600")

    async with anyio.create_task_group() as tasks:

        async def run() -> None:
            await place.run("tool")

        tasks.start_soon(run)
        pid = await pid_in(place.base / "pid")
        tasks.cancel_scope.cancel()
    await gone(pid)


async def test_a_caller_that_is_cancelled_while_it_cleans_up_leaves_nothing_running(place: Place) -> None:
    """As gRPC does: first a write fails, and then the call is cancelled."""
    place.tool(f"echo $$ > {place.base}/pid", "exec yes")

    async def run() -> None:
        async with aclosing(place.executor.execute(place.campaign, ["tool"], place.environ)) as pieces:
            async for _ in pieces:
                current = asyncio.current_task()
                assert current is not None
                asyncio.get_running_loop().call_soon(current.cancel)
                raise ConnectionError

    task = asyncio.ensure_future(run())
    with anyio.fail_after(PATIENCE_S):
        await asyncio.wait((task,))
    assert task.cancelled()
    await gone(await pid_in(place.base / "pid"))


async def test_what_a_daemon_that_was_killed_left_is_ended_by_the_next(place: Place) -> None:
    place.tool(f"echo $$ > {place.base}/pid", "exec sleep 600")
    async with anyio.create_task_group() as tasks:

        async def run() -> None:
            await place.run("tool")

        tasks.start_soon(run)
        pid = await pid_in(place.base / "pid")
        put_program(place.base / "bin", "tool")
        for socket in ("/another", str(place.base / "daemon.sock")):
            assert lives(pid)
            place.executor = Executor(BoundedIOPool(), socket=socket)
            assert (await place.run("tool"))[2].code == 0
        await gone(pid)


async def test_what_is_left_in_the_background_ends_with_the_command(place: Place) -> None:
    place.tool(f"sleep 600 & echo $! > {place.base}/left", "echo done")
    out, _, end = await place.run("tool")
    assert (out, end.code) == (b"done\n", 0)
    await gone(await pid_in(place.base / "left"))


async def test_a_reader_that_waits_holds_the_command_up_and_not_the_memory(place: Place) -> None:
    place.tool("yes | head -c 5000000", "echo x >&2")
    async with aclosing(place.executor.execute(place.campaign, ["tool"], place.environ)) as pieces:
        with anyio.fail_after(PATIENCE_S):
            first = await anext(pieces)
            assert isinstance(first, Output)
            assert len(first.data) <= 64 * 1024
            total = len(first.data)
            async for piece in pieces:
                total += len(piece.data) if isinstance(piece, Output) and not piece.is_error else 0
    assert total == 5_000_000


async def test_time_runs_out_also_while_nobody_reads(place: Place) -> None:
    place.tool(f"echo $$ > {place.base}/pid", "exec yes")
    async with aclosing(place.executor.execute(place.campaign, ["tool"], place.environ, timeout_s=0.3)) as pieces:
        with anyio.fail_after(PATIENCE_S):
            await anext(pieces)
        await gone(await pid_in(place.base / "pid"))


async def test_a_line_that_never_ends_is_cut(place: Place) -> None:
    place.tool("head -c 3000000 /dev/zero | tr '\\0' x", "echo", "echo next")
    out, _, _ = await place.run("tool")
    first, second, rest = out.split(b"\n")
    assert first == b"x" * 1024 * 1024 + b" [the rest of this line is left out]"
    assert (second, rest) == (b"next", b"")


async def test_a_program_that_cannot_be_started_is_told(place: Place) -> None:
    (place.base / "bin/tool").write_text("#!/does/not/exist\n")
    with pytest.raises(CampaignUnusable, match="No such file"):
        await place.run("tool")
    with pytest.raises(InvalidRequest):
        await place.run("tool", timeout_s=-1)
    with pytest.raises(InvalidRequest):
        await place.run("tool", timeout_s=float("nan"))


async def test_fest_says_itself_what_agents_may_run(place: Place) -> None:
    promote = {"path": "promote", "agent_allowed": False, "reason": "a person decides"}
    said = {"version": 2, "cli": "fest", "commands": [{"path": "next", "agent_allowed": True}, promote]}
    put_program(
        place.base / "bin",
        "fest",
        'if [ "$1" = __manifest ]; then',
        f"  echo asked >> {place.base}/asked; cat <<'END'",
        json.dumps(said),
        "END",
        f"else touch {place.base}/ran; echo ran $1; fi",
    )
    with pytest.raises(CommandRefused, match="fest promote is not for agents: a person decides"):
        await place.run("fest", "promote")
    assert not place.has_run
    assert (await place.run("fest", "next"))[0] == b"ran next\n"
    assert (place.base / "asked").read_text() == "asked\n"  # once


@pytest.mark.parametrize("answer", ["echo nonsense", "yes"])
async def test_a_manifest_that_cannot_be_relied_on_lets_nothing_run(place: Place, answer: str) -> None:
    put_program(place.base / "bin", "camp", f'if [ "$1" = __manifest ]; then {answer}; else touch {place.base}/ran; fi')
    with pytest.raises(CommandRefused, match="should list what agents may run"):
        await place.run("camp", "list")
    assert not place.has_run


async def test_few_commands_run_at_once(place: Place) -> None:
    place.tool("exec sleep 600")
    async with anyio.create_task_group() as tasks:

        async def hold() -> None:
            await place.run("tool")

        for _ in range(8):
            tasks.start_soon(hold)
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(CommandRefused, match="8 commands are already running"):
            await place.run("tool")
        tasks.cancel_scope.cancel()


async def test_git_works_in_the_campaign_and_in_no_repository_above_it(place: Place) -> None:
    make_repository(place.base)
    _, err, end = await place.run("git", "status")
    assert end.code != 0
    assert b"not a git repository" in err
    make_repository(place.root)
    (place.root / "new.txt").write_text("x")
    assert (await place.run("git", "add", "new.txt"))[2].code == 0
    out, _, _ = await place.run("git", "status", "--short", "new.txt")
    assert out == b"A  new.txt\n"


async def test_a_disk_that_hangs_is_told_and_nothing_runs_later(place: Place) -> None:
    place.executor = Executor(BoundedIOPool(0.2), socket="/s")
    with hung_disk(place.root) as disk:
        with pytest.raises(CampaignUnusable, match="cannot be read"):
            await place.run("tool", "a/b")
        assert disk.on_a_loop == []
    assert not place.has_run
