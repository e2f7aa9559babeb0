"""Rules against the real CLI: also for what it would not have asked about, and while nobody is there to answer."""

import json
import os
import signal
import threading
from pathlib import Path

import pytest

from betcode.domain.runs.journal_record import RecordKind
from betcode.v1 import agent_pb2 as v1
from support.apis.messages.script import Reply, ToolUse, bash, say, use
from support.daemon.process import becomes_true
from support.daemon.session import is_idle, kinds, settled_text
from support.providers.claude import needs_claude
from support.providers.claude_world import World, claude_world
from support.rules.files import decisions, project_rules, user_rules, write_rules

pytestmark = [needs_claude, pytest.mark.anyio]

LS = bash("ls -la")
TOUCH = bash("touch made.txt", "Make a file")


def results(events: list[v1.AgentEvent]) -> list[v1.ToolCallResult]:
    return [event.tool_call_result for event in events if event.HasField("tool_call_result")]


def agents_settings(world: World, **permissions: object) -> None:
    """What the user told Claude Code itself."""
    path = Path(world.environment["HOME"]) / ".claude" / "settings.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"permissions": permissions}))


def has_asked(world: World) -> bool:
    """Whether a call that is to be screened is in the agent's journal."""
    return any(b"hook_callback" in line for line in world.runs[0].lines(RecordKind.OUT))


@pytest.mark.behaviour("permission.screen.allow", "events.order.auto-allowed-tool", "wire.stdin.allow")
async def test_what_a_rule_allows_runs_without_a_question(tmp_path: Path) -> None:
    async with claude_world(tmp_path, {"touch": [TOUCH, say("Done.")]}) as world:
        write_rules(user_rules(world.daemon), allow=["Bash(touch *)"])
        talk = await world.session()
        events = await talk.turn("[[fake:touch]]")
        shown = [event for event in events if event.WhichOneof("event") in ("tool_call_start", "tool_call_result")]
        assert kinds(shown) == ["tool_call_start", "tool_call_result"]
        assert (world.work / "made.txt").exists()
        assert not {"permission_request", "permission_resolved"} & set(kinds(events))
        statuses = [event.status_change.status for event in events if event.HasField("status_change")]
        assert statuses.count(v1.EXECUTING_TOOL) == 1
        assert v1.WAITING_FOR_USER not in statuses
        [kept] = decisions(world.daemon)
        assert (kept.tool, kept.outcome, kept.by) == ("Bash", "allow", "rule")
        assert kept.rule == f"allow Bash(touch *) ({user_rules(world.daemon)}:1)"


@pytest.mark.behaviour("permission.screen.deny", "permission.screen.deny-beats-allow")
async def test_a_deny_rule_holds_for_what_the_agent_would_not_ask_about(tmp_path: Path) -> None:
    """A read-only command, a file of the project, and what the user's own rules for the agent allow."""
    read = use("Read", {"file_path": str(tmp_path / "work" / "secret.txt")})
    both = Reply((ToolUse("Bash", {"command": "touch made.txt", "description": "x"}),))
    scripts = {"all": [LS, read, both, say("Then not.")]}
    async with claude_world(tmp_path, scripts) as world:
        agents_settings(world, allow=["Bash", "Read"])
        (world.work / "secret.txt").write_text("the secret")
        write_rules(user_rules(world.daemon), deny=["Bash(ls *)", "Read(secret.txt)", "Bash(touch *)"], allow=["Bash"])
        talk = await world.session()
        events = await talk.turn("[[fake:all]]")
        assert [result.is_error for result in results(events)] == [True] * 3
        by_us = ["Denied by a permission rule" in result.output for result in results(events)]
        assert by_us == [True, False, True]  # about a file's name the agent looks at its own rules first
        assert "the secret" not in str(world.api.requests[-1].conversation)
        assert not (world.work / "made.txt").exists()
        assert settled_text(events).endswith("Then not.")
        assert [result.denied_by for result in results(events)] == ["hook", "agent", "hook"]
        where = user_rules(world.daemon)
        assert [(kept.tool, kept.outcome, kept.by, kept.rule) for kept in decisions(world.daemon)] == [
            ("Bash", "deny", "rule", f"deny Bash(ls *) ({where}:1)"),
            ("Read", "deny", "rule", f"deny Read(secret.txt) ({where}:1)"),
            ("Bash", "deny", "rule", f"deny Bash(touch *) ({where}:1)"),
        ]


async def test_deny_and_ask_rules_hold_where_the_agent_bypasses_permissions(tmp_path: Path) -> None:
    scripts = {"all": [bash("touch denied.txt"), TOUCH, bash("touch free.txt"), say("Done.")]}
    async with claude_world(tmp_path, scripts) as world:
        agents_settings(world, defaultMode="bypassPermissions")
        write_rules(user_rules(world.daemon), deny=["Bash(touch denied*)"], ask=["Bash(touch made*)"])
        talk = await world.session(IS_SANDBOX="1")
        await talk.say("[[fake:all]]")
        request = await talk.asked()
        assert request.deciding_rule == f"ask Bash(touch made*) ({user_rules(world.daemon)}:1)"
        assert list(request.segments) == ["touch made.txt"]
        await talk.answer(request, allow=False)
        await talk.until(is_idle)
        assert [path.name for path in world.work.glob("*.txt")] == ["free.txt"]
        assert b'"permission_mode":"bypassPermissions"' in b"".join(world.runs[0].lines(RecordKind.OUT))


@pytest.mark.behaviour("permission.screen.deny")
async def test_a_deny_rule_holds_while_the_daemon_is_away(tmp_path: Path) -> None:
    gate = threading.Event()
    listing = use("Bash", {"command": "ls -la"}, text="I will list the files.", gate=gate, gate_after_chunks=1)
    scripts = {"ls": [listing, say("Then not.")]}
    async with claude_world(tmp_path, scripts) as world:
        write_rules(user_rules(world.daemon), deny=["Bash(ls *)"])
        talk = await world.session()
        await talk.say("[[fake:ls]]")
        await talk.until("text_delta")
        world.daemon.kill()
        gate.set()
        await becomes_true(lambda: has_asked(world))
        await world.daemon.start()
        events = await talk.until(is_idle)
        [result] = results(events)
        assert "Denied by a permission rule: deny Bash(ls *)" in result.output
        assert len(world.runs) == 1


async def test_the_agent_holds_deny_rules_by_itself_where_nothing_else_is_screened(tmp_path: Path) -> None:
    async with claude_world(tmp_path, {"ls": [LS, say("Then not.")]}) as world:
        write_rules(user_rules(world.daemon), deny=["Bash(ls *)"], screen_all="never")
        await world.daemon.restart()
        talk = await world.session()
        [result] = results(await talk.turn("[[fake:ls]]"))
        assert result.is_error
        assert not has_asked(world)


@pytest.mark.behaviour("permission.screen.deny")
async def test_rules_that_change_hold_for_the_next_use_of_a_running_agent(tmp_path: Path) -> None:
    async with claude_world(tmp_path, {"ls": [LS, say("Done.")]}) as world:
        talk = await world.session()
        [result] = results(await talk.turn("[[fake:ls]] first"))
        assert not result.is_error
        write_rules(project_rules(world.daemon), deny=["Bash(ls *)"])
        [result] = results(await talk.turn("[[fake:ls]] second"))
        assert "Denied by" in result.output
        write_rules(project_rules(world.daemon))
        [result] = results(await talk.turn("[[fake:ls]] third"))
        assert not result.is_error
        assert len(world.runs) == 1


async def test_a_turn_that_is_continued_after_a_crash_is_screened_from_its_first_use(tmp_path: Path) -> None:
    async with claude_world(tmp_path, {"touch": [TOUCH, LS, say("Then not.")]}) as world:
        write_rules(user_rules(world.daemon), deny=["Bash(ls *)"])
        talk = await world.session()
        await talk.say("[[fake:touch]]")
        await talk.asked()
        os.kill(world.runs[0].agent_pid, signal.SIGKILL)
        await talk.answer(await talk.asked(), allow=True)
        events = await talk.until(is_idle)
        assert "Denied by" in results(events)[-1].output
        # More than two where the first was killed before it had written its transcript.
        openings = [json.loads(run.lines(RecordKind.IN)[0])["request"]["subtype"] for run in world.runs]
        assert openings == ["initialize"] * len(openings)
        assert len(openings) >= 2
