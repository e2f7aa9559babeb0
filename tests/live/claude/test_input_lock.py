"""Two people at one session of the real CLI."""

from pathlib import Path

import pytest

from betcode.client import ClientError
from betcode.v1 import agent_pb2 as v1
from support.apis.messages.script import bash, say
from support.daemon.lock_clients import typist
from support.daemon.stream import is_idle, kind_of
from support.providers.claude import needs_claude
from support.providers.claude_world import claude_world

pytestmark = [needs_claude, pytest.mark.anyio]


@pytest.mark.behaviour("input-lock.refused")
async def test_what_is_refused_never_reaches_the_model_and_answers_need_no_lock(tmp_path: Path) -> None:
    scripts = {"touch": [bash("echo made >> made.txt", "Make a file"), say("Done.")], "other": [say("Never.")]}
    async with claude_world(tmp_path, scripts) as world:
        session = (await world.session()).session_id
        async with typist(world.daemon, session, "ann") as ann, typist(world.daemon, session, "ben") as ben:
            await ann.say("[[fake:touch]] make it")
            await ben.until(lambda one: "permission_request" in map(kind_of, one.events))
            with pytest.raises(ClientError) as error:
                await ben.say("[[fake:other]] and this")
            assert (error.value.code, error.value.details["holder_client_id"]) == ("NO_INPUT_LOCK", "ann")
            asked = next(event for event in ben.events if kind_of(event) == "permission_request").permission_request
            await ben.client.answer_permission(asked.request_id, v1.ALLOW_ONCE)
            await ben.until(lambda one: is_idle(one.events[-1]))
        assert (tmp_path / "work" / "made.txt").read_text() == "made\n"
        assert world.api.calls("other") == []
