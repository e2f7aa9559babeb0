"""The real CLI is lost or stopped with a prompt open."""

import os
import signal
from pathlib import Path

import pytest

from betcode.client.errors import ClientError
from support.apis.messages.script import bash, say, use
from support.daemon.session import Talk, assert_whole, is_idle, kinds, settled_text
from support.providers.claude import needs_claude
from support.providers.claude_world import World, claude_world

pytestmark = [needs_claude, pytest.mark.anyio]


async def answered_after_a_kill(world: World, talk: Talk, *, allow: bool) -> str:
    """Answer a prompt while its agent is gone and the next is not there yet; its id."""
    request = await talk.asked()
    os.kill(world.runs[-1].agent_pid, signal.SIGKILL)
    await talk.until("error")
    await talk.answer(request, allow=allow, message="" if allow else "Not in this directory.")
    return request.request_id


@pytest.mark.behaviour("permission.restart.agent-gone")
async def test_an_allowance_given_while_the_agent_was_gone_is_used_once(tmp_path: Path) -> None:
    path = tmp_path / "home" / "work" / "note.txt"
    steps = [use("Write", {"file_path": str(path), "content": "written"}), say("Done.")]
    async with claude_world(tmp_path / "home", {"write": steps}) as world:
        talk = await world.session()
        await talk.say("[[fake:write]]")
        old = await answered_after_a_kill(world, talk, allow=True)
        events = await talk.until(is_idle)
        assert settled_text(events) == "Done."
        assert path.read_text() == "written"
        assert kinds(talk.events).count("permission_request") == 1
        (given,) = [event.permission_resolved for event in events if event.permission_resolved.rule]
        assert given.rule == f"the answer to {old}"
        assert len(world.runs) >= 2  # more where the first was killed before it had written its transcript
        assert_whole(talk.events)


@pytest.mark.behaviour("permission.restart.agent-gone")
async def test_a_denial_given_while_the_agent_was_gone_holds(tmp_path: Path) -> None:
    scripts = {"append": [bash("echo ran >> ran.txt"), say("I see.")]}
    async with claude_world(tmp_path, scripts) as world:
        talk = await world.session()
        await talk.say("[[fake:append]]")
        await answered_after_a_kill(world, talk, allow=False)
        events = await talk.until(is_idle)
        assert settled_text(events).endswith("I see.")
        assert not (world.work / "ran.txt").exists()
        assert kinds(talk.events).count("permission_request") == 1
        results = [event.tool_call_result for event in events if event.HasField("tool_call_result")]
        assert any("Not in this directory." in result.output for result in results)
        assert_whole(talk.events)


async def test_an_interrupt_withdraws_an_open_prompt_everywhere(tmp_path: Path) -> None:
    scripts = {"append": [bash("echo ran >> ran.txt"), say("Never said.")], "next": [say("Next.")]}
    async with claude_world(tmp_path, scripts) as world:
        talk = await world.session()
        await talk.say("[[fake:append]]")
        request = await talk.asked()
        assert await talk.client.cancel(talk.session_id)
        events = await talk.until(is_idle)
        (told,) = [event.permission_resolved for event in events if event.HasField("permission_resolved")]
        assert (told.request_id, told.resolution) == (request.request_id, "withdrawn")
        assert list(await talk.client.pending(talk.session_id)) == []
        with pytest.raises(ClientError) as late:
            await talk.answer(request, allow=True)
        assert late.value.code == "PERMISSION_STALE"
        assert settled_text(await talk.turn("[[fake:next]]")) == "Next."
        assert not (world.work / "ran.txt").exists()
        assert len(world.runs) == 1
        assert_whole(talk.events)
