"""The note about a silent agent."""

from io import StringIO

import anyio
import pytest

from betcode.cli.run.silence_note import SilenceNote
from betcode.cli.terminal.console import Screen
from betcode.v1 import agent_pb2 as v1

pytestmark = pytest.mark.anyio


async def written(*events: v1.AgentEvent) -> str:
    err = StringIO()
    note = SilenceNote(Screen(StringIO(), err, colour=False), after_s=0.05)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(note.watch)
        for event in events:
            note.see(event)
    return err.getvalue()


async def test_silence_is_reported_once() -> None:
    started = v1.AgentEvent(status_change=v1.StatusChange(status=v1.THINKING))
    assert await written(started) == "No answer from the agent yet (0.05 s); waiting\n"


@pytest.mark.parametrize(
    "event",
    [
        v1.AgentEvent(text_delta=v1.TextDelta(text="hello")),
        v1.AgentEvent(tool_call_start=v1.ToolCallStart(tool_name="Bash")),
        v1.AgentEvent(error=v1.ErrorEvent(code="RATE_LIMITED")),
    ],
    ids=["text", "tool", "error"],
)
async def test_an_agent_that_answers_is_not_called_silent(event: v1.AgentEvent) -> None:
    assert await written(event) == ""
