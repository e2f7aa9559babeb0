"""A run whose daemon sends events at unusual moments."""

from collections.abc import AsyncIterator
from io import StringIO
from pathlib import Path

import anyio
import pytest

from betcode.cli.run.headless import HeadlessTurn, OutputFormat
from betcode.cli.run.on_ask import ask_policy
from betcode.cli.terminal.console import Screen
from betcode.client import open_client
from betcode.v1 import agent_pb2 as v1
from support.daemon.scripted_service import Context, ScriptedService, scripted
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio


class AnsweredMeanwhile(ScriptedService):
    """Nothing waits any more, and that is not told before somebody looks."""

    def __init__(self) -> None:
        super().__init__()
        self._looked = anyio.Event()

    async def list_pending(self, request: v1.ListPendingRequest, context: Context) -> v1.ListPendingResponse:
        self._looked.set()
        return await super().list_pending(request, context)

    async def follow(self, _: v1.FollowRequest, context: Context) -> AsyncIterator[v1.AgentEventBatch]:
        self._note(context)
        request = v1.PermissionRequest(request_id="r-1", tool_name="Bash", input_json='{"command": "make"}')
        yield v1.AgentEventBatch(events=[v1.AgentEvent(sequence=8, permission_request=request)])
        await self._looked.wait()
        resolved = v1.PermissionResolved(request_id="r-1", resolution="answered", decision=v1.ALLOW_ONCE)
        answered = [self.submitted[0].request.message.idempotency_key]
        ended = v1.TurnComplete(stop_reason="end_turn", message_ids=answered)
        rest = [
            v1.AgentEvent(sequence=9, permission_resolved=resolved),
            v1.AgentEvent(sequence=10, turn_complete=ended),
        ]
        yield v1.AgentEventBatch(events=rest)


async def test_a_prompt_answered_at_the_deadline_is_not_parked(tmp_path: Path) -> None:
    out, err = StringIO(), StringIO()
    async with scripted(tmp_path, AnsweredMeanwhile()) as paths, open_client(paths) as client:
        screen = Screen(out, err, colour=False)
        turn = HeadlessTurn(client, "s", screen, output=OutputFormat.TEXT, policy=ask_policy("wait=1ms"), is_new=True)
        with anyio.fail_after(PATIENCE_S):
            assert await turn.run("go") == 0
    assert "Waiting for an answer" in err.getvalue()
    assert "Parked" not in err.getvalue()
