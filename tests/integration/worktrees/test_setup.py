"""Setups run what is declared, where somebody trusted it, and leave nothing running; what they write is data."""

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from betcode.config.settings import Settings, WorktreeSettings
from betcode.domain.errors import SetupFailed, WorktreeUnusable
from betcode.domain.repositories.worktrees import SetupState, WorktreeState
from betcode.holder.platform import process
from betcode.worktrees import BackgroundWork, CreateRequest, SeenWorktree, SetupOutput, SetupStep
from integration.worktrees.conftest import Bench
from support.git.repositories import commit, git
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio
SCRIPT = ".betcode/worktree-setup.sh"


def use(bench: Bench, *commands: tuple[str, ...], **more: object) -> None:
    worktree = replace(WorktreeSettings(setup_commands=commands), **more)  # type: ignore[arg-type]
    bench.worktrees.use(Settings(worktree=worktree))


def begun(bench: Bench, repository: Path, **more: object) -> BackgroundWork[SeenWorktree]:
    wanted = CreateRequest(str(repository), "fix", create_branch=True, **more)  # type: ignore[arg-type]
    return bench.worktrees.create(wanted)


async def made(bench: Bench, repository: Path, **more: object) -> SeenWorktree:
    with anyio.fail_after(PATIENCE_S):
        return await begun(bench, repository, **more).result()


async def failed(bench: Bench, repository: Path, **more: object) -> SetupFailed:
    with pytest.raises(SetupFailed) as told:
        await made(bench, repository, **more)
    return told.value


async def kept(bench: Bench, seen: SeenWorktree) -> bytes:
    return b"".join(piece.data for piece in await bench.worktrees.setup_output(seen.row.id))


async def the_one(bench: Bench, repository: Path) -> SeenWorktree:
    return (await bench.worktrees.listed(str(repository)))[1]


def shell(text: str) -> tuple[str, ...]:
    return ("/bin/sh", "-c", text)


def alive(file: Path) -> list[int]:
    """Those of the processes that wrote their number into the file which are still there."""
    found = [process(int(pid)) for pid in file.read_text().split()]
    return [one.pid for one in found if one is not None and not one.zombie]


@pytest.mark.behaviour("worktree.setup.script", "worktree.setup.commands", "worktree.create.setup-after-add")
async def test_the_script_runs_first_then_the_commands_and_then_it_is_ready(bench: Bench, repository: Path) -> None:
    commit(repository, {SCRIPT: "echo script; cat README; touch made\n"})
    await bench.engine.policy.trust(str(repository), trusted=True)
    use(bench, shell("ls made; echo two"), ("echo", "three  words", "$HOME"))
    work = begun(bench, repository)
    told = [each async for each in work.feed.follow()]
    seen = await work.result()

    assert [each for each in told if isinstance(each, SetupStep)] == [
        SetupStep("git worktree add", 1),
        SetupStep(SCRIPT, 2, 4),
        SetupStep("/bin/sh -c 'ls made; echo two'", 3, 4),
        SetupStep("echo 'three  words' '$HOME'", 4, 4),
    ]
    text = b"script\nhello\nmade\ntwo\nthree  words $HOME\n"
    assert b"".join(each.data for each in told if isinstance(each, SetupOutput)) == text
    assert (seen.row.state, seen.row.setup, seen.row.setup_note) == (WorktreeState.READY, SetupState.DONE, "")
    assert await kept(bench, seen) == text


async def test_it_is_not_ready_while_its_setup_runs(bench: Bench, repository: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    use(bench, shell(f"echo waiting; while [ ! -e {gate} ]; do sleep 0.01; done; echo went on"))
    work = begun(bench, repository)
    with anyio.fail_after(PATIENCE_S):
        async for each in work.feed.follow():
            if isinstance(each, SetupOutput):
                assert each.data == b"waiting\n"
                seen = await the_one(bench, repository)
                assert (seen.row.state, seen.row.setup) == (WorktreeState.CREATING, SetupState.RUNNING)
                assert await kept(bench, seen) == b"waiting\n"
                with pytest.raises(WorktreeUnusable, match="cannot be set up now"):
                    await bench.worktrees.set_up(seen.row.id).result()
                # Setups hold nobody else up.
                other = CreateRequest(str(repository), "other", create_branch=True, not_set_up="not wanted")
                assert (await bench.worktrees.create(other).result()).row.setup_note == "not wanted"
                gate.touch()
                break
        assert (await work.result()).row.setup is SetupState.DONE

        gate.unlink()
        seen = await the_one(bench, repository)
        first = bench.worktrees.set_up(seen.row.id)
        await anext(aiter(first.feed.follow()))
        with pytest.raises(WorktreeUnusable, match="being set up already"):
            await bench.worktrees.set_up(seen.row.id).result()
        gate.touch()
        assert (await first.result()).row.setup is SetupState.DONE


async def test_what_a_repository_brings_runs_only_once_somebody_trusts_it(bench: Bench, repository: Path) -> None:
    (repository / ".env").write_text("A=1\n")
    settings = '{"worktree": {"setup_commands": ["touch from-settings"], "bring_along": [".env"]}}'
    commit(
        repository, {SCRIPT: "#!/bin/sh\ntouch from-script\n", ".claude/settings.json": settings, ".gitignore": ".env"}
    )
    use(bench, ("touch", "from-user"))
    seen = await made(bench, repository)
    place = Path(seen.row.path)
    assert seen.row.setup is SetupState.UNTRUSTED
    assert f"betcode policy trust {repository}" in seen.row.setup_note
    assert "betcode worktree setup fix" in seen.row.setup_note
    there = [(place / name).exists() for name in ("from-user", "from-script", "from-settings", ".env")]
    assert there == [True, False, False, False]

    await bench.engine.policy.trust(str(repository), trusted=True)
    (place / "from-user").unlink()
    with anyio.fail_after(PATIENCE_S):
        seen = await bench.worktrees.set_up(seen.row.id).result()
    assert (seen.row.setup, seen.row.setup_note) == (SetupState.DONE, "")
    there = [(place / name).exists() for name in ("from-user", "from-script", "from-settings", ".env")]
    assert there == [False, True, True, True]


async def test_the_script_of_the_main_worktree_is_taken_where_the_branch_has_none(
    bench: Bench, repository: Path
) -> None:
    script = repository / SCRIPT
    script.parent.mkdir()
    script.write_text('#!/bin/sh\npwd; echo "$0"\n')
    script.chmod(0o755)
    await bench.engine.policy.trust(str(repository), trusted=True)
    seen = await made(bench, repository)
    assert (await kept(bench, seen)).decode().split("\n") == [seen.row.path, str(script), ""]


async def test_the_environment_is_the_declared_one_and_holds_no_keys(
    bench: Bench, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {
        "ANTHROPIC_API_KEY": "sk-ant-api03-abcdefghijklmnop",
        "GITHUB_TOKEN": "x",
        "NVM_DIR": "/opt/nvm",
        "DATABASE_URL": "postgres://ada:hunter22@db/shop",
        "NOT_DECLARED": "1",
        "LC_ALL": "C.UTF-8",
        "XDG_CACHE_HOME": "/opt/cache",
    }
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    declared = ("ANTHROPIC_API_KEY", "GITHUB_TOKEN", "NVM_DIR", "DATABASE_URL")
    use(bench, ("env", "-0"), ("readlink", "/proc/self/fd/0"), setup_environment=declared)
    seen = await made(bench, repository)
    *pairs, last = (await kept(bench, seen)).decode().split("\0")
    assert last == "/dev/null\n"
    found: Mapping[str, str] = dict(pair.split("=", 1) for pair in pairs)
    own = {"TERM", "WORKTREE_PATH", "WORKTREE_BRANCH", "BETCODE_WORKTREE_ID", "BETCODE_WORKTREE_NAME"}
    own |= {"BETCODE_REPOSITORY", "BETCODE_SETUP"}
    usual = {"HOME", "PATH", "USER", "LOGNAME", "SHELL", "LANG", "TMPDIR"} & set(os.environ)
    usual |= {name for name in os.environ if name.startswith(("LC_", "XDG_"))}
    assert set(found) == own | usual | {"NVM_DIR"}
    assert (found["WORKTREE_PATH"], found["WORKTREE_BRANCH"]) == (seen.row.path, "fix")
    assert (found["BETCODE_WORKTREE_ID"], found["BETCODE_REPOSITORY"]) == (seen.row.id, str(repository))


async def test_a_setup_that_fails_says_how_and_the_worktree_is_kept(bench: Bench, repository: Path) -> None:
    use(bench, shell("printf '\\033[31mred\\033[0m\\n\\377\\nno such package\\n'; exit 3"), ("touch", "later"))
    told = await failed(bench, repository)
    seen = await the_one(bench, repository)
    assert "ended with code 3" in told.message
    assert told.details == {
        "worktree_id": seen.row.id,
        "kept": "true",
        "output": "red\n\N{REPLACEMENT CHARACTER}\nno such package",
    }
    assert (seen.row.state, seen.row.setup) == (WorktreeState.READY, SetupState.FAILED)
    assert "code 3: red | \N{REPLACEMENT CHARACTER} | no such package" in seen.row.setup_note
    assert await kept(bench, seen) == b"\033[31mred\033[0m\n\377\nno such package\n"
    assert not (Path(seen.row.path) / "later").exists()

    use(bench, ("no-such-program-here",))
    with pytest.raises(SetupFailed, match="could not be started: No such file"):
        await bench.worktrees.set_up(seen.row.id).result()
    use(bench, shell("kill -SEGV $$"))
    with pytest.raises(SetupFailed, match="was ended by SIGSEGV"):
        await bench.worktrees.set_up(seen.row.id).result()
    use(bench, ("true",))
    assert (await bench.worktrees.set_up(seen.row.id).result()).row.setup is SetupState.DONE


async def test_a_setup_that_fails_is_rolled_back_where_that_was_asked_for(
    bench: Bench, repository: Path, tmp_path: Path
) -> None:
    use(bench, shell("touch half; echo no; exit 1"))
    told = await failed(bench, repository, roll_back=True)
    assert (told.details["kept"], told.details["output"]) == ("false", "no")
    assert [each.row.name for each in await bench.worktrees.listed(str(repository))] == ["shop"]
    assert git(repository, "branch", "--format=%(refname:short)") == "main"
    assert not (tmp_path / "shop-fix").exists()
    # A branch that moved meanwhile has something that nobody else may have.
    use(bench, shell("git -c user.name=a -c user.email=a@b commit -q --allow-empty -m new; exit 1"))
    await failed(bench, repository, roll_back=True)
    assert git(repository, "log", "-1", "--format=%s", "fix") == "new"
    assert not (tmp_path / "shop-fix").exists()


async def test_a_setup_that_hangs_is_ended_with_everything_it_started(
    bench: Bench, repository: Path, tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    stubborn = f"trap '' TERM; echo $$ >> {pids}; while :; do sleep 1000; done"
    # A child, one without a word of ours in its environment, one in a session of its own, and the hook itself.
    tree = '/bin/sh -c "$0" & env -i /bin/sh -c "$0" & setsid -f /bin/sh -c "$0"; eval "$0"'
    seen = await made(bench, repository)
    for limit_s in (1.0, 5.0, 25.0):  # a machine may be slow
        pids.write_text("")
        use(bench, (*shell(tree), stubborn), setup_timeout_s=limit_s)
        with pytest.raises(SetupFailed, match=f"timed out: the setup was ended after {limit_s:g} s"):
            await bench.worktrees.set_up(seen.row.id).result()
        if len(pids.read_text().split()) == 4:
            break
    assert len(pids.read_text().split()) == 4
    assert alive(pids) == []
    assert (await the_one(bench, repository)).row.setup is SetupState.TIMED_OUT


async def test_what_a_setup_leaves_behind_is_ended_and_does_not_hold_it_up(
    bench: Bench, repository: Path, tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    left = [f"{how} sleep 1000 & echo $! >> {pids}" for how in ("", "setsid", "env -i")]
    unmarked = "while grep -q BETCODE_SETUP /proc/$!/environ; do :; done"
    use(bench, shell("; ".join([*left, unmarked, "echo done"])))
    seen = await made(bench, repository)
    assert (seen.row.setup, await kept(bench, seen)) == (SetupState.DONE, b"done\n")
    assert len(pids.read_text().split()) == 3
    assert alive(pids) == []


async def test_a_flood_is_kept_and_told_in_part_and_nobody_waits_for_a_reader(bench: Bench, repository: Path) -> None:
    size = 50 * 1024 * 1024
    flood = f"import sys\nprint('first')\nfor _ in range({size // 65536}): sys.stdout.write('x' * 65536)\nprint('last')"
    use(bench, (sys.executable, "-c", flood))
    work = begun(bench, repository)
    with anyio.fail_after(PATIENCE_S):
        seen = await work.result()  # nobody has read anything so far
    told = [each async for each in work.feed.follow() if isinstance(each, SetupOutput)]
    assert told[-1].data.endswith(b"last\n")
    assert sum(len(each.data) for each in told) <= 1024 * 1024
    assert sum(len(each.data) + each.left_out_bytes for each in told) == size + 11
    pieces = await bench.worktrees.setup_output(seen.row.id)
    assert pieces[0].data.startswith(b"first\n")
    assert pieces[-1].data.endswith(b"last\n")
    assert sum(len(each.data) for each in pieces) == 256 * 1024
    assert sum(len(each.data) + each.left_out_bytes for each in pieces) == size + 11


async def test_who_looks_while_worktrees_are_rolled_back_brings_none_of_them_back(
    bench: Bench, repository: Path
) -> None:
    use(bench, ("false",))
    left = 6

    async def one(number: int) -> None:
        nonlocal left
        wanted = CreateRequest(str(repository), f"b{number}", create_branch=True, roll_back=True)
        with pytest.raises(SetupFailed):
            await bench.worktrees.create(wanted).result()
        left -= 1

    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as tasks:
            for number in range(left):
                tasks.start_soon(one, number)
            while left:
                await bench.worktrees.listed(str(repository))
    assert [each.row.name for each in await bench.worktrees.listed(str(repository))] == ["shop"]
    assert git(repository, "worktree", "list").count("\n") == 0
    assert git(repository, "branch", "--format=%(refname:short)") == "main"
