"""An approved background command tries to answer the next prompt. docs/security.md says what is seen here."""

import json
import shlex
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import anyio
import apsw
import pytest

from betcode.holder.launch import holder_pid
from support.apis.messages.script import bash, say
from support.attacks import inside_attempts, red_team
from support.daemon.process import becomes_true
from support.daemon.session import Talk, is_idle
from support.providers.claude import needs_claude
from support.providers.claude_world import World, claude_world

pytestmark = [needs_claude, pytest.mark.anyio]

BOUND_S = 120.0
TOUCH = bash("touch pwned.txt", "Make a file")


@asynccontextmanager
async def attacked(root: Path, *ways: str, server: str = "") -> AsyncIterator[tuple[World, Talk, dict[str, str]]]:
    """A session whose approved background command tries these ways while the next prompt is open."""
    report = root / "report.json"
    attacker = [sys.executable, red_team.__file__, str(root / "state"), str(report), *ways]
    begin = bash(shlex.join(attacker), "Look around", run_in_background=True)
    async with claude_world(root, {"go": [begin, TOUCH, TOUCH, say("Done.")]}) as world:
        assert world.daemon.paths.state_dir == root / "state"
        talk = await world.session(RED_TEAM_SERVER=server)
        await talk.say("[[fake:go]]")
        await talk.answer(await talk.asked(), allow=True)
        with anyio.fail_after(BOUND_S):
            while not report.exists():  # noqa: ASYNC110 nothing announces it
                await anyio.sleep(0.02)
        yield world, talk, json.loads(report.read_text())


@contextmanager
def serving(address: str) -> Iterator[int]:
    """A server outside of every agent that does what it is told; its pid."""
    argv = [sys.executable, red_team.__file__, "serve", address]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            assert server.stdout.readline() == "ready\n"
            yield server.pid
        finally:
            server.kill()


def audit(world: World) -> list[dict[str, str]]:
    names = ("session_id", "request_id", "outcome", "decided_by", "client", "peer", "note")
    with apsw.Connection(str(world.daemon.paths.database), flags=apsw.SQLITE_OPEN_READONLY) as db:
        rows = db.execute(f"SELECT {', '.join(names)} FROM audit ORDER BY number").fetchall()
    return [dict(zip(names, map(str, row), strict=True)) for row in rows]


async def test_from_inside_the_agents_tree_nothing_answers_and_what_was_tried_is_kept(tmp_path: Path) -> None:
    ways = ["grpc", "invented_ticket", "library", "command", "holder", "stdin", "inherited"]
    orphans = ["orphan:grpc", "orphan:library", "orphan:holder"]
    async with attacked(tmp_path, *ways, *orphans) as (world, talk, seen):
        assert seen["grpc"] == seen["invented_ticket"] == seen["orphan:grpc"] == "PERMISSION_DENIED"
        assert seen["library"] == seen["orphan:library"] == "ANSWER_REFUSED"
        assert seen["command"] == "exit 3"
        assert seen["holder"] == seen["orphan:holder"] == "refused"
        assert seen["stdin"] == "errno 6,errno 6"  # a socket cannot be opened by its name in /proc
        assert seen["inherited"] == "none"
        assert not (world.work / "pwned.txt").exists()
        [prompt] = await world.client.pending()
        await talk.answer(await talk.asked(), allow=False)
        await talk.until("tool_call_result")
        await becomes_true(lambda: len([row for row in audit(world) if "holder's socket" in row["note"]]) == 2)
        refused = [row for row in audit(world) if row["decided_by"] == "gate"]
        assert {row["session_id"] for row in refused} - {""} == {talk.session_id}
        by_way = {row["note"]: row for row in refused}
        assert set(by_way) == {
            "called without a ticket: AnswerPermission",
            "sent an invalid ticket: AnswerPermission",
            "asked for a ticket",
            "came to the holder's socket",
        }
        assert by_way["called without a ticket: AnswerPermission"]["request_id"] == prompt.permission.request_id
        for note, row in by_way.items():
            if not note.startswith("sent an invalid ticket"):
                assert f" < {holder_pid(world.runs[0].directory)} (python" in row["peer"], row
        assert not (world.work / "pwned.txt").exists()
        await world.client.cancel(talk.session_id)


@pytest.mark.parametrize("disguise", ["lock_removed", "lock_overwritten", "lock_moved", "holder_killed"])
async def test_no_disguise_makes_a_tool_of_the_real_agent_a_person(tmp_path: Path, disguise: str) -> None:
    """An approved command answers the prompt of another session."""
    plan, report = tmp_path / "plan", tmp_path / "report"
    command = shlex.join([sys.executable, "-P", inside_attempts.__file__, str(plan), disguise])
    begin = bash(command, "Look around", run_in_background=True)
    async with claude_world(tmp_path, {"victim": [TOUCH, say("Done.")], "go": [begin, say("Done.")]}) as world:
        paths = world.daemon.paths
        victim = await world.session()
        await victim.say("[[fake:victim]]")
        request = await victim.asked()
        said: dict[str, object] = {
            "socket": paths.socket,
            "tickets": paths.ticket_socket,
            "runs": paths.runs,
            "report": report,
        }
        said |= {"session": victim.session_id, "request": request.request_id, "tcp": "", "token": ""}
        plan.write_text(json.dumps({name: str(value) for name, value in said.items()}))
        attacker = await world.session()
        await attacker.say("[[fake:go]]")
        await attacker.answer(await attacker.asked(), allow=True)
        await becomes_true(report.exists)
        found = json.loads(report.read_text())
        pid = found.pop("pid", 0)
        assert found == {"socket": "PERMISSION_DENIED", "submit": "PERMISSION_DENIED", "ticket": "refused"}
        await becomes_true(lambda: len([row for row in audit(world) if f"pid {pid} (" in row["peer"]]) >= 3)
        assert [prompt.request_id for prompt in await world.client.pending()] == [request.request_id]
        assert not (world.work / "pwned.txt").exists()
        await world.client.cancel(victim.session_id)


async def test_a_server_that_the_tool_did_not_start_answers_and_is_named_in_the_audit(tmp_path: Path) -> None:
    """As with a tmux server that runs already: it is nobody's child here, and looks like a person's own program."""
    address = str(tmp_path / "server.sock")
    with serving(address) as pid:
        async with attacked(tmp_path, "elsewhere:library", server=address) as (world, talk, seen):
            assert seen == {"elsewhere:library": "answered"}
            await becomes_true((world.work / "pwned.txt").exists)
            [answered] = [row for row in audit(world) if f"pid {pid} " in row["peer"]]
            assert (answered["outcome"], answered["decided_by"]) == ("allow", "person")
            await world.client.cancel(talk.session_id)


async def test_who_writes_the_database_can_grant_and_the_audit_shows_only_the_use(tmp_path: Path) -> None:
    async with attacked(tmp_path, "prompt_row", "grant_row") as (world, talk, seen):
        assert seen == {"prompt_row": "2 rows written", "grant_row": "1 rows written"}
        assert not (world.work / "pwned.txt").exists()  # nothing while the daemon runs that read the rows before
        request = await talk.asked()
        await talk.answer(request, allow=False)
        await talk.until("tool_call_result")
        assert (await talk.asked()).tool_name == "Bash"
        await world.daemon.restart()
        await world.client.cancel(talk.session_id)
        await talk.until(is_idle)
        await talk.say("[[fake:go]]")
        await becomes_true((world.work / "pwned.txt").exists)
        last = audit(world)[-1]
        assert (last["outcome"], last["decided_by"]) == ("allow", "grant")
        assert not [row for row in audit(world) if row["outcome"] == "granted"]
