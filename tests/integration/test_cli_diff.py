"""`betcode session diff`: what a session changed, for people, for pipes and for programs."""

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from support.command import Shell, shell
from support.patience import PATIENCE_S
from support.repositories import git, make_repository


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with shell(tmp_path_factory.mktemp("diffs")) as commands:
        make_repository(commands.work, {"a": "one\ntwo\n", "old": "line\n" * 20, ".gitignore": "agent.pids\n"})
        yield commands


@pytest.fixture(scope="module")
def session(here: Shell) -> str:
    """A session with two turns, both of which changed something."""
    first = _turn(here, "sleep 0.3; echo three >> a; mv old new; printf '\\033]0;title\\007\\n' > escape; printf '\\377' > byte")
    _turn(here, "sleep 0.3; rm a", "-s", first)
    return first


def _turn(here: Shell, command: str, *more: str) -> str:
    word = command.replace(" ", "\t")
    return str(here.json("run", "--json", *more, f"spawn sh -c {word}")["session_id"])


def _raw(here: Shell, *arguments: str) -> bytes:
    done = subprocess.run(
        here.argv(*arguments), env=here.environment, cwd=here.work, capture_output=True, timeout=PATIENCE_S
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_pipe_gets_a_patch_that_git_applies(here: Shell, session: str) -> None:
    patch = _raw(here, "session", "diff", session)
    scratch = here.daemon.root / "scratch"
    git(here.work, "worktree", "add", "-q", "--detach", str(scratch))
    subprocess.run(["git", "apply", "--index"], cwd=scratch, input=patch, check=True, timeout=PATIENCE_S)
    names = {path.name for path in scratch.iterdir()} - {".git"}
    assert names == {".gitignore", "new", "escape", "byte"}
    assert (scratch / "byte").read_bytes() == b"\xff"
    git(here.work, "worktree", "remove", "--force", str(scratch))


def test_one_turn_can_be_asked_for(here: Shell, session: str) -> None:
    second = _raw(here, "session", "diff", session, "--turn", "2").decode()
    assert "deleted file mode" in second
    assert "-three" in second
    assert "escape" not in second
    wrong = here.run("session", "diff", session, "--turn", "9")
    assert (wrong.returncode, wrong.stdout) == (5, "")
    assert "There is no turn 9: the session has turns 1 to 2" in wrong.stderr


def test_counts_name_each_file_and_renames(here: Shell, session: str) -> None:
    shown = here.run("session", "diff", session, "--turn", "1", "--stat").stdout.splitlines()
    assert [line.split("|")[0].strip() for line in shown] == [
        "a",
        "byte",
        "escape",
        "old => new",
        "4 files changed, 2 lines added, 0 removed",
    ]
    told = here.json("session", "diff", session, "--turn", "1", "--stat", "--json")
    assert (told["session_id"], told["turn"], told["notes"]) == (session, 1, [])
    assert told["files"][0] == {"path": "a", "from_path": "", "added": 1, "removed": 0, "binary": False}
    assert (told["files"][3]["from_path"], told["files"][1]["binary"]) == ("old", True)


def test_json_has_the_whole_patch(here: Shell, session: str) -> None:
    told: Any = json.loads(_raw(here, "session", "diff", session, "--json"))
    assert told["patch"].encode() == _raw(here, "session", "diff", session)


def test_a_terminal_shows_colours_and_obeys_nothing_that_an_agent_wrote(here: Shell, session: str) -> None:
    colourful = Shell.__new__(Shell)
    colourful.__dict__.update(here.__dict__)
    colourful.environment = {**here.environment, "NO_COLOR": "", "TERM": "xterm"}
    with colourful.terminal("session", "diff", session, "--turn", "1") as person:
        person.expect("␛]0;title␇")
        assert person.ended() == 0
        assert "\x1b[32m+three\x1b[0m" in person.seen
        assert "\x1b]" not in person.seen
    with here.terminal("session", "diff", session, "--turn", "1", "--stat") as person:
        person.expect("old => new")
        assert person.ended() == 0
        assert "\x1b" not in person.seen


def test_where_nothing_was_noted_a_sentence_says_why(here: Shell) -> None:
    plain = here.daemon.root / "plain"
    plain.mkdir()
    session = str(here.json("run", "--json", "-C", str(plain), "say hello")["session_id"])
    refused = here.run("session", "diff", session)
    assert refused.returncode == 1
    assert "Nothing was noted of this session's turns: it works in no git repository" in refused.stderr
