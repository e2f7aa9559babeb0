"""/compact with the real CLI: its own context shrinks, and the boundary follows what it reports."""

import threading
from pathlib import Path

import anyio
import pytest

from betcode.client import Refused
from support.apis.messages.script import Failure, Reply, Text, say, texts_of
from support.daemon.session import assert_whole, is_idle, kinds, settled_text
from support.providers.claude import needs_claude
from support.providers.claude_world import World, claude_world

pytestmark = [needs_claude, pytest.mark.anyio]

SCRIPTS = {
    "one": [say("The first answer.")],
    "two": [say("The second answer.", input_tokens=50_000, cache_read_tokens=40_000)],
    "three": [say("The third answer.")],
}


def transcript(world: World, session_id: str) -> bytes:
    """The agent's own record of the conversation."""
    [file] = (world.daemon.root / "agent-home").glob(f".claude/projects/*/{session_id}.jsonl")
    return file.read_bytes()


@pytest.mark.behaviour(
    "compaction.trigger.manual",
    "compaction.means",
    "compaction.agent-context",
    "compaction.tokens-before",
    "compaction.tokens-saved",
)
async def test_the_agent_goes_on_from_a_summary(tmp_path: Path) -> None:
    async with claude_world(tmp_path, SCRIPTS) as world:
        talk = await world.session()
        await talk.turn("[[fake:one]] begin")
        await talk.turn("[[fake:two]] and go on")
        before = transcript(world, talk.session_id)
        pid = world.runs[0].agent_pid
        done = await world.client.compact(talk.session_id)
        assert (done.messages_before, done.messages_after) == (4, 1)
        told = next(e.compaction for e in await talk.until(is_idle) if e.HasField("compaction"))
        assert (told.trigger, done.tokens_saved) == ("manual", 90_000 - told.tokens_after)
        assert transcript(world, talk.session_id).startswith(before)  # only the agent writes there, and at the end
        assert settled_text(await talk.turn("[[fake:three]] more")) == "The third answer."
        said = [text for message in world.api.requests[-1].conversation for text in texts_of(message)]
        assert any("Nothing is pending." in text for text in said)  # the summary
        assert not any("[[fake:one]]" in text for text in said)
        assert [run.agent_pid for run in world.runs] == [pid]
        assert_whole(talk.events)


async def test_a_retired_agent_is_resumed_for_it_and_a_person_may_type_it(tmp_path: Path) -> None:
    async with claude_world(tmp_path, SCRIPTS, settings={"agents": {"idle_retire": "100ms"}}) as world:
        talk = await world.session()
        await talk.turn("[[fake:one]] begin")
        await talk.summary_when(lambda one: one.run_state == "exited")
        assert (await world.client.compact(talk.session_id)).messages_after == 1
        await talk.until(is_idle)
        answer = next(e for e in await talk.turn("[[fake:three]] more") if e.text_delta.is_complete)
        events = await talk.turn("/compact keep the names")
        assert [e.compaction.compacted_before for e in events if e.HasField("compaction")] == [answer.sequence]


@pytest.mark.behaviour("compaction.failure")
async def test_a_model_that_refuses_is_a_failure(tmp_path: Path) -> None:
    refusal = Failure(400, "invalid_request_error", "not now")
    async with claude_world(tmp_path, {**SCRIPTS, "": [refusal]}) as world:
        talk = await world.session()
        await talk.turn("[[fake:one]] begin")
        with pytest.raises(Refused) as caught:
            await world.client.compact(talk.session_id)
        assert caught.value.code == "COMPACTION_FAILED"
        assert "not now" in caught.value.details["reason"]
        await talk.until(is_idle)
        assert (await talk.summary()).message_count == 2
        assert settled_text(await talk.turn("[[fake:three]] more")) == "The third answer."


async def test_interrupted_it_fails_and_the_message_behind_it_runs(tmp_path: Path) -> None:
    never = threading.Event()
    summary = Reply((Text("<summary>All said.</summary>"),), gate=never, gate_after_chunks=1)
    async with claude_world(tmp_path, {**SCRIPTS, "": [summary]}) as world:
        talk = await world.session()
        await talk.turn("[[fake:one]] begin")
        codes: list[str] = []

        async def ask() -> None:
            with pytest.raises(Refused) as caught:
                await world.client.compact(talk.session_id)
            codes.append(caught.value.code)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await world.model_called("", 1)
            await talk.say("[[fake:three]] more")
            await world.client.cancel(talk.session_id)
        never.set()
        assert codes == ["COMPACTION_FAILED"]
        events = await talk.until(lambda event: event.text_delta.is_complete)
        assert [e.turn_complete.stop_reason for e in events if e.HasField("turn_complete")] == ["cancelled"]
        assert settled_text(events) == "The third answer."
        await talk.until(is_idle)
        assert "compaction" not in kinds(talk.events)
