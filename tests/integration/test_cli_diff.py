"""`betcode session diff`: the changes of a session for people, pipes and programs."""

import base64
import json
import subprocess
from collections.abc import Iterator
from contextlib import aclosing
from typing import Any

import pytest

from betcode.client import NewConversation, open_client
from support.daemon.session import Talk, is_idle
from support.git.repositories import git, make_repository
from support.patience import PATIENCE_S
from support.processes.command import Shell, shell


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with shell(tmp_path_factory.mktemp("diffs")) as commands:
        make_repository(commands.work, {"a": "one\ntwo\n", "old": "line\n" * 20, ".gitignore": "agent.pids\ngo*\n"})
        yield commands


@pytest.fixture(scope="module")
async def session(here: Shell, anyio_backend: str) -> str:
    """A session with two turns, both of which changed something."""
    assert here.run("daemon", "start").returncode == 0
    async with open_client(here.paths) as client:
        new = NewConversation(str(here.work), provider="claude", environment=here.environment)
        talk = Talk(client, await client.start_session(new))
        first = "echo three >> a; mv old new; printf '\\033]0;title\\007\\n' > escape; printf '\\377\\0' > byte"
        for number, command in enumerate((first, "rm a; printf '\\377\\n' > latin"), 1):
            await talk.say(f"wait go-{number}\nspawn sh -c {command.replace(' ', chr(9))}")
            async with aclosing(client.diffs.of_session(talk.session_id)) as chunks:
                assert [chunk.note async for chunk in chunks]  # its beginning is noted when this is answered
            (here.work / f"go-{number}").touch()
            await talk.until(is_idle)
        return talk.session_id


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
    assert names == {".gitignore", "new", "escape", "byte", "latin"}
    assert (scratch / "byte").read_bytes() == b"\xff\0"
    git(here.work, "worktree", "remove", "--force", str(scratch))


def test_one_turn_can_be_asked_for(here: Shell, session: str) -> None:
    second = _raw(here, "session", "diff", session, "--turn", "2").decode("latin-1")
    assert "deleted file mode" in second
    assert "-three" in second
    assert "escape" not in second
    wrong = here.run("session", "diff", session, "--turn", "9")
    assert (wrong.returncode, wrong.stdout) == (5, "")
    assert "There is no turn 9: the session has 2 turns" in wrong.stderr


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
    told: Any = json.loads(_raw(here, "session", "diff", session, "--turn", "1", "--json"))
    assert told["patch"].encode() == _raw(here, "session", "diff", session, "--turn", "1")
    told = json.loads(_raw(here, "session", "diff", session, "--json"))  # with a byte that is no UTF-8
    assert base64.b64decode(told["patch_base64"]) == _raw(here, "session", "diff", session)


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


def test_without_snapshots_a_sentence_says_why(here: Shell) -> None:
    plain = here.daemon.root / "plain"
    plain.mkdir()
    session = str(here.json("run", "--json", "-C", str(plain), "say hello")["session_id"])
    refused = here.run("session", "diff", session)
    assert refused.returncode == 5
    assert "This session has no snapshots of turns: it does not work in a git repository" in refused.stderr


def test_a_worktree_is_compared_with_its_base(here: Shell) -> None:
    place = here.daemon.root / "fix"
    git(here.work, "worktree", "add", "-q", "-b", "fix", str(place), "HEAD")
    (place / "more").write_text("more\n")
    done = here.run("worktree", "diff", "fix")
    assert (done.returncode, done.stderr) == (0, "Note: compared with main\n")
    assert "+++ b/more\n" in done.stdout
    told = json.loads(_raw(here, "worktree", "diff", "--stat", "--json", "-C", str(place), "--base", "main"))
    assert (told["name"], told["notes"]) == ("fix", ["compared with main"])
    assert [file["path"] for file in told["files"]] == ["more"]
    wrong = here.run("worktree", "diff", "fix", "--base", "nowhere")
    assert (wrong.returncode, "nowhere is not a branch" in wrong.stderr) == (5, True)
