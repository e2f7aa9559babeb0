"""Forks of sessions of the real CLI: what the model is told in each."""

import threading
from pathlib import Path

import pytest

from betcode.client.errors import Refused
from betcode.domain.error_codes import ErrorCode
from betcode.v1 import agent_pb2 as v1
from support.apis.messages.script import bash, say
from support.daemon.session import Talk, assert_whole, is_idle, settled_text
from support.providers.claude import needs_claude
from support.providers.claude_world import World, claude_world

pytestmark = [needs_claude, pytest.mark.anyio]

SCRIPTS = {"a": [say("Apple.")], "b": [say("Banana.")], "c": [say("Cherry.")], "d": [say("Date.")]}


def heard(world: World) -> list[str]:
    """The letters of the scripts that the model's newest request holds, in order."""
    texts = []
    for message in world.api.requests[-1].conversation:
        content = message["content"]
        blocks = [content] if isinstance(content, str) else [block.get("text", "") for block in content]
        if message["role"] == "user":
            texts += [text[text.index("[[fake:") + 7] for text in blocks if "[[fake:" in text]
    return texts


async def forked(talk: Talk, at_sequence: int = 0) -> Talk:
    fork = await talk.client.fork(talk.session_id, at_sequence=at_sequence)
    copy = Talk(talk.client, fork.session_id)
    own = fork.at_sequence
    events = await copy.until(lambda event: event.sequence > own and event.notice.kind == v1.NOTICE_KIND_FORK)
    assert events[-1].notice.details["at_sequence"] == str(fork.at_sequence)
    copied = [event for event in events if 0 < event.sequence <= fork.at_sequence]
    original = [event for event in talk.events if copied[0].sequence <= event.sequence <= fork.at_sequence]
    assert copied == original  # from the beginning, or from where it was compacted
    await copy.until(is_idle)
    return copy


async def test_a_fork_knows_the_conversation_and_the_original_does_not_hear_of_it(tmp_path: Path) -> None:
    async with claude_world(tmp_path, SCRIPTS) as world:
        talk = await world.session()
        accepted = await talk.say("[[fake:a]] first")
        await talk.until(is_idle)
        await talk.turn("[[fake:b]] second")
        fork = await forked(talk)
        again = await talk.client.send(fork.session_id, "[[fake:a]] first", message_id=accepted.message_id)
        assert again.sequence == accepted.sequence  # the fork knows it too, and nothing begins
        await talk.turn("[[fake:d]] only in the original")  # before the fork's agent has begun
        assert settled_text(await fork.turn("[[fake:c]] only in the fork")) == "Cherry."
        assert heard(world) == ["a", "b", "c"]
        await talk.turn("[[fake:a]] again")
        assert heard(world) == ["a", "b", "d", "a"]
        await fork.turn("[[fake:d]] on")
        assert heard(world) == ["a", "b", "c", "d"]
        assert_whole(talk.events)
        assert_whole(fork.events)
        one, other = await talk.summary(), await fork.summary()
        assert (one.total_input_tokens, other.total_input_tokens) == (400, 200)
        assert other.total_cost_usd == pytest.approx(one.total_cost_usd / 2)
        assert (other.forked_from, other.name) == (talk.session_id, "Banana. (fork)")


async def test_a_fork_of_an_earlier_turn_knows_nothing_that_came_later(tmp_path: Path) -> None:
    async with claude_world(tmp_path, SCRIPTS) as world:
        talk = await world.session()
        await talk.turn("[[fake:a]] first")
        middle = talk.position + 2  # the next message is there, its answer is not
        await talk.turn("[[fake:b]] second")
        fork = await forked(talk, middle)
        await fork.turn("[[fake:c]] third")
        assert heard(world) == ["a", "c"]
        second = await forked(fork)
        await talk.client.delete(talk.session_id)
        await second.turn("[[fake:d]] fourth")
        assert heard(world) == ["a", "c", "d"]


async def test_a_fork_in_the_middle_of_a_turn_is_one_of_the_turn_before(tmp_path: Path) -> None:
    gate = threading.Event()
    scripts = {**SCRIPTS, "t": [bash("true"), say("Slowly and slowly.", gate=gate, gate_after_chunks=1)]}
    async with claude_world(tmp_path, scripts) as world:
        talk = await world.session(allowed_tools=("Bash",))
        await talk.turn("[[fake:a]] first")
        end = next(event.sequence for event in talk.events if event.HasField("turn_complete"))
        await talk.say("[[fake:t]] second")
        await talk.until("tool_call_result")
        fork = await forked(talk)
        assert fork.events[end - 1].HasField("turn_complete")
        await fork.turn("[[fake:c]] third")
        assert heard(world) == ["a", "c"]
        gate.set()
        assert "Slowly and slowly." in settled_text(await talk.until(is_idle))


async def test_a_cancelled_turn_can_be_forked(tmp_path: Path) -> None:
    gate = threading.Event()
    scripts = {**SCRIPTS, "s": [say("One two three four five six.", gate=gate, gate_after_chunks=2)]}
    async with claude_world(tmp_path, scripts) as world:
        talk = await world.session()
        await talk.turn("[[fake:a]] first")
        await talk.say("[[fake:s]] second")
        await talk.until("text_delta")
        assert await talk.client.cancel(talk.session_id)
        gate.set()
        await talk.until(is_idle)
        fork = await forked(talk)
        await fork.turn("[[fake:c]] third")
        assert heard(world) == ["a", "s", "c"]


async def test_what_was_before_a_compaction_cannot_be_forked_and_what_comes_after_can(tmp_path: Path) -> None:
    async with claude_world(tmp_path, SCRIPTS) as world:
        talk = await world.session()
        await talk.turn("[[fake:a]] first")
        before = talk.position
        await talk.turn("/compact")
        with pytest.raises(Refused) as refused:
            await talk.client.fork(talk.session_id, at_sequence=before)
        assert refused.value.code == ErrorCode.FORK_REFUSED
        assert "compacted" in refused.value.message
        fork = await forked(talk)
        assert settled_text(await fork.turn("[[fake:b]] second")) == "Banana."


async def test_a_fork_whose_original_is_compacted_before_its_first_message_says_how_it_begins(tmp_path: Path) -> None:
    async with claude_world(tmp_path, SCRIPTS) as world:
        talk = await world.session()
        await talk.turn("[[fake:a]] first")
        earlier = talk.position
        await talk.turn("[[fake:b]] second")
        last, before = await forked(talk), await forked(talk, earlier)
        await talk.turn("/compact")
        events = await last.turn("[[fake:c]] third")
        assert settled_text(events) == "Cherry."
        assert "This session is being continued" in str(world.api.requests[-1].conversation[0])
        (told,) = [event.notice.message for event in events if event.notice.kind == v1.NOTICE_KIND_FORK]
        assert "starts from that summary" in told
        assert not any(event.notice.kind == v1.NOTICE_KIND_FORK for event in await last.turn("[[fake:d]] fourth"))
        events = await before.turn("[[fake:c]] third")
        (error,) = [event.error for event in events if event.HasField("error")]
        assert error.code == ErrorCode.AGENT_UNAVAILABLE
        assert "was compacted before the fork's first turn" in error.details["advice"]
        assert not any(event.notice.kind == v1.NOTICE_KIND_FORK for event in events)
