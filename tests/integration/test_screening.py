"""What agents ask, decided by rules and grants: by a real daemon, with an agent that does what it is told."""

import json
import os
import time
from pathlib import Path

import apsw
import pytest

from betcode.client import Client, open_client
from betcode.domain.runs.journal_record import RecordKind
from betcode.engine.permissions.trust import FILE_NAME, TrustedProjects
from betcode.v1 import agent_pb2 as v1
from support.daemon.process import Daemon, agent_program, becomes_true, obedient_daemon, running_daemon
from support.daemon.runs import runs_in
from support.daemon.session import Talk, assert_whole, is_idle, kind_of, kinds, settled_text
from support.providers.claude_world import obedient_talk
from support.rules.files import decisions, project_rules, user_rules, write_rules

pytestmark = pytest.mark.anyio

REQUEST = b'"can_use_tool"'
IMPORTANT = frozenset({"tool_call_start", "permission_request", "permission_resolved", "tool_call_result"})


def ran(daemon: Daemon, name: str = "ran.txt") -> int:
    path = daemon.work / name
    return len(path.read_text().splitlines()) if path.exists() else 0


def shown(events: list[v1.AgentEvent]) -> list[str]:
    return [kind for kind in kinds(events) if kind in IMPORTANT]


def statuses(events: list[v1.AgentEvent]) -> list[str]:
    changes = [event.status_change.status for event in events if event.HasField("status_change")]
    return [v1.AgentStatus.Name(status) for status in changes]


@pytest.mark.behaviour("permission.screen.allow", "events.order.auto-allowed-tool")
async def test_an_allow_rule_answers_and_nobody_is_asked(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        write_rules(user_rules(daemon), allow=["Bash(touch *)"])
        talk = await obedient_talk(daemon, client)
        events = await talk.turn("tool")
        assert shown(events) == ["tool_call_start", "tool_call_result"]
        assert statuses(events)[-3:] == ["EXECUTING_TOOL", "THINKING", "IDLE"]
        assert statuses(events).count("EXECUTING_TOOL") == 1
        assert ran(daemon) == 1
        assert '"times": 10' in (daemon.work / "ran.txt").read_text()  # the agent's own input went back
        [kept] = decisions(daemon)
        assert (kept.what, kept.tool, kept.outcome, kept.by) == ("decision", "Bash", "allow", "rule")
        assert not await client.pending(talk.session_id)
        assert_whole(talk.events)


@pytest.mark.behaviour("permission.screen.deny", "permission.screen.deny-beats-allow", "wire.stdin.deny")
async def test_a_deny_rule_answers_and_the_agent_is_told_which(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        write_rules(user_rules(daemon), allow=["Bash"], deny=["Bash(touch *)"])
        talk = await obedient_talk(daemon, client)
        events = await talk.turn("tool")
        assert shown(events) == ["tool_call_start", "tool_call_result"]
        result = next(event.tool_call_result for event in events if event.HasField("tool_call_result"))
        assert result.output == f"Denied by a permission rule: deny Bash(touch *) ({user_rules(daemon)}:1)"
        assert ran(daemon) == 0
        assert [(kept.outcome, kept.by) for kept in decisions(daemon)] == [("deny", "rule")]


@pytest.mark.behaviour("permission.screen.silence-asks", "events.permission-request")
@pytest.mark.behaviour("events.order.prompted-tool", "events.status.waiting")
async def test_silence_asks_a_person_and_says_why(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        write_rules(user_rules(daemon), allow=["Bash(make *)"])
        talk = await obedient_talk(daemon, client)
        await talk.say("tool")
        request = await talk.asked()
        assert request.deciding_rule == "no rule covers touch ran.txt"
        assert list(request.segments) == ["touch ran.txt"]
        (of_agent,) = [
            line for run in runs_in(daemon.paths.runs) for line in run.lines(RecordKind.OUT) if REQUEST in line
        ]
        assert json.loads(of_agent)["request_id"] == request.request_id
        assert (request.tool_name, request.description) == ("Bash", "a mark")
        assert dict(request.input) == {"command": "touch ran.txt", "description": "Leave a mark", "times": 10}
        assert ran(daemon) == 0
        assert [(kept.outcome, kept.by, kept.rule) for kept in decisions(daemon)] == [("ask", "rule", "")]
        await talk.answer(request, allow=True)
        await talk.until(is_idle)
        order = ["tool_call_start", "permission_request", "permission_resolved", "tool_call_result"]
        assert shown(talk.events) == order
        asked_at = next(at for at, event in enumerate(talk.events) if event.HasField("permission_request"))
        assert kind_of(talk.events[asked_at + 1]) == "status_change"
        assert talk.events[asked_at + 1].status_change.status == v1.WAITING_FOR_USER
        assert statuses(talk.events[:asked_at])[-1] != "WAITING_FOR_USER"


@pytest.mark.behaviour("question.never-by-rule")
async def test_an_ask_rule_asks_where_another_allows_and_no_rule_answers_a_question(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        write_rules(user_rules(daemon), allow=["AskUserQuestion", "Bash"], ask=["Bash(touch *)"])
        talk = await obedient_talk(daemon, client)
        await talk.say("tool")
        request = await talk.asked()
        assert request.deciding_rule == f"ask Bash(touch *) ({user_rules(daemon)}:1)"
        assert not request.grant_offers, "the rule asks each time"
        await talk.answer(request, allow=False)
        await talk.until(is_idle)
        await talk.say("ask")
        [*_, asked] = await talk.until("user_question")
        assert asked.user_question.question == "Which colour?"


async def test_a_projects_allow_rules_count_from_the_moment_it_is_trusted(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        write_rules(project_rules(daemon), allow=["Bash(touch *)"])
        talk = await obedient_talk(daemon, client)
        await talk.say("tool")
        await talk.answer(await talk.asked(), allow=False)
        await talk.until(is_idle)
        TrustedProjects(daemon.paths.state_dir / FILE_NAME).set(str(daemon.work), trusted=True, by="me")
        assert "permission_request" not in kinds(await talk.turn("tool"))
        assert ran(daemon) == 1


def grant(daemon: Daemon, talk: Talk, pattern: str, *, allows: bool = True) -> None:
    """Put a grant where a daemon finds it when it takes the session up."""
    with apsw.Connection(str(daemon.paths.database)) as db:
        [(key,)] = db.execute("SELECT key FROM sessions WHERE session_id = ?", (talk.session_id,)).fetchall()
        db.execute(
            "INSERT INTO permission_grants (session, tool_name, pattern, action, created_ns, granted_by, request_id)"
            " VALUES (?, 'Bash', ?, ?, ?, '', '')",
            (key, pattern, "allow" if allows else "deny", time.time_ns()),
        )


@pytest.mark.behaviour("permission.screen.grant", "permission.grant.session-scope")
async def test_a_grant_answers_in_its_session_and_in_no_other(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        talk, other = await obedient_talk(daemon, client), await obedient_talk(daemon, client)
        grant(daemon, talk, "Bash(touch *)")
        assert "permission_request" not in kinds(await talk.turn("tool"))
        assert [(kept.outcome, kept.by) for kept in decisions(daemon)] == [("allow", "grant")]
        await other.say("tool")
        await other.asked()


@pytest.mark.behaviour("permission.screen.deny-beats-grant")
async def test_a_deny_beats_a_grant_and_so_does_what_was_refused_for_the_session(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        write_rules(user_rules(daemon), deny=["Bash(touch *)"])
        talk = await obedient_talk(daemon, client)
        grant(daemon, talk, "Bash")
        assert settled_text(await talk.turn("tool")).endswith("denied")
        write_rules(user_rules(daemon), allow=["Bash"])
        refused = await obedient_talk(daemon, client)
        grant(daemon, refused, "Bash(touch *)", allows=False)
        assert settled_text(await refused.turn("tool")).endswith("denied")
        assert ran(daemon) == 0


class TestEveryCall:
    """Where a rule denies or asks, the agent is made to show every use of a tool before its own rules."""

    async def peeked(self, client: Client, daemon: Daemon) -> str:
        return settled_text(await (await obedient_talk(daemon, client)).turn("peek"))

    @pytest.mark.behaviour("permission.screen.deny")
    async def test_our_rules_object_and_the_agents_own_decide_the_rest(self, tmp_path: Path) -> None:
        async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
            write_rules(user_rules(daemon), allow=["Bash"])
            assert await self.peeked(client, daemon) == "peeked"
            [run] = runs_in(daemon.paths.runs)
            assert not any(b"PreToolUse" in line for line in run.lines(RecordKind.IN))  # it was left alone
            write_rules(user_rules(daemon), deny=["Bash(rm *)"])
            assert await self.peeked(client, daemon) == "peeked"
            assert decisions(daemon) == []
            write_rules(user_rules(daemon), deny=["Bash(ls *)"])
            assert await self.peeked(client, daemon) == "kept out"
            assert ran(daemon, "peeked.txt") == 2
            assert [(kept.outcome, kept.by) for kept in decisions(daemon)] == [("deny", "rule")]
            write_rules(user_rules(daemon), ask=["Bash(ls *)"])
            talk = await obedient_talk(daemon, client)
            await talk.say("peek")
            await talk.answer(await talk.asked(), allow=False)
            assert settled_text(await talk.until(is_idle)) == "kept out"

    async def test_where_a_command_begins_is_known_when_the_agent_asks_about_it_later(self, tmp_path: Path) -> None:
        async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
            write_rules(user_rules(daemon), ask=["Read(./private/notes.txt)"], allow=["Bash(cat *)"])
            talk = await obedient_talk(daemon, client)
            await talk.say("peek private")
            assert (await talk.asked()).deciding_rule == f"ask Read(./private/notes.txt) ({user_rules(daemon)}:1)"

    async def test_it_can_be_switched_off_and_on(self, tmp_path: Path) -> None:
        async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
            write_rules(user_rules(daemon), deny=["Bash(ls *)"], screen_all="never")
            await daemon.restart()
            assert await self.peeked(client, daemon) == "peeked"
            write_rules(user_rules(daemon), screen_all="always")
            await daemon.restart()
            assert await self.peeked(client, daemon) == "peeked"
            last = runs_in(daemon.paths.runs)[-1]
            assert any(b"hook_callback" in line for line in last.lines(RecordKind.OUT))

    async def test_a_running_agent_is_told_when_the_first_such_rule_is_written(self, tmp_path: Path) -> None:
        async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
            talk = await obedient_talk(daemon, client)
            await talk.say("say begin\nwait go\npeek")
            await talk.until("text_delta")
            write_rules(project_rules(daemon), deny=["Bash(ls *)"])
            [run] = runs_in(daemon.paths.runs)
            await becomes_true(lambda: b"".join(run.lines(RecordKind.OUT)).count(b"control_response") == 2)
            (daemon.work / "go").touch()
            assert settled_text(await talk.until(is_idle)).endswith("kept out")

    async def test_a_message_waits_until_the_agent_says_that_it_shows_every_use(self, tmp_path: Path) -> None:
        async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
            talk = await obedient_talk(daemon, client)
            await talk.turn("say one")
            write_rules(project_rules(daemon), deny=["Bash(ls *)"])
            assert settled_text(await talk.turn("peek")).endswith("kept out")
            [run] = runs_in(daemon.paths.runs)
            records = [record.data for record in run.records()]
            said = next(number for number, data in enumerate(records) if b'"content": "peek"' in data)
            assert any(b'"control_response"' in data for data in records[:said])

    @pytest.mark.parametrize("step", ["after-reading", "after-commit", "after-hand-over"])
    async def test_a_daemon_that_dies_while_it_decides_denies_once(self, tmp_path: Path, step: str) -> None:
        async with running_daemon(tmp_path, claude_bin=agent_program(tmp_path)) as daemon:
            write_rules(user_rules(daemon), deny=["Bash(ls *)"])
            async with open_client(daemon.paths) as client:
                talk = await obedient_talk(daemon, client)
                await talk.say("say begin\nwait go\npeek")
                await talk.until("text_delta")
            daemon.kill()
            (daemon.work / "go").touch()
            [run] = runs_in(daemon.paths.runs)
            await becomes_true(lambda: any(b"hook_callback" in line for line in run.lines(RecordKind.OUT)))
            daemon.launch(BETCODE_FAULT=step)
            await daemon.ended()
            await daemon.start()
            async with open_client(daemon.paths) as client:
                talk = Talk(client, talk.session_id)
                assert settled_text(await talk.until(is_idle)).endswith("kept out")
            assert [kept.outcome for kept in decisions(daemon)] == ["deny"]
            answers = [line for line in run.lines(RecordKind.IN) if b"permissionDecision" in line]
            assert len(answers) == 1


async def test_an_automatic_answer_waits_for_no_slot(tmp_path: Path) -> None:
    """Another session may have the only one: what a rule allows goes on where it is."""
    settings = {"agents": {"turn_limit": 1}}
    async with obedient_daemon(tmp_path, settings=settings) as daemon, open_client(daemon.paths) as client:
        write_rules(user_rules(daemon), allow=["Bash(touch *)"])
        os.utime(user_rules(daemon), (1_000_000_000, 1_000_000_000))
        talk, other = await obedient_talk(daemon, client), await obedient_talk(daemon, client)
        await talk.say("say one\ntool\nwait go")
        await other.say("say two")
        await talk.until("tool_call_result")
        (daemon.work / "go").touch()
        await talk.until(is_idle)
        await other.until(is_idle)
        assert ran(daemon) == 1
