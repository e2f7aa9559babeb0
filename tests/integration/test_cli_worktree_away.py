"""`betcode worktree remove`, `restore` and `prune`: removals are shown first, and forced ones can be undone."""

import json
import shutil
from collections.abc import Iterator

import pytest

from support.git.repositories import commit, git, make_repository
from support.git.worktree_commands import created, listed, repository_shell
from support.processes.command import Shell


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with repository_shell(tmp_path_factory.mktemp("away")) as commands:
        yield commands


@pytest.mark.behaviour("worktree.cli")
def test_a_clean_worktree_goes_and_its_sessions_are_counted(here: Shell) -> None:
    made = created(here, "clean")
    assert here.run("session", "new", "--worktree", "clean").returncode == 0
    done = here.run("worktree", "remove", "clean")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "clean is removed, and 1 session closed; the branch clean remains\n"
    assert not made.exists()
    assert "clean" in git(here.work, "branch", "--format=%(refname:short)").split()
    git(here.work, "worktree", "add", "-q", "../clean", "clean")
    told = here.json("worktree", "remove", "--json", "clean")
    assert (told["removed"], told["removed_id"], told["lost"]) == (True, "", None)


def test_lost_work_is_shown_and_can_be_restored_after_force(here: Shell) -> None:
    made = created(here, "busy")
    commit(made, {"done": "1"}, "half of it")
    (made / "README").write_text("changed\n")
    (made / "new file").write_text("new\n")
    refused = here.run("worktree", "remove", "busy")
    assert (refused.returncode, refused.stdout) == (5, "")
    for line in ("   M README", "  new file", "Untracked (1):"):
        assert line in refused.stderr.splitlines()
    assert "half of it" in refused.stderr
    assert "--force" in refused.stderr.splitlines()[-1]
    with here.terminal("worktree", "remove", "--force", "busy") as person:
        person.expect("new file")
        person.expect("Remove busy with all of this?")
        person.interrupt()
        person.expect("Nothing was removed")
        assert person.ended() == 0
    assert made.exists()
    with here.terminal("worktree", "remove", "--force", "busy") as person:
        person.expect("[y/N]")
        person.type("y\n")
        person.expect("busy is removed")
        person.expect("betcode worktree restore ")
        assert person.ended() == 0
    assert not made.exists()
    (one,) = here.json("worktree", "restore", "--json")["removed"]
    assert (one["name"], one["changed_count"], one["untracked_count"], one["unpushed_count"]) == ("busy", 1, 1, 1)
    assert "busy" in here.run("worktree", "restore").stdout
    back = here.run("worktree", "restore", one["id"][:13])
    assert (back.returncode, back.stdout) == (0, f"{made}\n"), back.stderr
    assert (made / "README").read_text() == "changed\n"
    assert (made / "new file").read_text() == "new\n"
    assert git(made, "log", "-1", "--format=%s") == "half of it"
    assert here.run("worktree", "restore").stdout == "Nothing to restore\n"


def test_impossible_restores_and_removals_are_reported(here: Shell) -> None:
    for words in (["restore", "nothing"], ["remove", "nothing"], ["remove", "shop"], ["restore", "--path="]):
        done = here.run("worktree", *words)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (5, "", 1), (words, done.stderr)


def test_prune_offers_removable_worktrees_and_asks_for_each(here: Shell) -> None:
    store = make_repository(here.work.with_name("store"))
    made = {name: created(here, name, of=store) for name in ("one", "two", "three", "dirty", "stale")}
    (made["dirty"] / "mine").write_text("1")
    shutil.rmtree(made["stale"])
    report = here.run("worktree", "prune", "-C", str(store))
    assert report.returncode == 0
    assert report.stdout.splitlines()[0].split()[:3] == ["NAME", "SIZE", "USED"]
    assert "add --yes" in report.stderr
    told = here.json("worktree", "prune", "-C", str(store), "--json")
    may_go = {one["worktree"]["name"] for one in told["worktrees"] if one["may_be_removed"]}
    assert may_go - {"stale"} == {"one", "two", "three"}
    assert told["removed"] == []
    assert here.json("worktree", "prune", "-C", str(store), "--json", "--yes", "--older-than", "30d")["offered"] == []
    with here.terminal("worktree", "prune", "-C", str(store), "--older-than", "0s") as person:
        person.expect("NAME")
        person.expect("Remove one")
        person.type("y\n")
        person.expect("one is removed")
        person.expect("Remove two")
        person.type("perhaps\n")
        person.expect("Invalid answer")
        person.expect("Remove two")
        person.type("n\n")
        person.expect("Remove three")
        person.type("quit\n")
        person.expect("1 worktree removed")
        assert person.ended() == 0
    with here.terminal("worktree", "prune", "-C", str(store), "--older-than", "0s") as person:
        person.expect("Remove two")
        person.type("all\n")
        person.expect("three is removed")
        person.expect("stale is forgotten")
        assert person.ended() == 0
    left = listed(here, of=store)
    assert set(left) == {"store", "dirty"}
    assert (made["dirty"] / "mine").exists()


def test_prune_removes_without_a_question_with_yes(here: Shell) -> None:
    depot = make_repository(here.work.with_name("depot"))
    created(here, "sure", of=depot)
    created(here, "busy", of=depot)
    careful = here.run("worktree", "prune", "-C", str(depot), "--yes")
    assert careful.stderr.splitlines() == [
        "Used within the last day (offered only by name or with --older-than): sure, busy"
    ]
    assert set(listed(here, of=depot)) == {"depot", "sure", "busy"}
    assert here.run("worktree", "prune", str(depot), "--yes").returncode == 5
    told = json.loads(here.run("worktree", "prune", "sure", "-C", str(depot), "--yes", "--json").stdout)
    assert len(told["removed"]) == 1
    assert told["freed_bytes"] > 0
    assert told["failed"] == []
    assert set(listed(here, of=depot)) == {"depot", "busy"}
