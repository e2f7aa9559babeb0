"""Prompts that no sane agent makes: many at once, the same id again, lines without end. Each gets one answer."""

import json
import uuid
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc import aio

from betcode.client import Client, NewConversation, open_client
from betcode.v1 import agent_pb2 as v1
from support.daemon.clock import eventually
from support.daemon.process import Daemon, agent_program, running_daemon
from support.daemon.session import Talk, is_idle
from support.rules.files import decisions

pytestmark = pytest.mark.anyio
Frame = dict[str, Any]


def asks(command: str, request_id: str = "") -> Frame:
    request = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": command}}
    request |= {"tool_use_id": f"toolu_{uuid.uuid4().hex}"}
    return {"type": "control_request", "request_id": request_id or str(uuid.uuid4()), "request": request}


def withdraws(request_id: str) -> Frame:
    return {"type": "control_cancel_request", "request_id": request_id}


async def a_talk(daemon: Daemon, client: Client) -> Talk:
    new = NewConversation(str(daemon.work), provider="claude", environment=daemon.environment)
    return Talk(client, await client.start_session(new))


async def has_written(talk: Talk, daemon: Daemon, *frames: Frame) -> None:
    (daemon.work / "frames.json").write_text(json.dumps(frames))
    await talk.say("frames.json")


def heard(daemon: Daemon) -> list[Frame]:
    path = daemon.work / "heard.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


async def test_hundreds_at_once_are_all_answered(tmp_path: Path) -> None:
    settings = {"permissions": {"allow": ["Bash(git status)"]}, "agents": {"frame_limit": "64KiB"}}
    program = agent_program(tmp_path, "writer.py")
    async with (
        running_daemon(tmp_path, settings=settings, claude_bin=program) as daemon,
        open_client(daemon.paths) as client,
    ):
        talk = await a_talk(daemon, client)
        by_rule = [asks("git status") for _ in range(200)]
        by_people = [asks("make") for _ in range(100)]
        taken_back = [asks("make clean") for _ in range(100)]
        back = [withdraws(each["request_id"]) for each in taken_back]
        too_long = asks("x" * 100_000)
        again = [asks("ls", "r-1"), withdraws("r-1"), asks("rm -rf /", "r-1")]
        frames = [*by_rule, *by_people, *taken_back, too_long, *again, *back]
        await has_written(talk, daemon, *frames, {"heard": 302})

        async def pending() -> set[str]:
            return {one.request_id for one in await client.pending(talk.session_id)}

        wanted = {each["request_id"] for each in by_people}
        await eventually(pending, lambda now: now == wanted and len(heard(daemon)) == 202)
        for request_id in wanted:
            await client.answer_permission(request_id, v1.DENY)
        await talk.until(is_idle)
        assert await pending() == set()
        told = {each["request_id"]: each.get("error") or each["response"]["behavior"] for each in heard(daemon)}
        assert len(told) == len(heard(daemon)) == 302
        assert {told[each["request_id"]] for each in by_rule} == {"allow"}
        assert {told[each] for each in wanted} == {"deny"}
        assert "over the size limit" in told[too_long["request_id"]]
        assert "used before" in told["r-1"]
        assert sum(each.outcome == "withdrawn" for each in decisions(daemon)) == 101


async def test_more_than_one_message_can_hold_is_listed_page_by_page(tmp_path: Path) -> None:
    program = agent_program(tmp_path, "writer.py")
    async with (
        running_daemon(tmp_path, claude_bin=program) as daemon,
        open_client(daemon.paths) as client,
        daemon.agent_service() as plain,  # which takes 4 MiB at once
    ):
        talk = await a_talk(daemon, client)
        asked = [asks("x" * 200_000) for _ in range(25)]
        await has_written(talk, daemon, *asked, {"heard": 25})
        wanted = [each["request_id"] for each in asked]

        async def listed() -> list[str]:
            return [one.request_id for one in await client.pending()]

        await eventually(listed, lambda now: now == wanted)
        first = await plain.ListPending(v1.ListPendingRequest())
        assert 0 < len(first.prompts) < 25
        await client.answer_permission(first.prompts[-1].request_id, v1.DENY)
        rest: list[str] = []
        token = first.next_page_token
        while token:
            page = await plain.ListPending(v1.ListPendingRequest(page_token=token))
            rest += [one.request_id for one in page.prompts]
            token = page.next_page_token
        assert rest == wanted[len(first.prompts) :], "nothing is left out where the last one was answered meanwhile"
        with pytest.raises(aio.AioRpcError) as error:
            await plain.ListPending(v1.ListPendingRequest(page_token="invented"))
        assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT
