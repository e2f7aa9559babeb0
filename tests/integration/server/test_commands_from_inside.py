"""Commands that an agent runs, programs that git runs for the daemon, and what is known to be open."""

import json
import sys
from pathlib import Path

import pytest

from betcode.client import NewConversation, open_client
from support.attacks import answer_own_prompt as answering
from support.daemon.audit_rows import audit_rows
from support.daemon.process import becomes_true, obedient_daemon
from support.daemon.session import Talk, settled_text
from support.git.repositories import commit, define_filter, make_repository
from support.git.repositories import git as run_git

pytestmark = pytest.mark.anyio

COMMANDS = (
    "run --allowed-tools Bash hello",
    "run --session ID hello",
    "session new",
    "session compact ID",
    "session close ID",
    "session cancel ID",
    "session lock ID",
    "session rename ID other",
    "session fork ID",
    "session budget ID --max-turns 5",
    "session delete ID --yes",
    "permission answer REQUEST --allow",
    "permission answer REQUEST --deny",
    "policy trust .",
    "config set agents.turn_limit 3",
    "daemon stop",
    "daemon stop --agents",
    "daemon restart",
)

RUN_ALL = """\
import json, subprocess, sys
commands = json.load(open(sys.argv[1]))
found = {}
for name, argv in commands.items():
    done = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    found[name] = [done.returncode, done.stderr.strip().splitlines()[-1:]]
print(json.dumps(found))
"""


async def test_commands_that_change_something_are_refused_with_3_inside_an_agent(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        victim = Talk(client, await client.start_session(NewConversation(str(daemon.work), provider="claude")))
        await victim.say("tool")
        request = await victim.asked()
        words = {"ID": victim.session_id, "REQUEST": request.request_id}
        paths = daemon.paths
        where = ["--state-dir", str(paths.state_dir), "--config-dir", str(paths.config_dir)]
        where += ["--socket", str(paths.socket)]
        argv = {
            command: [sys.executable, "-m", "betcode", *(words.get(word, word) for word in command.split()), *where]
            for command in COMMANDS
        }
        (tmp_path / "commands.json").write_text(json.dumps(argv))
        (tmp_path / "all.py").write_text(RUN_ALL)
        attacker = Talk(client, await client.start_session(NewConversation(str(daemon.work), provider="claude")))
        await attacker.turn(f"spawn {sys.executable} {tmp_path / 'all.py'} {tmp_path / 'commands.json'}")
        found = json.loads(settled_text(attacker.events))
        assert {name: code for name, (code, _) in found.items() if code != 3} == {}, found
        assert all("your own terminal" in said[0] for _, said in found.values()), found
        assert daemon.exit_code is None
        assert [prompt.request_id for prompt in await client.pending()] == [request.request_id]
        assert (await client.list_sessions()).total == 2
        refused = [row for row in audit_rows(daemon) if row["decided_by"] == "gate"]
        assert refused
        assert all(row["session_id"] == attacker.session_id and " < " in row["peer"] for row in refused), refused


@pytest.mark.parametrize("whose", ["repository", "user"])
async def test_a_filter_of_git_does_not_answer_for_a_person(tmp_path: Path, whose: str) -> None:
    """The daemon reads the tree of each turn: a filter that the repository defines is not run, one of the user is."""
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        (tmp_path / "victim").mkdir()
        victim = Talk(client, await client.start_session(NewConversation(str(tmp_path / "victim"), provider="claude")))
        await victim.say("tool")
        request = await victim.asked()
        said = tmp_path / "said"
        tries = (
            f"{sys.executable} {answering.__file__} answer {daemon.paths.socket} {request.request_id} >> {said}; cat"
        )
        make_repository(daemon.work)
        if whose == "user":
            define_filter(tmp_path / "home", "evil", clean=tries)
        else:
            run_git(daemon.work, "config", "filter.evil.clean", tries)
        commit(daemon.work, {".gitattributes": "x filter=evil\n"})
        talk = Talk(client, await client.start_session(NewConversation(str(daemon.work), provider="claude")))
        await talk.turn("spawn touch x")
        if whose == "user":
            await becomes_true(lambda: said.exists() and "\n" in said.read_text())
            assert set(said.read_text().split()) == {"PERMISSION_DENIED"}
            assert [row for row in audit_rows(daemon) if row["decided_by"] == "gate"]
        else:
            snapshots = daemon.paths.state_dir / "snapshots"
            await becomes_true(lambda: any(snapshots.glob("*/objects/??/*")))  # the tree was read
            assert not said.exists()
        assert [prompt.request_id for prompt in await client.pending()] == [request.request_id]


OPEN = (
    "tmux",
    "systemd-run --user",
    "`cron`",
    "`at`",
    "ssh localhost",
    "LD_PRELOAD",
    "~/.bashrc",
    "`settings.json`",
    "list of trusted projects",
    "`tcp.token`",
    ".claude/settings.json",
    "`kill` ends the daemon",
    "betcode.db",
    "pidfd_getfd",
    "~/.gitconfig",
    ".git/modules/*/config",
    "lfs.customtransfer",
    "container with a network of its own",
    "holder that is killed while no daemon runs",
    "Pid reuse",
)


@pytest.mark.parametrize("attempt", OPEN)
def test_what_is_open_is_documented(attempt: str) -> None:
    text = (Path(__file__).parents[3] / "docs" / "security.md").read_text()
    _, _, rest = text.partition("## What gets through")
    assert attempt in rest
