"""What rules denied without a prompt: counted by a run, and in the audit also where the agent itself denied it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from betcode.client import open_client
from betcode.domain.permissions.audit import input_hash
from support.daemon.process import obedient_daemon
from support.processes.command import Shell, shell
from support.providers.claude_world import obedient_talk
from support.rules.files import decisions, project_rules, write_rules

USED = '{"file_path":"secret.txt"}'


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with shell(tmp_path_factory.mktemp("denied")) as commands:
        write_rules(commands.work / ".claude" / "settings.json", deny=["Bash(ls *)", "Bash(touch *)"])
        yield commands


@pytest.mark.behaviour("exit-code.3")
@pytest.mark.parametrize("deed", ["tool", "peek"])
def test_what_a_rule_denied_is_counted_and_ends_a_run_with_3(here: Shell, deed: str) -> None:
    done = here.run("run", "--json", deed)
    result = json.loads(done.stdout)
    assert (done.returncode, result["exit_code"], result["denied"], result["parked"]) == (3, 3, ["Bash"], [])
    assert "Use --on-ask park" not in done.stderr, "nobody would be asked"


def test_what_a_person_denied_is_counted_once(here: Shell) -> None:
    write_rules(here.work / ".claude" / "settings.json")
    done = here.run("run", "--json", "--on-ask", "deny", "tool")
    assert json.loads(done.stdout)["denied"] == ["Bash"]


@pytest.mark.anyio
async def test_a_denial_by_the_agent_itself_is_in_the_audit_with_the_rule(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        write_rules(project_rules(daemon), deny=["Read(secret.txt)"])
        use = {"type": "tool_use", "id": "toolu_x", "name": "Read", "input": json.loads(USED)}
        result = {"type": "tool_result", "tool_use_id": "toolu_x", "content": "It is denied.", "is_error": True}
        decided = {"decision": "reject", "source": "config", "reason_type": "rule"}
        lines = [
            {"type": "assistant", "message": {"id": "m", "role": "assistant", "content": [use]}, "session_id": "s"},
            {"type": "user", "message": {"role": "user", "content": [result]}, "session_id": "s"}
            | {"tool_result_meta": [{"id": "toolu_x", "permission_decision": decided}]},
        ]
        (daemon.work / "lines").write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
        await (await obedient_talk(daemon, client)).turn("play lines")
        [kept] = decisions(daemon)
        assert (kept.tool, kept.outcome, kept.by) == ("Read", "deny", "rule")
        assert kept.rule == f"deny Read(secret.txt) ({project_rules(daemon)}:1)"
        assert (kept.input_sha256, kept.note) == (input_hash(USED), "by the agent itself: It is denied.")
