"""An agent that never says that it will show what it does: rules that deny would not hold, so it gets nothing to do."""

import json
from pathlib import Path

import pytest

from betcode.client import open_client
from betcode.domain.runs.journal_record import RecordKind
from support.daemon.process import obedient_daemon
from support.daemon.runs import runs_in
from support.daemon.session import is_idle, settled_text
from support.providers.claude_world import obedient_talk
from support.rules.files import project_rules, write_rules

pytestmark = pytest.mark.anyio

SOON = {"agents": {"hang_after": "1s"}}


async def test_it_is_ended_with_a_clear_error_and_nothing_is_said_to_it(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path, settings=SOON) as daemon, open_client(daemon.paths) as client:
        write_rules(project_rules(daemon), deny=["Bash(ls *)"])
        (daemon.work / "deaf").touch()
        talk = await obedient_talk(daemon, client)
        await talk.say("peek")
        events = await talk.until(is_idle)
        errors = [event.error.message for event in events if event.HasField("error")]
        assert len(errors) == 2, "it is tried once more"
        assert all("deny and ask rules" in error for error in errors)
        assert "permissions.screen_all" in errors[-1]
        for run in runs_in(daemon.paths.runs):
            assert not any(b"peek" in line for line in run.lines(RecordKind.IN))
        (daemon.work / "deaf").unlink()
        assert settled_text(await talk.turn("peek")) == "kept out"
        assert not (daemon.work / "peeked.txt").exists()


def settings_of(command_line: bytes) -> dict[str, object]:
    """The rules that were passed; where a file that Claude reads denies a whole tool, as its only ones."""
    words = command_line.decode().split("\0")
    [settings] = [word for word in words if word.startswith(("--settings=", "--managed-settings="))]
    found = json.loads(settings.partition("=")[2])["permissions"]
    return {name: rules for name, rules in found.items() if rules}


async def test_one_that_refuses_is_replaced_by_one_that_gets_every_rule_at_its_launch(tmp_path: Path) -> None:
    """Rules for a whole tool are not passed at launch where the agent is to show its calls."""
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        write_rules(project_rules(daemon), deny=["WebFetch", "Bash"])
        (daemon.work / "refuses-hooks").touch()
        talk = await obedient_talk(daemon, client)
        events = await talk.turn("peek")
        [refusal] = [event.error.message for event in events if event.HasField("error")]
        assert "does not support submitting its tool calls" in refusal
        first, last = runs_in(daemon.paths.runs)
        assert not any(b"peek" in line for line in first.lines(RecordKind.IN))
        launched = Path(f"/proc/{last.agent_pid}/cmdline").read_bytes()
        assert settings_of(launched)["deny"] == ["WebFetch", "Bash"]


async def test_a_rule_for_a_whole_tool_is_not_passed_at_launch_where_calls_are_screened(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        deny = ["WebFetch", "Bash", "Bash(rm *)", "AskUserQuestion", "ExitPlanMode"]
        write_rules(project_rules(daemon), deny=deny, ask=["AskUserQuestion", "Read(x)"])
        talk = await obedient_talk(daemon, client)
        await talk.turn("hello")
        [run] = runs_in(daemon.paths.runs)
        launched = Path(f"/proc/{run.agent_pid}/cmdline").read_bytes()
        assert settings_of(launched) == {"deny": ["Bash(**)", "Bash(rm *)"], "ask": ["Read(x)"]}
