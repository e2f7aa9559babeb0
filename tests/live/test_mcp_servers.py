"""The real CLI says which MCP servers it has, and the daemon keeps what it says."""

import json
from pathlib import Path

import pytest

from betcode.v1 import config_pb2 as v1
from support.claude import needs_claude
from support.model_script import say
from support.world import claude_world

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
