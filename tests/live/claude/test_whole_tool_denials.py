"""Deny rules for a whole tool against the real CLI: the tool stays, each use is denied, audited and counted."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from betcode.v1 import agent_pb2 as v1
from support.apis.messages.script import bash, say, use
from support.apis.messages.server import model_api
from support.daemon.session import is_idle, kinds
from support.processes.command import Shell, shell
from support.providers.claude import CLAUDE, claude_environment, needs_claude
from support.providers.claude_world import claude_world
from support.rules.files import decisions, user_rules, write_rules

pytestmark = needs_claude

ASK = use(
    "AskUserQuestion",
    {
        "questions": [
            {
                "question": "Which colour?",
                "header": "Colour",
                "multiSelect": False,
                "options": [{"label": "red", "description": "r"}, {"label": "blue", "description": "b"}],
            }
        ]
    },
)
PLAN = use("ExitPlanMode", {"plan": "1. think"})
SCRIPTS = {
    "ask": [ASK, say("Thanks.")],
    "plan": [PLAN, say("Thanks.")],
    "touch": [bash("touch made.txt"), say("Then not.")],
    "write": [use("Write", {"file_path": "made.txt", "content": "1"}), say("Then not.")],
    "todo": [use("TodoWrite", {"todos": []}), say("Then not.")],
}


def results(events: list[v1.AgentEvent]) -> list[v1.ToolCallResult]:
    return [event.tool_call_result for event in events if event.HasField("tool_call_result")]


@pytest.mark.anyio
@pytest.mark.behaviour("question.never-by-rule")
@pytest.mark.parametrize("action", ["deny", "ask", "allow"])
async def test_a_question_reaches_a_person_whatever_the_rules_say(tmp_path: Path, action: str) -> None:
    async with claude_world(tmp_path, SCRIPTS) as world:
        write_rules(user_rules(world.daemon), **{action: ["AskUserQuestion", "ExitPlanMode"]})
        talk = await world.session()
        await talk.say("[[fake:ask]]")
        [*_, asked] = await talk.until("user_question")
        assert asked.user_question.question == "Which colour?"
        await world.client.answer_question(asked.user_question.question_id, {"Which colour?": "red"})
        events = await talk.until(is_idle)
        assert [result.denied_by for result in results(events)] == [""]
        assert "red" in results(events)[0].output


@pytest.mark.anyio
@pytest.mark.behaviour("question.never-by-rule")
async def test_a_plan_reaches_a_person_although_a_rule_denies_it(tmp_path: Path) -> None:
    async with claude_world(tmp_path, SCRIPTS) as world:
        write_rules(user_rules(world.daemon), deny=["ExitPlanMode"])
        talk = await world.session(plan_mode=True)
        await talk.say("[[fake:plan]]")
        request = await talk.asked()
        assert request.tool_name == "ExitPlanMode"
        await talk.answer(request, allow=False)
        await talk.until(is_idle)


@pytest.mark.anyio
@pytest.mark.behaviour("permission.screen.deny")
@pytest.mark.parametrize(("tool", "script"), [("Bash", "touch"), ("Write", "write"), ("Bash(*)", "touch")])
async def test_each_use_of_a_denied_tool_is_denied_by_the_hook_and_audited(
    tmp_path: Path, tool: str, script: str
) -> None:
    async with claude_world(tmp_path, SCRIPTS) as world:
        write_rules(user_rules(world.daemon), deny=[tool])
        talk = await world.session()
        [result] = results(await talk.turn(f"[[fake:{script}]]"))
        assert (result.denied_by, result.is_error) == ("hook", True)
        assert not (world.work / "made.txt").exists()
        [kept] = decisions(world.daemon)
        name = tool.partition("(")[0]
        assert (kept.tool, kept.outcome, kept.by) == (name, "deny", "rule")
        assert kept.rule == f"deny {name} ({user_rules(world.daemon)}:1)"
        assert name in world.api.requests[-1].tools, "the model still has the tool"


@pytest.mark.anyio
@pytest.mark.parametrize("tool", ["Bash", "Write"])
async def test_a_tool_that_the_agent_itself_disables_is_audited_where_calls_are_not_screened(
    tmp_path: Path, tool: str
) -> None:
    async with claude_world(tmp_path, SCRIPTS) as world:
        write_rules(user_rules(world.daemon), deny=[tool], screen_all="never")
        await world.daemon.restart()
        talk = await world.session()
        [result] = results(await talk.turn(f"[[fake:{'touch' if tool == 'Bash' else 'write'}]]"))
        assert result.denied_by == "agent"
        assert not (world.work / "made.txt").exists()
        [kept] = decisions(world.daemon)
        assert (kept.tool, kept.outcome, kept.by) == (tool, "deny", "rule")
        assert kept.rule == f"deny {tool} ({user_rules(world.daemon)}:1)"


@pytest.mark.anyio
async def test_a_tool_that_no_rule_denies_counts_as_missing_and_not_as_denied(tmp_path: Path) -> None:
    async with claude_world(tmp_path, SCRIPTS) as world:
        write_rules(user_rules(world.daemon), deny=["Bash"])
        talk = await world.session()
        events = await talk.turn("[[fake:todo]]")
        [result] = results(events)
        assert (result.is_error, result.denied_by) == (True, "")
        assert decisions(world.daemon) == []
        assert "permission_request" not in kinds(events)


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    root = tmp_path_factory.mktemp("whole")
    with model_api(SCRIPTS) as api, shell(root, obedient=False) as commands:
        commands.environment |= claude_environment(root / "agent-home", api.url)
        commands.environment["BETCODE_CLAUDE_BIN"] = str(CLAUDE)
        yield commands


@pytest.mark.behaviour("exit-code.3")
@pytest.mark.parametrize("where", ["user", "project"])
def test_a_run_whose_tool_a_rule_denies_ends_with_3(here: Shell, where: str) -> None:
    path = (
        here.daemon.paths.config_dir / "settings.json" if where == "user" else here.work / ".claude" / "settings.json"
    )
    write_rules(path, deny=["Bash"])
    try:
        done = here.run("run", "--json", "[[fake:touch]]")
    finally:
        path.unlink()
    result = json.loads(done.stdout)
    assert (done.returncode, result["exit_code"], result["denied"]) == (3, 3, ["Bash"])
    assert not (here.work / "made.txt").exists()
