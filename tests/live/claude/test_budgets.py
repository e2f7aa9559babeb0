"""A budget over turns of the real CLI, which would run a queued message by itself."""

import threading
from pathlib import Path

import pytest

from betcode.v1 import agent_pb2 as v1
from support.apis.messages.script import say
from support.daemon.session import assert_whole, is_idle, settled_text
from support.providers.claude import needs_claude
from support.providers.claude_world import claude_world

pytestmark = [needs_claude, pytest.mark.anyio]


async def test_a_message_queued_in_the_last_turn_of_a_budget_waits_for_a_person(tmp_path: Path) -> None:
    gate = threading.Event()
    scripts = {"slow": [say("One two three four five.", gate=gate, gate_after_chunks=1)], "more": [say("More.")]}
    async with claude_world(tmp_path, scripts) as world:
        talk = await world.session()
        await world.client.set_budget(talk.session_id, v1.Budget(max_cost_usd=0.0001))
        await talk.say("[[fake:slow]]")
        await talk.until("text_delta")
        await talk.say("[[fake:more]]")
        gate.set()
        request = await talk.asked()
        assert "$0.0008 of $0.0001 spent" in request.description
        assert settled_text(talk.events) == "One two three four five."
        assert world.api.calls("more") == []
        await talk.answer(request, allow=True)
        assert settled_text(await talk.until(is_idle)) == "More."
        assert_whole(talk.events)
