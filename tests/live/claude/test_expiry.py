"""The real CLI waits for an answer that nobody gives."""

from pathlib import Path

import pytest

from support.apis.messages.script import bash, say
from support.daemon.clock import DAY_S
from support.daemon.session import is_idle, kind_of, settled_text
from support.providers.claude import needs_claude
from support.providers.claude_world import claude_world
from support.rounds.clock import clock_environment, move_clock

pytestmark = [needs_claude, pytest.mark.anyio]


@pytest.mark.behaviour("permission.ttl.expiry.soft-deny", "permission.ttl.expiry.session-continues")
async def test_the_agent_is_told_of_the_end_and_its_turn_goes_on(tmp_path: Path) -> None:
    scripts = {"late": [bash("touch made.txt"), say("Nobody was there.")], "on": [bash("touch made.txt"), say("Made.")]}
    async with claude_world(tmp_path, scripts) as world:
        talk = await world.session()
        await talk.say("[[fake:late]] make it")
        await talk.asked()
        world.daemon.kill()
        environment = clock_environment(tmp_path)
        move_clock(tmp_path, 7 * DAY_S + 1)
        await world.daemon.start(**environment)
        said = await talk.until(is_idle)
        (result,) = [event.tool_call_result for event in said if kind_of(event) == "tool_call_result"]
        assert "Permission request expired after 7d. User can retry the operation." in result.output
        assert result.is_error
        assert settled_text(said) == "Nobody was there."
        assert not (world.work / "made.txt").exists()
        await talk.say("[[fake:on]] once more")
        await talk.answer(await talk.asked(), allow=True)
        assert settled_text(await talk.until(is_idle)) == "Made."
        assert (world.work / "made.txt").exists()
        assert len(world.runs) == 1
