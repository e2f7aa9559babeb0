"""Taking a message back from the real CLI's own queue."""

import threading
from pathlib import Path

import pytest

from support.apis.messages.script import say
from support.daemon.session import assert_whole, is_idle, settled_text, states_of
from support.providers.claude import needs_claude
from support.providers.claude_world import claude_world

pytestmark = [needs_claude, pytest.mark.anyio]


async def test_what_the_cli_has_queued_is_never_said_to_the_model(tmp_path: Path) -> None:
    gate = threading.Event()
    scripts = {"slow": [say("One two three four.", gate_after_chunks=1, gate=gate)], "never": [say("Never.")]}
    async with claude_world(tmp_path, scripts) as world:
        talk = await world.session()
        answered = await talk.say("[[fake:slow]]")
        await talk.until("text_delta")
        unwanted = await talk.say("[[fake:never]]")
        await talk.until(lambda event: event.message_state.message_id == unwanted.message_id)
        assert await talk.client.withdraw(talk.session_id, unwanted.message_id)
        assert not await talk.client.withdraw(talk.session_id, answered.message_id)
        gate.set()
        assert settled_text(await talk.until(is_idle)) == "One two three four."
        assert states_of(talk.events, unwanted.message_id) == ["DELIVERED", "CANCELLED"]
        assert world.api.calls("never") == []
        assert_whole(talk.events)
