"""The real Codex from npm, through daemon, holder, log and client, against a stand-in for its model."""

from pathlib import Path

import pytest

from support.codex import codex_world
from support.openai_api import script
from support.talk import assert_whole, is_idle, kinds, settled_text, states_of, streamed_text

pytestmark = pytest.mark.anyio


async def test_a_text_turn_streams_settles_and_ends(tmp_path: Path) -> None:
    async with codex_world(tmp_path) as world:
        talk = await world.session()
        accepted = await talk.say("Hello " + script({"think": "**Greet**", "text": "Hello from the stand-in."}))
        events = await talk.until(is_idle)
        assert streamed_text(events) == settled_text(events) == "Hello from the stand-in."
        assert [name for name in kinds(events) if name in ("usage", "turn_complete")] == ["usage", "turn_complete"]
        turn = next(event.turn_complete for event in events if event.HasField("turn_complete"))
        assert (turn.stop_reason, list(turn.message_ids)) == ("end_turn", [accepted.message_id])
        assert states_of(events, accepted.message_id)[-1] == "CONSUMED"
        assert_whole(talk.events)
