"""`betcode worktree`: created with progress, found by any of its names, and used."""

import json
import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.git.repositories import git, make_repository
from support.git.worktree_commands import SCRIPT, created, eventually, listed, repository_shell
from support.processes.command import Shell

HOOK = """#!/bin/sh
printf '\\033[32mhello\\033[0m from %s\\n' "$WORKTREE_BRANCH"
printf '10 %%\\r100 %%\\n'
pwd > set-up
test ! -e ../wait || cat ../wait
"""


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    files = {SCRIPT: HOOK, "README": "hello\n", ".gitignore": "set-up\n"}
    with repository_shell(tmp_path_factory.mktemp("worktree"), files) as commands:
        yield commands


def test_a_person_sees_the_setup_and_is_asked_before_it_runs(here: Shell) -> None:
    with here.terminal("worktree", "create", "--new", "first") as person:
        person.expect("Its setup waits, because this repository is not trusted:")
        person.expect(SCRIPT)
        person.expect("#!/bin/sh")
        person.expect("Trust ")
        person.type("no\n")
        person.expect(f"betcode policy trust {here.work}, then: betcode worktree setup first")
        person.expect(str(here.work.with_name("shop-first")))
        assert person.ended() == 0
    made = here.work.with_name("shop-first")
    assert not (made / "set-up").exists()
    waiting = here.run("worktree", "setup", "first")
    assert waiting.returncode == 3
    assert "betcode policy trust" in waiting.stderr
    assert listed(here)["first"]["setup"] == "untrusted"
    with here.terminal("worktree", "setup", "first") as person:
        person.expect("[y/N]")
        person.type("y\n")
        person.expect("hello from first\r\n")
        person.expect("first is set up")
        assert person.ended() == 0
        assert "\x1b[32m" not in person.seen
    assert (made / "set-up").read_text() == f"{made}\n"
    assert here.run("worktree", "setup", "first", "--show").stdout.startswith("\x1b[32mhello")


def test_after_a_yes_the_setup_runs_also_with_gits_directory_elsewhere(here: Shell, tmp_path: Path) -> None:
    shop = make_repository(tmp_path / "shop", {SCRIPT: HOOK})
    git(shop, "init", "-q", "--separate-git-dir", str(tmp_path / "kept"))
    with here.terminal("worktree", "create", "--new", "apart", "-C", str(shop)) as person:
        person.expect(f"Trust {shop}")
        person.type("y\n")
        person.expect("hello from apart")
        assert person.ended() == 0
    assert (tmp_path / "shop-apart" / "set-up").exists()


@pytest.mark.behaviour("worktree.cli")
def test_a_pipe_gets_the_path_and_stderr_the_progress(here: Shell) -> None:
    assert here.run("policy", "trust", ".").returncode == 0
    done = here.run("worktree", "create", "--new", "fix/login")
    assert (done.returncode, done.stdout) == (0, f"{here.work.with_name('shop-fix-login')}\n"), done.stderr
    lines = done.stderr.splitlines()
    assert "  hello from fix/login" in lines
    assert "  100 %" in lines
    assert "\x1b" not in done.stderr
    steps = [line for line in lines if line.startswith("[")]
    assert steps[0].startswith("[1")
    assert SCRIPT in steps[-1]
    told = here.json("worktree", "create", "--json", "--new", "second", "--no-setup", "--name", "another")["worktree"]
    assert (told["name"], told["branch"], told["setup"]) == ("another", "second", "skipped")
    assert listed(here)["another"] == told
    table = here.run("worktree", "list").stdout.splitlines()
    assert table[0].split() == ["NAME", "BRANCH", "STATE", "SESSIONS", "PATH"]
    assert any(line.split()[:3] == ["fix-login", "fix/login", "ready"] for line in table)


def test_after_ctrl_c_the_daemon_continues_the_work(here: Shell) -> None:
    wait = here.work.parent / "wait"
    os.mkfifo(wait)
    try:
        with here.terminal("worktree", "create", "--new", "left") as person:
            person.expect("100 %")
            person.interrupt()
            person.expect("The daemon continues to create the worktree")
            person.expect("betcode worktree list")
            assert person.ended() == 130
        assert listed(here)["left"]["setup"] == "running"
        wait.write_text("go on\n")
    finally:
        wait.unlink()
    assert eventually(lambda: listed(here)["left"]["setup"] == "done")


def test_a_failed_setup_is_reported_with_a_fix(here: Shell) -> None:
    (here.work / ".git/info/exclude").write_text(f"{SCRIPT}\n")
    done = here.run("worktree", "create", "--new", "gone", "--roll-back", "-C", str(failing(here)))
    assert (done.returncode, done.stdout) == (1, "")
    assert "  no network" in done.stderr.splitlines()
    assert "gone" not in listed(here)
    kept = here.run("worktree", "create", "--new", "kept", "-C", str(here.work.with_name("broken")))
    assert (kept.returncode, kept.stdout) == (1, "")
    last = kept.stderr.splitlines()[-1]
    again = "the worktree exists; run the setup again with: betcode worktree setup kept"
    assert last == f"betcode: {SCRIPT} ended with code 3; {again}"
    told = here.run("worktree", "setup", "kept", "--json", "-C", str(here.work.with_name("broken")))
    assert (told.returncode, json.loads(told.stdout)["worktree"]["setup"]) == (1, "failed")


def failing(here: Shell) -> Path:
    """A clone whose setup fails."""
    broken = here.work.with_name("broken")
    git(here.work, "clone", "-q", str(here.work), str(broken))
    (broken / SCRIPT).write_text("#!/bin/sh\necho no network\nexit 3\n")
    git(broken, "commit", "-qam", "broken")
    assert here.run("policy", "trust", str(broken)).returncode == 0
    return broken


def test_names_that_git_would_not_take_are_refused_in_a_line_and_nothing_is_made(here: Shell) -> None:
    before = sorted(here.work.parent.iterdir())
    for words in (
        ["create", "--upload-pack=x"],
        ["create", "--new", "--", "--upload-pack=x"],
        ["create", "--new", ""],
        ["create", "--new", "ok", "--name=--upload-pack=x"],
        ["create", "--new", "ok", "--name="],
        ["create", "--new", "ok", "--base=--upload-pack=x"],
        ["create", "ok", "--base", "main"],
        ["create", "no-such-branch"],
        ["switch", "--", "--upload-pack=x"],
    ):
        done = here.run("worktree", *words)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (5, "", 1), (words, done.stderr)
    assert sorted(here.work.parent.iterdir()) == before


def test_a_command_runs_in_a_worktree_under_any_of_its_names(here: Shell) -> None:
    made = created(here, "topic/run", "runner")
    worktree = listed(here)["runner"]
    for name in ("topic/run", worktree["id"][:18], f"../{made.name}"):
        done = here.run("worktree", "run", name, "--", "pwd", "-P")
        assert (done.returncode, done.stdout) == (0, f"{made}\n"), (name, done.stderr)
    words = ["sh", "-c", 'echo "$BETCODE_WORKTREE_NAME $WORKTREE_BRANCH $1"; exit 7', "-", "$(id) *"]
    done = here.run("worktree", "run", "runner", "--", *words)
    assert (done.returncode, done.stdout) == (7, "runner topic/run $(id) *\n")
    told = here.run("worktree", "run", "runner", "--json", "--", *words)
    result = json.loads(told.stdout)
    assert (told.returncode, result["exit_code"], result["worktree"]["name"]) == (7, 7, "runner")
    assert "topic/run" in told.stderr
    inside = here.run("worktree", "run", "runner", "--", *here.argv("worktree", "run", ".", "--", "pwd"))
    assert inside.stdout == f"{made}\n", inside.stderr
    for words, says in (
        (["runner"], "Put the command after `--`"),
        (["runner", "--", "no-such-program"], "cannot be run"),
        (["nobody", "--", "ls"], "No worktree has the name 'nobody'"),
        (["runner", "--address", "localhost:1", "--", "ls"], "own machine"),
    ):
        done = here.run("worktree", "run", *words)
        assert done.returncode == 5, shlex.join(words)
        assert says in done.stderr


def test_a_name_that_means_two_is_refused_with_both(here: Shell) -> None:
    created(here, "one-of-two", "apart")
    created(here, "other", "one-of-two")
    done = here.run("worktree", "switch", "one-of-two")
    assert (done.returncode, done.stdout) == (5, "")
    assert done.stderr.startswith("betcode: 2 worktrees match 'one-of-two'")
    assert done.stderr.count("\n") == 1


def test_outside_of_a_repository_every_worktree_is_known(here: Shell) -> None:
    assert here.run("worktree", "list", "-C", "/").returncode == 5
    everywhere = here.json("worktree", "list", "--all", "--json")["worktrees"]
    assert {"shop", "runner"} <= {one["name"] for one in everywhere}
    assert here.run("worktree", "run", "-C", "/", "runner", "--", "true").returncode == 0
