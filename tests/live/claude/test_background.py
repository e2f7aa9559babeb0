"""What keeps a real agent from being retired though no turn is open."""

from pathlib import Path

import pytest

from support.apis.messages.script import bash, say, use
from support.daemon.session import is_idle, settled_text
from support.providers.claude import needs_claude
from support.providers.claude_world import World, claude_world

pytestmark = [needs_claude, pytest.mark.anyio]

RETIRED_SOON = {"agents": {"idle_retire": "300ms"}}
PLAIN = {"plain": [say("Nothing held.")]}


async def another_agent_is_retired(world: World) -> None:
    """An agent that became idle later has been let go: whoever is still there is held on purpose."""
    other = await world.session()
    await other.turn("[[fake:plain]]")
    await other.summary_when(lambda summary: summary.run_state == "exited")


async def test_an_agent_with_a_background_task_is_kept_until_the_task_is_over(tmp_path: Path) -> None:
    waits = bash("until [ -e go ]; do sleep 0.05; done", "Wait for it", run_in_background=True)
    scripts = {**PLAIN, "begin": [waits, say("It runs.")]}
    async with claude_world(tmp_path, scripts, settings=RETIRED_SOON) as world:
        talk = await world.session(allowed_tools=("Bash",))
        assert settled_text(await talk.turn("[[fake:begin]]")).endswith("It runs.")
        await talk.summary_when(lambda summary: bool(summary.holds))
        await another_agent_is_retired(world)
        held = await talk.summary()
        assert held.run_state == "running"
        assert held.holds
        await talk.turn("[[fake:plain]] it still listens")
        assert len(world.runs) == 2  # this one and the other
        (world.work / "go").touch()
        turn = (await talk.until("turn_complete"))[-1].turn_complete
        assert (turn.origin, list(turn.message_ids)) == ("task-notification", [])
        await talk.until(is_idle)
        over = await talk.summary_when(lambda summary: summary.run_state == "exited")
        assert not over.holds


async def test_an_agent_with_a_scheduled_job_is_kept(tmp_path: Path) -> None:
    job = use("CronCreate", {"cron": "0 4 1 1 *", "prompt": "look again", "recurring": True})
    scripts = {**PLAIN, "plan": [job, say("Every year.")]}
    async with claude_world(tmp_path, scripts, settings=RETIRED_SOON) as world:
        talk = await world.session(allowed_tools=("CronCreate",))
        assert settled_text(await talk.turn("[[fake:plan]]")) == "Every year."
        await another_agent_is_retired(world)
        summary = await talk.summary()
        assert summary.run_state == "running"
        assert summary.holds
