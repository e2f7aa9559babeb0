"""Deny rules for a whole tool in files that the real CLI reads itself: the tool stays, and betcode decides."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.apis.messages.script import bash, say, use
from support.apis.messages.server import model_api
from support.daemon.session import is_idle
from support.daemon.tool_results import tool_results
from support.git.repositories import git
from support.processes.command import Shell, shell
from support.providers.claude import CLAUDE, claude_environment, needs_claude
from support.providers.claude_world import World, claude_world
from support.rules.files import decisions, project_rules, write_rules

pytestmark = needs_claude

QUESTION = {
    "question": "Which colour?",
    "header": "Colour",
    "multiSelect": False,
    "options": [{"label": "red", "description": "r"}, {"label": "blue", "description": "b"}],
}
SCRIPTS = {
    "ask": [use("AskUserQuestion", {"questions": [QUESTION]}), say("Thanks.")],
    "touch": [bash("touch made.txt"), say("Then not.")],
    "write": [use("Write", {"file_path": "made.txt", "content": "1"}), say("Done.")],
    "read": [use("Read", {"file_path": "secret.txt"}), say("Then not.")],
}
PLACES = ["user", "trusted project", "project with deny rules only"]
DENIED = ["AskUserQuestion", "Bash"]


async def denying_file(world: World, where: str) -> Path:
    if where == "user":
        path = Path(world.environment["HOME"], ".claude", "settings.json")
        write_rules(path, deny=DENIED)
    elif where == "trusted project":
        path = project_rules(world.daemon)
        write_rules(path, deny=DENIED, allow=["Bash(ls)"])
        await world.client.policy.trust(str(world.work), trusted=True)
    else:
        path = project_rules(world.daemon)
        write_rules(path, deny=DENIED)
    return path


def directory_below_a_local_file(repository: Path) -> Path:
    git(repository, "init", "--quiet")
    write_rules(repository / ".claude" / "settings.local.json", deny=["WebSearch"])
    below = repository / "below"
    below.mkdir()
    return below


@pytest.mark.anyio
@pytest.mark.behaviour("question.never-by-rule")
@pytest.mark.parametrize("where", PLACES)
async def test_a_question_reaches_a_person_and_a_denied_tool_is_audited(tmp_path: Path, where: str) -> None:
    async with claude_world(tmp_path, SCRIPTS) as world:
        path = await denying_file(world, where)
        talk = await world.session()
        await talk.say("[[fake:ask]]")
        [*_, asked] = await talk.until("user_question")
        await world.client.answer_question(asked.user_question.question_id, {"Which colour?": "red"})
        [answered] = tool_results(await talk.until(is_idle))
        assert (answered.denied_by, "red" in answered.output) == ("", True)
        [denied] = tool_results(await talk.turn("[[fake:touch]]"))
        assert (denied.denied_by, (world.work / "made.txt").exists()) == ("hook", False)
        assert [(row.tool, row.outcome, row.rule) for row in decisions(world.daemon) if row.by == "rule"] == [
            ("Bash", "deny", f"deny Bash ({path}:1)")
        ]
        assert {"Bash", "AskUserQuestion"} <= set(world.api.requests[-1].tools)


@pytest.mark.anyio
async def test_the_other_rules_and_settings_of_the_users_file_still_apply(tmp_path: Path) -> None:
    async with claude_world(tmp_path, SCRIPTS) as world:
        path = Path(world.environment["HOME"], ".claude", "settings.json")
        hook = {"hooks": [{"type": "command", "command": "echo $FROM_THE_FILE > hook-ran.txt"}]}
        rules = {"deny": ["AskUserQuestion", "Read(secret.txt)"], "allow": ["Bash(touch *)", "Write"]}
        path.parent.mkdir(parents=True)
        path.write_text(
            json.dumps({"permissions": rules, "env": {"FROM_THE_FILE": "yes"}, "hooks": {"UserPromptSubmit": [hook]}})
        )
        (world.work / "secret.txt").write_text("secret")
        talk = await world.session()
        [done] = tool_results(await talk.turn("[[fake:touch]]"))
        assert (done.is_error, (world.work / "made.txt").exists()) == (False, True), "allowed without a prompt"
        assert (world.work / "hook-ran.txt").read_text() == "yes\n"
        [denied] = tool_results(await talk.turn("[[fake:read]]"))
        assert denied.denied_by == "agent", "it enforces the rule by itself, before the hook"


@pytest.mark.anyio
@pytest.mark.parametrize(("script", "tool"), [("ask", "AskUserQuestion"), ("touch", "Bash")])
async def test_a_tool_that_the_agent_removes_by_itself_is_audited_with_the_file(
    tmp_path: Path, script: str, tool: str
) -> None:
    """Claude Code also reads the local file of the repository above; betcode does not, and replaces no rules then."""
    async with claude_world(tmp_path, SCRIPTS) as world:
        path = Path(world.environment["HOME"], ".claude", "settings.json")
        write_rules(path, deny=["AskUserQuestion", "Bash"])
        talk = await world.session(directory=directory_below_a_local_file(world.work))
        events = await talk.turn(f"[[fake:{script}]]")
        [result] = tool_results(events)
        assert result.denied_by == "agent"
        [kept] = decisions(world.daemon)
        assert (kept.tool, kept.outcome, kept.rule) == (tool, "deny", f"deny {tool} ({path}:1)")
        told = [event.notice.message for event in events if event.notice.message.startswith("The agent could not ask")]
        assert [f"deny AskUserQuestion ({path}:1)" in message for message in told] == [True] * (tool != "Bash")
        checked = await world.client.policy.check(tool, "{}", session_id=talk.session_id)
        assert f"Claude Code itself removes {tool} because of a rule in {path}:1" in checked.reason


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    root = tmp_path_factory.mktemp("own-files")
    with model_api(SCRIPTS) as api, shell(root, obedient=False) as commands:
        commands.environment |= claude_environment(root / "agent-home", api.url)
        commands.environment["BETCODE_CLAUDE_BIN"] = str(CLAUDE)
        yield commands


@pytest.mark.behaviour("exit-code.3")
@pytest.mark.parametrize("removed", [False, True])
def test_a_run_whose_tool_the_users_file_denies_ends_with_3(here: Shell, removed: bool) -> None:
    write_rules(Path(here.environment["HOME"], ".claude", "settings.json"), deny=["AskUserQuestion", "Bash"])
    below = directory_below_a_local_file(here.work) if removed else here.work
    done = here.run("run", "--json", "--cwd", str(below), "[[fake:touch]]")
    assert (done.returncode, json.loads(done.stdout)["denied"]) == (3, ["Bash"])
    done = here.run("run", "--json", "--cwd", str(below), "[[fake:ask]]")
    named = "AskUserQuestion" if removed else "Which colour?"
    assert (done.returncode, json.loads(done.stdout)["denied"]) == (3, [named])
    assert "--allowed-tools to allow it" not in done.stderr, "that would not help"
