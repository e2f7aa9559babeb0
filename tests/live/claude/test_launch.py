"""How the real CLI is started: what stands on its command line and what comes on its stdin."""

import json
from pathlib import Path

import anyio
import pytest

from betcode.client import open_client
from betcode.domain.release.compatibility import AGENTS
from betcode.domain.runs.journal_record import RecordKind
from betcode.holder.platform import descendants
from support.apis.messages.script import bash, say
from support.daemon.runs import RunOnDisk
from support.daemon.session import Talk, is_idle
from support.patience import PATIENCE_S
from support.providers.claude import needs_claude
from support.providers.claude_world import claude_world

pytestmark = [needs_claude, pytest.mark.anyio]

SCRIPTS = {"one": [say("One.")], "two": [say("Two.")]}


def command_line(run: RunOnDisk) -> list[str]:
    """Of the living agent, without the program itself."""
    return Path(f"/proc/{run.agent_pid}/cmdline").read_text().split("\0")[1:-1]


def value_of(arguments: list[str], flag: str) -> str | None:
    """Of a flag, whichever way it is written; None where it is not there."""
    for at, argument in enumerate(arguments):
        if argument.startswith(f"{flag}="):
            return argument.partition("=")[2]
        if argument == flag:
            return arguments[at + 1]
    return None


@pytest.mark.behaviour(
    "launch.flags",
    "launch.prompt-on-stdin",
    "launch.session-id-first",
    "launch.allowed-tools",
    "wire.stdin.user-message",
)
async def test_the_first_launch_chooses_the_conversation_and_the_prompt_comes_on_stdin(tmp_path: Path) -> None:
    async with claude_world(tmp_path, SCRIPTS) as world:
        talk = await world.session(allowed_tools=("Read", "Bash(git *)"))
        accepted = await talk.say("[[fake:one]] unmistakable")
        await talk.until(is_idle)
        arguments = command_line(world.runs[0])
        for flag in ("-p", "--include-partial-messages", "--verbose"):
            assert flag in arguments
        assert value_of(arguments, "--output-format") == "stream-json"
        assert value_of(arguments, "--input-format") == "stream-json"
        assert value_of(arguments, "--permission-prompt-tool") == "stdio"
        assert value_of(arguments, "--session-id") == talk.session_id
        assert value_of(arguments, "--resume") is None
        assert value_of(arguments, "--allowedTools") == "Read,Bash(git *)"
        assert not [argument for argument in arguments if "unmistakable" in argument]
        greeting, line = world.runs[0].lines(RecordKind.IN)
        assert json.loads(greeting)["request"] == {"subtype": "initialize"}
        commands = [command for event in talk.events for command in event.session_info.commands]
        assert {"compact", "init"} <= {command.name for command in commands if command.description}
        said = json.loads(line)
        assert (said["type"], said["message"]["role"], said["uuid"]) == ("user", "user", accepted.message_id)
        assert "unmistakable" in json.dumps(said["message"]["content"])


@pytest.mark.behaviour("launch.resume-later")
async def test_a_later_launch_resumes_the_conversation(tmp_path: Path) -> None:
    settings = {"agents": {"idle_retire": "300ms"}}
    async with claude_world(tmp_path, SCRIPTS, settings=settings) as world:
        talk = await world.session()
        await talk.turn("[[fake:one]]")
        await talk.summary_when(lambda summary: summary.run_state == "exited")
        await talk.say("[[fake:two]]")
        await talk.until("text_delta")
        arguments = command_line(world.runs[-1])
        assert value_of(arguments, "--resume") == talk.session_id
        assert value_of(arguments, "--session-id") is None


@pytest.mark.behaviour("launch.one-process-per-session")
async def test_clients_that_speak_at_once_share_one_process(tmp_path: Path) -> None:
    async with claude_world(tmp_path, SCRIPTS) as world:
        talk = await world.session()
        said: list[str] = []

        async def come_and_go() -> None:
            async with open_client(world.daemon.paths) as client:
                guest = Talk(client, talk.session_id)
                accepted = await guest.say("[[fake:one]]")
                said.append(accepted.message_id)
                await guest.until("session_info")

        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(come_and_go)
        answered: set[str] = set()
        while answered != set(said):
            answered |= set((await talk.until("turn_complete"))[-1].turn_complete.message_ids)
        assert len(world.runs) == 1


@pytest.mark.behaviour("launch.no-agent-engine")
async def test_tools_and_model_calls_are_the_agents_own(tmp_path: Path) -> None:
    scripts = {"wait": [bash("until [ -e go ]; do sleep 0.05; done"), say("Done.")]}
    async with claude_world(tmp_path, scripts) as world:
        talk = await world.session(allowed_tools=("Bash",))
        await talk.say("[[fake:wait]]")
        await talk.until("tool_call_start")
        with anyio.fail_after(PATIENCE_S):
            while not descendants(world.runs[0].agent_pid):
                await talk.summary()
        assert not descendants(world.daemon.pid)
        (world.work / "go").touch()
        await talk.until(is_idle)
        assert [request.user_agent.split("/")[0] for request in world.api.requests] == ["claude-cli"] * 2
        spoken = {f"anthropic-{request.api_version}" for request in world.api.requests}
        assert spoken == {AGENTS["claude"].api_version}, "as VersionService says"
