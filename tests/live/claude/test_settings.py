"""The real CLI under our settings: the model of its project, and the MCP servers that it says it has."""

import json
from pathlib import Path

import pytest

from betcode.v1 import config_pb2 as v1
from support.apis.messages.script import Scripts, say
from support.daemon.session import settled_text
from support.providers.claude import needs_claude
from support.providers.claude_world import claude_world

pytestmark = [pytest.mark.anyio, needs_claude]


@pytest.mark.behaviour("config.rpc.mcp-servers")
async def test_a_server_that_does_not_start_is_told_as_the_agent_tells_it(tmp_path: Path) -> None:
    home = tmp_path / "agent-home"
    home.mkdir()
    (home / ".claude.json").write_text(json.dumps({"mcpServers": {"broken": {"command": "/bin/false", "args": []}}}))
    async with claude_world(tmp_path, {"one": [say("One.")]}) as world:
        talk = await world.session()
        await talk.turn("[[fake:one]]")
        (server,) = await world.client.config.mcp_servers(session_id=talk.session_id)
        assert server.name == "broken"
        assert server.status in (v1.MCP_SERVER_STATUS_ERROR, v1.MCP_SERVER_STATUS_STARTING)
        assert server.session_id == talk.session_id


@pytest.mark.behaviour("config.order.project-over-user")
async def test_the_agent_works_with_the_model_of_its_project(tmp_path: Path) -> None:
    """Our key stands in Claude Code's own file, which it still takes."""
    settings = {"sessions": {"default_model": "claude-user-1"}}
    async with claude_world(tmp_path, {"one": [say("One.")]}, settings=settings) as world:
        file = world.work / ".claude/settings.json"
        file.parent.mkdir()
        file.write_text(json.dumps({"model": "claude-own-1", "sessions": {"default_model": "claude-project-1"}}))
        talk = await world.session()
        events = await talk.turn("[[fake:one]]")
        assert settled_text(events) == "One."
        assert [event.session_info.model for event in events if event.session_info.tools] == ["claude-project-1"]


async def test_a_model_chosen_by_a_command_is_used_after_the_agent_was_retired(tmp_path: Path) -> None:
    """No turn of the model is between the choice and the end of the process."""
    scripts: Scripts = {"one": [say("One.")], "two": [say("Two.")]}
    async with claude_world(tmp_path, scripts) as world:
        talk = await world.session(model="sonnet")
        await talk.turn("[[fake:one]]")
        await talk.turn("/model haiku")
        world.daemon.reload({"agents": {"idle_retire": "50ms"}})
        await talk.summary_when(lambda summary: summary.run_state == "exited")
        await talk.turn("[[fake:two]]")
        models = [request.model for request in world.api.requests if request.place.script in ("one", "two")]
        assert ["sonnet" in models[0], "haiku" in models[-1]] == [True, True], models
