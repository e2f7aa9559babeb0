"""Sessions and worktrees on the command line: the active worktree, and where a session starts."""

import json
import shutil
from collections.abc import Iterator

import pytest

from support.git.worktree_commands import created, directory_of, listed, repository_shell
from support.processes.command import Shell


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with repository_shell(tmp_path_factory.mktemp("places")) as commands:
        yield commands


def test_a_new_session_is_where_it_was_wanted(here: Shell) -> None:
    made = created(here, "apart")
    done = here.run("session", "new", "--worktree", "apart", "--name", "mine")
    session = done.stdout.strip()
    assert (done.returncode, directory_of(here, session)) == (0, made), done.stderr
    assert done.stderr == f"Continue with: betcode attach {session[:13]}\n"
    assert listed(here)["apart"]["session_count"] == 1
    shown = here.run("session", "show", "mine").stdout.splitlines()
    assert any(line.startswith("worktree   apart ") for line in shown)
    run = json.loads(here.run("run", "--json", "--worktree", "apart", "say hi").stdout)
    assert directory_of(here, run["session_id"]) == made
    within = here.json("session", "list", "--json", "--worktree", "apart")["sessions"]
    assert {one["id"] for one in within} == {session, run["session_id"]}
    assert "  apart " in here.run("session", "list", "--worktree", "apart").stdout
    for words in (["--worktree", ""], ["--worktree", "apart", "-C", "."]):
        refused = here.run("session", "new", *words)
        assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (5, "", 1), refused.stderr
    assert here.run("run", "--session", session, "--worktree", "apart", "hi").returncode == 5
    assert here.run("--worktree", "apart", "session", "list").returncode == 5


@pytest.mark.behaviour("worktree.cli", "worktree.switch.active")
def test_switching_tells_the_session_and_new_ones_start_there(here: Shell) -> None:
    made = created(here, "active")
    switched = here.run("worktree", "switch", "active")
    assert (switched.returncode, switched.stdout) == (0, f"{made}\n"), switched.stderr
    assert switched.stderr.startswith("active is the active worktree. A new session: betcode attach ")
    assert [name for name, one in listed(here).items() if one["is_active"]] == ["active"]
    assert any(line.startswith("*") and "active" in line for line in here.run("worktree", "list").stdout.splitlines())
    again = here.json("worktree", "switch", "--json", "active")
    assert (again["session_created"], again["previous_worktree_id"]) == (False, listed(here)["active"]["id"])
    new = here.run("session", "new")
    assert directory_of(here, new.stdout.strip()) == made
    assert new.stderr.splitlines()[0] == f"In worktree active (active): {made}"
    explicit = here.run("session", "new", "-C", ".")
    assert directory_of(here, explicit.stdout.strip()) == here.work
    assert "In worktree" not in explicit.stderr
    above = here.run("session", "new", "-C", "..")
    assert directory_of(here, above.stdout.strip()) == here.work.parent
    talk = here.run(stdin="say where\n")
    assert f"In worktree active (active): {made}" in talk.stderr.splitlines()
    assert talk.returncode == 0
    named = here.run("--worktree", "shop", stdin="say where\n")
    assert f"· {here.work}" in named.stderr
    back = here.json("worktree", "switch", "--json", "shop")
    assert back["previous_worktree_id"] == again["worktree"]["id"]
    assert "In worktree" not in here.run("session", "new").stderr


def test_a_worktree_can_be_made_the_active_one_at_once(here: Shell) -> None:
    told = here.json("worktree", "create", "--json", "--new", "at-once", "--switch")
    assert told["session_created"]
    assert listed(here)["at-once"]["active_session_id"] == told["session_id"]
    assert listed(here)["at-once"]["is_active"]


def test_attaching_takes_the_session_of_a_worktree(here: Shell) -> None:
    created(here, "joined")
    none = here.run("attach", "--worktree", "joined")
    assert none.returncode == 6
    assert none.stderr == "betcode: joined has no open session. Start one with: betcode --worktree joined\n"
    session = here.run("session", "new", "--worktree", "joined").stdout.strip()
    joined = here.run("attach", "--worktree", "joined", stdin="say hi\n")
    assert (joined.returncode, joined.stderr.split()[:2]) == (0, ["Session", session])
    assert here.run("attach", session, "--worktree", "joined").returncode == 5
    assert here.run("attach").returncode == 5


def test_a_missing_active_worktree_is_reported_when_a_session_starts(here: Shell) -> None:
    made = created(here, "vanishes")
    here.run("worktree", "switch", "vanishes")
    shutil.rmtree(made)
    said = "The active worktree vanishes does not exist; using the main worktree."
    started = here.run("session", "new")
    assert directory_of(here, started.stdout.strip()) == here.work
    assert started.stderr.startswith(said)
    assert here.run(stdin="say hi\n").stderr.count(said) == 1
    end = started.stderr.splitlines()[0].rpartition(": betcode ")[2]
    assert here.run(*end.split()).returncode == 0
    assert said not in here.run("session", "new").stderr
