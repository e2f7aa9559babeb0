"""What agents say that is too large, too deep, broken or absurd: the turn still ends, and nothing is met twice."""

import hashlib
import json
import random
from pathlib import Path
from typing import Any

import anyio
import pytest
from grpc import aio

from betcode.client import Client, open_client
from betcode.v1 import agent_pb2 as v1
from betcode.v1.agent_pb2_grpc import AgentServiceStub
from support.daemon.process import Daemon, obedient_daemon
from support.daemon.session import assert_whole, is_idle, settled_text
from support.patience import PATIENCE_S
from support.providers.claude_world import obedient_talk

BIG_BYTES = 20 * 1024 * 1024
EVENT_LIMIT_BYTES = 256 * 1024

pytestmark = pytest.mark.anyio


def a_tool_call(given: Any, tool: str = "toolu_big") -> bytes:
    block = {"type": "tool_use", "id": tool, "name": "Write", "input": given}
    message = {"id": f"msg_{tool}", "role": "assistant", "model": "m", "content": [block]}
    return json.dumps({"type": "assistant", "message": message, "parent_tool_use_id": None}).encode() + b"\n"


def a_tool_result(text: str, tool: str = "toolu_big") -> bytes:
    result = {"type": "tool_result", "tool_use_id": tool, "content": text, "is_error": False}
    message = {"role": "user", "content": [result]}
    return json.dumps({"type": "user", "message": message, "parent_tool_use_id": None}).encode() + b"\n"


async def followed_by_a_plain_client(daemon: Daemon, session: str) -> list[v1.AgentEvent]:
    """What a gRPC client with default options, which cannot receive 4 MB at once, gets of a finished turn."""
    got: list[v1.AgentEvent] = []
    async with aio.insecure_channel(f"unix:{daemon.paths.socket}") as channel:
        with anyio.fail_after(PATIENCE_S):
            async for event in AgentServiceStub(channel).ResumeSession(v1.ResumeSessionRequest(session_id=session)):
                got.append(event)
                if is_idle(event):
                    break
    return got


async def whole_blob(client: Client, session: str, sha256: str) -> bytes:
    return b"".join([piece async for piece in client.read_blob(session, sha256)])


async def test_a_tool_input_and_a_result_of_20_mb_are_cut_for_display_and_whole_as_blobs(
    daemon: Daemon, client: Client
) -> None:
    talk = await obedient_talk(daemon, client)
    text = "line of a large file\n" * (BIG_BYTES // 21)
    given = {"file_path": "/x", "content": text}
    (daemon.work / "big").write_bytes(a_tool_call(given) + a_tool_result(text))
    await talk.say("play big\nsay afterwards")
    events = await followed_by_a_plain_client(daemon, talk.session_id)
    assert settled_text(events).endswith("afterwards")
    assert max(event.ByteSize() for event in events) <= EVENT_LIMIT_BYTES
    (start,) = [event for event in events if event.HasField("tool_call_start")]
    (result,) = [event for event in events if event.HasField("tool_call_result")]
    cut_input = next(cut for cut in start.cuts if cut.field == "tool_call_start.input_json")
    assert json.loads(await whole_blob(client, talk.session_id, cut_input.sha256)) == given
    (cut_output,) = result.cuts
    assert cut_output.field == "tool_call_result.output"
    assert cut_output.size_bytes == len(text)
    assert await whole_blob(client, talk.session_id, cut_output.sha256) == text.encode()
    assert hashlib.sha256(text.encode()).hexdigest() == cut_output.sha256
    assert str(cut_output.size_bytes) in result.tool_call_result.output, "the cut says how long the whole is"


async def test_a_tool_input_nested_200_deep_is_shown_cut_and_kept_whole(daemon: Daemon, client: Client) -> None:
    talk = await obedient_talk(daemon, client)
    given: Any = "the bottom"
    for _ in range(200):
        given = {"deeper": given}
    (daemon.work / "deep").write_bytes(a_tool_call(given) + a_tool_result("done"))
    await talk.say("play deep\nsay afterwards")
    events = await followed_by_a_plain_client(daemon, talk.session_id)
    (start,) = [event.tool_call_start for event in events if event.HasField("tool_call_start")]
    assert json.loads(start.input_json) == given
    assert settled_text(events).endswith("afterwards")


ODD_LINES = [
    b'{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"lone \\ud83d surrogate"}]}}',
    b'{"type":"tool_progress","tool_use_id":"x","elapsed_time_seconds":-5}',
    b'{"type":"result","duration_ms":-7,"usage":{"input_tokens":-3,"output_tokens":99999999999999999999},"subtype":"success"}',
    b'{"type":"assistant","message":{"id":7,"content":"not blocks"}}',
    b'{"type":"assistant"}',
    b'{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":null}]}}',
    b'{"type":"stream_event","event":{"type":"content_block_delta","index":-1,"delta":null}}',
    b'{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":7,"input":[1,2]}}',
    b'{"type":"control_request","request_id":"r2","request":{"subtype":"something_new"}}',
    b'{"type":"system","subtype":"init","tools":"many","model":{}}',
    b'{"type":"something_new","and":[1,2,3]}',
    b"null",
    b"[]",
    b"{",
    b"\xff\xfe\x00broken",
    b'{"type":"result","total_cost_usd":NaN}',
    b"[" * 5000,
]


async def test_absurd_lines_never_end_the_conversation_and_a_restart_does_not_trip_over_them(
    daemon: Daemon, client: Client
) -> None:
    talk = await obedient_talk(daemon, client)
    (daemon.work / "odd").write_bytes(b"\n".join(ODD_LINES) + b"\n")
    await talk.say("play odd\nwait more")
    await talk.until(lambda event: event.text_delta.text == "waiting")
    await daemon.restart()
    (daemon.work / "more").touch()
    second = await talk.say("say still here")
    await talk.until(lambda event: second.message_id in event.turn_complete.message_ids)
    assert "still here" in settled_text(talk.events)
    assert_whole(talk.events)
    assert any(event.notice.kind == v1.NOTICE_KIND_MALFORMED for event in talk.events), "what was passed over is said"


def fuzzed_lines(seed: int, amount: int) -> bytes:
    """Valid frames with bytes changed, dropped and repeated, and plain noise between them."""
    random_source = random.Random(seed)
    frames = [*ODD_LINES, a_tool_call({"a": [1, {"b": None}]}), a_tool_result("x")]
    lines: list[bytes] = []
    for _ in range(amount):
        line = bytearray(random_source.choice(frames))
        for _ in range(random_source.randrange(4)):
            place = random_source.randrange(len(line) + 1)
            line[place : place + random_source.randrange(3)] = random_source.randbytes(random_source.randrange(4))
        lines.append(bytes(line).replace(b"\n", b""))
    return b"\n".join(lines) + b"\n"


async def test_fuzzed_bytes_on_an_agents_stdout_leave_the_daemon_and_the_session_usable(
    daemon: Daemon, client: Client
) -> None:
    (daemon.work / "noise").write_bytes(fuzzed_lines(1, 3000))
    for _ in range(3):
        talk = await obedient_talk(daemon, client)
        await talk.say("play noise\nsay through")
        await talk.until(lambda event: event.text_delta.is_complete and "through" in event.text_delta.text)
        assert_whole(talk.events)
    assert (await client.health()).overall_status == 1
    fresh = await obedient_talk(daemon, client)
    assert "fine" in settled_text(await fresh.turn("say fine"))


async def test_a_line_longer_than_the_limit_is_passed_over_and_said(tmp_path: Path) -> None:
    async with (
        obedient_daemon(tmp_path, settings={"agents": {"frame_limit": "1MB"}}) as daemon,
        open_client(daemon.paths) as client,
    ):
        talk = await obedient_talk(daemon, client)
        (daemon.work / "long").write_bytes(a_tool_result("x" * 3_000_000))
        events = await talk.turn("play long\nsay afterwards")
        assert settled_text(events).endswith("afterwards")
        assert any(event.notice.kind == v1.NOTICE_KIND_MALFORMED for event in events)


@pytest.mark.parametrize("cost", ["1e999", "-1e999", "NaN", "1e308", "-5"])
async def test_a_cost_that_cannot_be_is_not_added_up_and_stops_nothing(
    daemon: Daemon, client: Client, cost: str
) -> None:
    talk = await obedient_talk(daemon, client)
    result = (
        '{"type":"result","subtype":"success","is_error":false,"result":"","duration_ms":1e999,"total_cost_usd":%s}'
    )
    (daemon.work / "absurd").write_text((result % cost + "\n") * 3)
    await talk.say("play absurd")
    await talk.until(lambda event: is_idle(event) and settled_text(talk.events) == "played")
    assert_whole(talk.events)
    assert 0.0 <= (await talk.summary_when(lambda summary: summary.status == "idle")).total_cost_usd < 1.0
    assert "refused" not in daemon.log
