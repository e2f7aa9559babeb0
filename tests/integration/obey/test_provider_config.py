"""What a session's provider is told by provider_config: at its making, and instead of that at a restart."""

import json

import pytest

from obey.local.v1 import local_pb2 as pb
from support.apis.openai.server import openai_api, script
from support.apis.openai.sessions import KEY, KEY_VARIABLE
from support.obey.daemon import Obeyed, refused
from support.providers.acp_session import command

pytestmark = pytest.mark.anyio

ACP, OPENAI = pb.SESSION_PROVIDER_ACP, pb.SESSION_PROVIDER_OPENAI_API


async def arguments(it: Obeyed, session_id: str) -> list[str]:
    """Those that the agent of a session was started with."""
    said: list[str] = json.loads((await it.send(session_id, "argv"))[-1].content)
    return said


@pytest.mark.behaviour("obey.create.provider-config", "obey.restart.override", "obey.restart.count")
async def test_an_agent_is_started_with_its_configuration(it: Obeyed) -> None:
    info = await it.create(ACP, provider_config={"command": command("--no-files")})
    assert await arguments(it, info.id) == ["--no-files"]
    again = await it.restart(info.id, command=command("--repeats"))
    assert (again.id, again.restart_count) == (info.id, 1)
    assert await arguments(it, info.id) == ["--repeats"]
    missing = await refused(it.restart(info.id, command=json.dumps([str(it.root / "nothing")])))
    assert (missing.reason, missing.status) == ("OBEY-2004", "INTERNAL")
    assert (await it.get(info.id)).pid == again.pid, "nothing was done"
    await it.stop(info.id)
    made = await it.restart(info.id)
    assert made.id != info.id
    assert await arguments(it, made.id) == ["--repeats"], "without another it is the one of before"
    await it.stop(made.id)


@pytest.mark.behaviour("obey.create.adapter-error")
async def test_an_agent_that_cannot_start_reports_what_to_do(it: Obeyed) -> None:
    error = await refused(it.create(ACP, provider_config={"command": command("--no-login")}))
    assert error.reason == "OBEY-2004"
    assert "log in" in error.message.lower()
    failed = await it.get(error.facts["session_id"])
    assert failed.status == pb.SESSION_STATUS_FAILED
    assert "log in" in failed.error_message.lower()


@pytest.mark.behaviour("obey.create.provider-config", "obey.restart.override")
async def test_a_conversation_continues_with_another_service(it: Obeyed) -> None:
    with openai_api() as first, openai_api() as second:
        config = {"base_url": first.base_url, "api_key_env": KEY_VARIABLE, "wire_api": "responses"}
        info = await it.create(OPENAI, model="stand-in", provider_config=config, environment={KEY_VARIABLE: KEY})
        assert (await it.send(info.id, script({"text": "From the first."})))[-1].content == "From the first."
        await it.restart(info.id, **{**config, "base_url": second.base_url, "wire_api": "chat"})
        assert (await it.send(info.id, script({"text": "From the second."})))[-1].content == "From the second."
        assert (len(first.requests), len(second.requests)) == (1, 1)
        assert "From the first." in json.dumps(second.requests[0].body), "what was said before went with it"
        await it.stop(info.id)
