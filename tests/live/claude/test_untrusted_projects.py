"""A freshly cloned repository with the real CLI: nothing of it runs before a person trusts it."""

import json
from pathlib import Path

import pytest

from betcode.v1 import agent_pb2 as v1
from support.apis.messages.script import bash, say, use
from support.attacks.project import HostileProject
from support.daemon.process import becomes_true
from support.daemon.session import Talk, is_idle, settled_text
from support.git.repositories import git
from support.providers.claude import needs_claude
from support.providers.claude_world import World, claude_world
from support.rules.files import decisions, project_rules, write_rules

pytestmark = [needs_claude, pytest.mark.anyio]

QUESTION = {
    "question": "Which colour?",
    "header": "Colour",
    "multiSelect": False,
    "options": [{"label": "red", "description": "r"}, {"label": "blue", "description": "b"}],
}
SHOW = bash("echo hostile=$HOSTILE > seen.txt")
SCRIPTS = {
    "show": [SHOW, say("Done.")],
    "touch": [bash("touch made.txt"), say("Done.")],
    "rm": [bash("rm seen.txt"), say("Then not.")],
    "hello": [say("Hello.")],
}


def project_in(world: World) -> HostileProject:
    return HostileProject(world.work, world.work.parent / "traces").for_claude()


def notices(events: list[v1.AgentEvent]) -> list[v1.Notice]:
    return [event.notice for event in events if event.notice.kind == v1.NOTICE_KIND_PROJECT]


async def allowed_turn(talk: Talk, text: str) -> list[v1.AgentEvent]:
    await talk.say(text)
    request = await talk.asked()
    await talk.answer(request, allow=True)
    return await talk.until(is_idle)


async def test_nothing_of_an_untrusted_project_runs_and_its_deny_rules_apply(tmp_path: Path) -> None:
    async with claude_world(tmp_path, SCRIPTS) as world:
        project = project_in(world)
        talk = await world.session()
        await allowed_turn(talk, "[[fake:show]]")
        assert (world.work / "seen.txt").read_text() == "hostile=\n"
        [notice] = notices(talk.events)
        assert str(world.work / ".mcp.json") in notice.details["files"]
        assert "hooks (SessionStart" in notice.details["files"]
        assert f"betcode policy trust {world.work}" in notice.message
        events = await talk.turn("[[fake:rm]]")
        assert (world.work / "seen.txt").exists()
        [result] = [event.tool_call_result for event in events if event.HasField("tool_call_result")]
        assert result.denied_by == "hook"
        assert decisions(world.daemon)[-1].rule.startswith("deny Bash(rm *)")
        assert settled_text(await talk.turn("/hostile")) != ""
        await world.daemon.restart()
        await talk.turn("[[fake:hello]]")
        assert project.ran == []
        assert len(notices(talk.events)) == 1
        assert not any("Ignoring" in event.notice.message for event in talk.events)


async def test_a_trusted_project_runs_as_claude_code_runs_it_without_a_second_trust(tmp_path: Path) -> None:
    async with claude_world(tmp_path, SCRIPTS) as world:
        project = project_in(world)
        await world.client.policy.trust(str(world.work), trusted=True)
        talk = await world.session()
        await allowed_turn(talk, "[[fake:show]]")
        assert (world.work / "seen.txt").read_text() == "hostile=set-by-the-project\n"
        assert {"mcp", "local-hook", "hook-UserPromptSubmit", "hook-PreToolUse"} <= set(project.ran)
        events = await talk.turn("[[fake:touch]]")
        assert not any(event.HasField("permission_request") for event in events), "its allow rule counts"
        said = [event.notice.message for event in talk.events if event.HasField("notice")]
        assert not any("Ignoring" in message for message in said)
        assert not notices(talk.events)


async def test_files_of_directories_above_count_as_the_agent_reads_them(tmp_path: Path) -> None:
    async with claude_world(tmp_path, SCRIPTS) as world:
        project = project_in(world)
        below = world.work / "deep" / "below"
        below.mkdir(parents=True)
        talk = await world.session(directory=below)
        await talk.turn("[[fake:hello]]")
        [notice] = notices(talk.events)
        assert str(world.work / ".mcp.json") in notice.details["files"]
        assert project.ran == []


@pytest.mark.parametrize("relative", [False, True])
async def test_nothing_of_the_main_repository_runs_in_a_linked_worktree_outside_of_it(
    tmp_path: Path, relative: bool
) -> None:
    async with claude_world(tmp_path, SCRIPTS) as world:
        main, tree = world.work.parent / "main", world.work.parent / "here" / "tree"
        main.mkdir()
        git(main, "init", "--quiet")
        git(main, "commit", "--quiet", "--allow-empty", "--message", "First")
        git(main, "worktree", "add", "--quiet", str(tree), "-b", "side")
        if relative:  # as an archive can bring them
            (tree / ".git").write_text("gitdir: ../../main/.git/worktrees/tree\n")
            (main / ".git/worktrees/tree/gitdir").write_text("../../../../here/tree/.git\n")
        project = HostileProject(main, world.work.parent / "traces").for_claude()
        project.write(".claude/commands/here.md", "---\nallowed-tools: Bash(touch:*)\n---\n!`touch ./ran-here`\n")
        talk = await world.session(directory=tree)
        await talk.turn("[[fake:hello]]")
        await talk.turn("/here")
        assert (project.ran, (tree / "ran-here").exists()) == ([], False)
        [notice] = notices(talk.events)
        assert str(main / ".claude/settings.local.json") in notice.details["files"]
        await world.client.policy.trust(str(main), trusted=True)
        await becomes_true(lambda: not world.runs[0].alive)
        await talk.turn("/here")
        assert ("local-hook" in project.ran, (tree / "ran-here").exists()) == (True, True)


async def test_scheduled_prompts_of_a_project_run_only_once_it_is_trusted(tmp_path: Path) -> None:
    missed = {"id": "abcd1234", "cron": "5 5 5 5 *", "prompt": "[[fake:injected]]", "createdAt": 1_700_000_000_000}
    scripts = {**SCRIPTS, "injected": [say("Injected.")], "tools": [use("CronList", {}), say("Done.")]}
    async with claude_world(tmp_path, scripts) as world:
        project = HostileProject(world.work, world.work.parent / "traces")
        project.write(".claude/scheduled_tasks.json", {"tasks": [missed]})  # run as soon as an agent is idle
        talk = await world.session()
        await talk.turn("[[fake:hello]]")
        events = await talk.turn("[[fake:tools]]")
        [result] = [event.tool_call_result for event in events if event.HasField("tool_call_result")]
        assert result.output.startswith("Scheduled tasks are turned off in this session")
        [notice] = notices(talk.events)
        assert "scheduled prompts" in notice.details["files"]
        await world.client.policy.trust(str(world.work), trusted=True)
        assert "Injected." not in settled_text(talk.events)
        trusted = await world.session()
        await trusted.say("[[fake:hello]]")
        await trusted.until(lambda _: "Injected." in settled_text(trusted.events))


async def test_trust_reaches_a_session_whose_agent_is_idle(tmp_path: Path) -> None:
    async with claude_world(tmp_path, SCRIPTS) as world:
        project = project_in(world)
        talk = await world.session()
        await talk.turn("[[fake:hello]]")
        assert project.ran == []
        await world.client.policy.trust(str(world.work), trusted=True)
        await becomes_true(lambda: not world.runs[0].alive)
        await talk.turn("[[fake:hello]]")
        assert "hook-UserPromptSubmit" in project.ran


@pytest.mark.behaviour("question.never-by-rule")
async def test_a_question_reaches_a_person_although_an_untrusted_project_denies_it(tmp_path: Path) -> None:
    asking = use("AskUserQuestion", {"questions": [QUESTION]})
    async with claude_world(tmp_path, {"ask": [asking, say("Thanks.")]}) as world:
        write_rules(project_rules(world.daemon), deny=["AskUserQuestion"], allow=["Bash(ls)"])
        talk = await world.session()
        await talk.say("[[fake:ask]]")
        [*_, asked] = await talk.until("user_question")
        assert asked.user_question.question == QUESTION["question"]


@pytest.mark.parametrize("is_repository", [False, True])
async def test_claude_code_ignores_nothing_of_a_project_that_is_trusted_here(
    tmp_path: Path, is_repository: bool
) -> None:
    async with claude_world(tmp_path, SCRIPTS) as world:
        if is_repository:
            git(world.work, "init", "--quiet")
        home = world.daemon.root / "home"
        outside = world.work.parent / "outside"
        outside.mkdir()
        write_rules(project_rules(world.daemon), allow=["Bash(touch *)"], additionalDirectories=[str(outside)])
        await world.client.policy.trust(str(world.work), trusted=True)
        talk = await world.session(HOME=str(home))
        events = await talk.turn("[[fake:touch]]")
        assert not any(event.HasField("permission_request") for event in events)
        assert (world.work / "made.txt").exists()
        assert [record.data for run in world.runs for record in run.records() if b"Ignoring" in record.data] == []
        await world.client.policy.trust(str(world.work), trusted=False)
        entry = json.loads((home / ".claude.json").read_text())["projects"].get(str(world.work), {})
        assert not entry.get("hasTrustDialogAccepted")
        await becomes_true(lambda: not world.runs[0].alive)
        await talk.turn("[[fake:hello]]")
        assert len(notices(talk.events)) == 1, "it is not trusted any more"
