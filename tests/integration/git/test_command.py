"""One call of git, whatever git and what it starts are like."""

import os
import signal
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from betcode.domain.errors import GitFailed, StorageDegraded
from betcode.git import command as running
from betcode.git.command import Git
from betcode.git.environment import environment_of
from support.git.repositories import define_filter, make_repository
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio

Program = Callable[[str], Git]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """A git that does what a shell script says; $P is where it may leave things."""

    def make(script: str) -> Git:
        path = tmp_path / "bin" / "git"
        path.parent.mkdir(exist_ok=True)
        new_enough = 'case "$1" in --version) echo "git version 2.40.0"; exit 0;; esac'
        new_enough += '\ncase "$*" in *"--get-regexp ^filter"*) exit 1;; esac'  # no filters are defined
        path.write_text(f"#!/bin/sh\n{new_enough}\nP={tmp_path}\n{script}\n", encoding="utf-8")
        path.chmod(0o755)
        return Git({"PATH": f"{path.parent}:{os.environ['PATH']}", "HOME": str(tmp_path)})

    return make


async def _pid_in(path: Path) -> int:
    with anyio.fail_after(PATIENCE_S):
        while not path.exists() or not path.read_text().strip():
            await anyio.lowlevel.checkpoint()
    return int(path.read_text())


async def _is_gone(pid: int) -> bool:
    with anyio.move_on_after(PATIENCE_S):
        while _runs(pid):
            await anyio.lowlevel.checkpoint()
        return True
    return False


def _open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


async def test_nothing_of_the_daemons_own_is_seen_by_git_or_what_it_starts(tmp_path: Path) -> None:
    """Shown with a filter, which is a program that the user may name."""
    repository = make_repository(tmp_path / "shop", {".gitattributes": "* filter=look\n"})
    seen = tmp_path / "seen"
    define_filter(tmp_path, "look", clean=f"env > {seen}; cat")
    odd = {
        "GIT_DIR": "/nowhere",
        "GIT_WORK_TREE": "/nowhere",
        "GIT_INDEX_FILE": "/nowhere",
        "GIT_OBJECT_DIRECTORY": "/nowhere",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.bare",
        "GIT_CONFIG_VALUE_0": "true",
        "GIT_CONFIG_GLOBAL": "/nowhere",
        "GIT_CONFIG_PARAMETERS": "'core.bare'='true'",
        "GIT_CEILING_DIRECTORIES": str(tmp_path),
        "GIT_EXTERNAL_DIFF": "/nowhere",
        "GIT_EXEC_PATH": "/nowhere",
        "GIT_TRACE": str(tmp_path / "trace"),
        "GIT_TRACE2_EVENT": str(tmp_path / "trace"),
        "GIT_NAMESPACE": "odd",
        "ANTHROPIC_API_KEY": "sk-ant-secret",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "SSH_AUTH_SOCK": "/nowhere",
        "LD_PRELOAD": "",
        "BETCODE_TOKEN": "secret",
    }
    git = Git({**os.environ, "HOME": str(tmp_path), **odd})
    (repository / "more").write_text("x\n")
    await git.run("add", "-A", "--", ".", at=repository, variables={"GIT_INDEX_FILE": str(tmp_path / "index")})
    variables = dict(line.split("=", 1) for line in seen.read_text().splitlines() if "=" in line)
    given = {
        "HOME": str(tmp_path),
        "LC_ALL": "C.UTF-8",
        "GIT_INDEX_FILE": str(tmp_path / "index"),
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_TERMINAL_PROMPT": "0",
    }
    assert given.items() <= variables.items()
    by_git_and_shell = {
        "GIT_CONFIG_PARAMETERS",
        "GIT_EXEC_PATH",
        "GIT_PREFIX",
        "GIT_DIR",
        "PWD",
        "OLDPWD",
        "SHLVL",
        "_",
    }
    ours = set(environment_of(os.environ | dict.fromkeys(("USER", "LOGNAME", "TMPDIR"), "x")))
    assert set(variables) <= ours | by_git_and_shell | {"GIT_INDEX_FILE"}
    assert "secret" not in seen.read_text()
    assert "/nowhere" not in seen.read_text()
    assert "core.bare" not in variables["GIT_CONFIG_PARAMETERS"]
    assert not (tmp_path / "trace").exists()


async def test_a_git_in_the_repository_is_not_the_one_that_runs(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "shop")
    for name in ("git", "git-status"):
        (repository / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/mark\n")
        (repository / name).chmod(0o755)
    git = Git({**os.environ, "PATH": f".::{os.environ['PATH']}:"})
    assert b"git-status" in await git.run("status", "--porcelain", at=repository)
    assert not (tmp_path / "mark").exists()


async def test_what_does_not_end_in_time_is_ended_with_all_that_it_started(program: Program, tmp_path: Path) -> None:
    git = program(
        'trap "" TERM INT HUP; (trap "" TERM HUP; echo $$ > $P/own; exec sleep 600) & echo $! > $P/child; wait'
    )
    with pytest.raises(GitFailed, match=r"^git status did not end within 0.5 s"):
        await git.ask("status", at=tmp_path, bound_s=0.5)
    assert await _is_gone(await _pid_in(tmp_path / "child"))
    assert await _is_gone(await _pid_in(tmp_path / "own"))


async def test_whoever_asked_and_leaves_takes_it_along(program: Program, tmp_path: Path) -> None:
    git = program('trap "" TERM; echo $$ > $P/own; sleep 600')
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: git.ask("status", at=tmp_path))
        pid = await _pid_in(tmp_path / "own")
        tasks.cancel_scope.cancel()
    assert not Path(f"/proc/{pid}").exists()  # nor as a zombie


async def test_one_that_stays_behind_in_the_group_holds_up_nobody_and_goes_with_it(
    program: Program, tmp_path: Path
) -> None:
    git = program("sleep 600 & echo $! > $P/child; echo said")
    assert (await git.ask("status", at=tmp_path)).out == b"said\n"
    async with aclosing(git.stream("status", at=tmp_path)) as pieces:
        assert [piece async for piece in pieces] == [b"said\n"]
    assert await _is_gone(await _pid_in(tmp_path / "child"))


async def test_a_process_outside_the_group_that_holds_the_pipes_is_not_awaited(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "_DRAINED_WITHIN_S", 0.1)
    git = program("setsid sleep 600 & echo $! > $P/child; echo said")
    before = _open_files()
    assert (await git.ask("status", at=tmp_path)).out == b"said\n"
    assert _open_files() <= before
    os.kill(await _pid_in(tmp_path / "child"), signal.SIGKILL)


async def test_more_than_pipes_hold_goes_in_and_comes_out(program: Program, tmp_path: Path) -> None:
    data = bytes(range(256)) * 4096
    assert (await program("cat").ask("status", at=tmp_path, stdin=data)).out == data


async def test_a_git_that_does_not_read_its_stdin_is_no_failure(program: Program, tmp_path: Path) -> None:
    assert (await program("exec <&-; echo fine").ask("status", at=tmp_path, stdin=b"x" * 1_000_000)).out == b"fine\n"


async def test_a_git_with_too_much_output_is_ended(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "_OUTPUT_LIMIT_BYTES", 100_000)
    git = program("echo $$ > $P/own; yes")
    with pytest.raises(GitFailed, match="wrote more than 100000 bytes"):
        await git.run("status", at=tmp_path)
    assert await _is_gone(await _pid_in(tmp_path / "own"))


async def test_complaints_without_end_are_read_and_cut_short(program: Program, tmp_path: Path) -> None:
    answer = await program(r"yes $(printf 'fatal:x\377') | head -c 3000000 >&2; exit 3").ask("status", at=tmp_path)
    assert answer.code == 3
    assert len(answer.err) <= 64 * 1024
    assert answer.words.startswith("fatal:x�; fatal:x�")
    assert len(answer.words) <= 600


async def test_a_reader_who_has_enough_ends_it(program: Program, tmp_path: Path) -> None:
    git = program("echo $$ > $P/own; yes")
    async with aclosing(git.stream("diff", at=tmp_path)) as pieces:
        assert (await anext(pieces)).startswith(b"y\ny\n")
    assert await _is_gone(await _pid_in(tmp_path / "own"))


async def test_a_stream_that_goes_silent_is_ended(program: Program, tmp_path: Path) -> None:
    git = program("echo begun; sleep 600")
    async with aclosing(git.stream("diff", at=tmp_path, bound_s=0.5)) as pieces:
        assert await anext(pieces) == b"begun\n"
        with pytest.raises(GitFailed, match=r"^git diff wrote nothing for 0.5 s"):
            await anext(pieces)


async def test_a_failed_stream_raises_at_its_end(program: Program, tmp_path: Path) -> None:
    git = program("echo begun; echo 'fatal: bad object' >&2; exit 128")
    async with aclosing(git.stream("diff", at=tmp_path)) as pieces:
        assert await anext(pieces) == b"begun\n"
        with pytest.raises(GitFailed, match=r"^git diff failed: bad object$"):
            await anext(pieces)


async def test_a_full_disk_is_reported_as_full(program: Program, tmp_path: Path) -> None:
    git = program("echo 'fatal: unable to write loose object file: No space left on device' >&2; exit 128")
    with pytest.raises(StorageDegraded, match="The disk is full"):
        await git.run("write-tree", at=tmp_path)


async def test_words_that_are_no_text_are_words_still(tmp_path: Path, program: Program) -> None:
    answer = await program(r"printf 'a\377b'").ask("status", at=tmp_path)
    assert os.fsencode(answer.text) == b"a\xffb"


async def test_without_git_the_error_names_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(GitFailed, match=r"^git is not installed: install git 2.36 or newer$"):
        await Git({"PATH": str(tmp_path)}).run("status", at=tmp_path)


async def test_a_git_that_is_too_old_is_not_used_until_it_is_newer(tmp_path: Path, program: Program) -> None:
    git = program("echo used")
    path = tmp_path / "bin" / "git"
    new = path.read_text()
    path.write_text(f"#!/bin/sh\necho git version 2.30.2; touch {tmp_path}/run-$1\n")
    with pytest.raises(GitFailed, match=r"^git 2.30.2 is too old: install git 2.36 or newer$"):
        await git.run("status", at=tmp_path)
    assert [each.name for each in tmp_path.glob("run-*")] == ["run---version"]
    path.write_text(new)
    assert await git.run("status", at=tmp_path) == b"used\n"
    path.unlink()
    with pytest.raises(GitFailed, match="git is no longer installed"):
        await git.run("status", at=tmp_path)


async def test_a_missing_directory_is_an_error_with_a_message(tmp_path: Path) -> None:
    with pytest.raises(GitFailed, match=r"/nowhere does not exist$"):
        await Git(os.environ).run("status", at=tmp_path / "nowhere")
    with pytest.raises(GitFailed, match="NUL"):
        await Git(os.environ).run("status", "a\0b", at=tmp_path)


async def test_many_calls_do_not_make_as_many_processes(program: Program, tmp_path: Path) -> None:
    git = program("mkdir -p $P/now; touch $P/now/$$; ls $P/now | wc -l; rm $P/now/$$")
    most = 0

    async def one() -> None:
        nonlocal most
        most = max(most, int(await git.run("status", at=tmp_path)))

    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as tasks:
            for _ in range(100):
                tasks.start_soon(one)
    assert 1 <= most <= 16


async def test_calls_leave_nothing_open_and_nobody_behind(program: Program, tmp_path: Path) -> None:
    git = program("exit 0")
    await git.run("status", at=tmp_path)
    before = _open_files()
    for _ in range(150):
        await git.run("status", at=tmp_path, stdin=b"x")
    hanging = program("sleep 600")
    for _ in range(25):
        with anyio.move_on_after(0.01):
            await hanging.run("status", at=tmp_path)
        with anyio.move_on_after(0.01):
            async with aclosing(hanging.stream("status", at=tmp_path)) as pieces:
                await anext(pieces)
    assert _open_files() <= before  # fewer is no leak: other tests' files may be closed meanwhile
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    assert [pid for pid in children if b"git" in Path(f"/proc/{pid}/cmdline").read_bytes()] == []
    assert [pid for pid in children if " Z " in Path(f"/proc/{pid}/stat").read_text()] == []


async def test_nobody_else_waits_for_one_that_does_not_read(program: Program, tmp_path: Path) -> None:
    git = program('case "$*" in *hang) echo $$ > $P/own; exec sleep 600;; esac; echo fine')
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: git.ask("hang", at=tmp_path, stdin=b"x" * 5_000_000))
        await _pid_in(tmp_path / "own")
        assert await git.run("status", at=tmp_path) == b"fine\n"
        tasks.cancel_scope.cancel()
