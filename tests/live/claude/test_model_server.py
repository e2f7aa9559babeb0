"""The real CLI against the stand-in for the model, on plain pipes: what all other live tests rest on."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.apis.messages.script import Failure, Scripts, bash, say
from support.apis.messages.server import ModelApi, model_api
from support.processes.stdio_agent import StdioAgent, spawn_agent
from support.providers.claude import CLAUDE, claude_environment, needs_claude

pytestmark = needs_claude

FLAGS = (
    *("-p", "--output-format", "stream-json", "--input-format", "stream-json"),
    *("--permission-prompt-tool", "stdio", "--include-partial-messages", "--verbose"),
)


@contextmanager
def claude(tmp_path: Path, scripts: Scripts) -> Iterator[tuple[StdioAgent, ModelApi]]:
    work = tmp_path / "work"
    work.mkdir()
    with (
        model_api(scripts) as api,
        spawn_agent([str(CLAUDE), *FLAGS], env=claude_environment(tmp_path / "home", api.url), cwd=work) as agent,
    ):
        yield agent, api


def test_the_cli_says_what_the_script_says(tmp_path: Path) -> None:
    with claude(tmp_path, {"hello": [say("Hello from the script.")]}) as (agent, api):
        message = agent.say("[[fake:hello]] hello")
        result = agent.until("result")[-1]
        assert result["result"] == "Hello from the script."
        assert result["user_message_uuids"] == [message]
        assert api.calls("hello") == [0]


def test_the_next_step_answers_a_tool_result(tmp_path: Path) -> None:
    with claude(tmp_path, {"touch": [bash("touch made.txt"), say("Done.")]}) as (agent, api):
        agent.say("[[fake:touch]] make it")
        agent.answer(agent.until("control_request")[-1], allow=True)
        assert agent.until("result")[-1]["result"] == "Done."
        assert (tmp_path / "work" / "made.txt").exists()
        assert api.calls("touch") == [0, 1]


def test_a_scripted_failure_passes(tmp_path: Path) -> None:
    busy = Failure(529, "overloaded_error", "Overloaded", times=1, then=say("Better now."))
    with claude(tmp_path, {"busy": [busy]}) as (agent, api):
        agent.say("[[fake:busy]] hello")
        frames = agent.until("result")
        assert [frame["error_status"] for frame in frames if frame.get("subtype") == "api_retry"] == [529]
        assert frames[-1]["result"] == "Better now."
        assert api.calls("busy") == [0, 0]


def test_a_dropped_stream_is_tried_again(tmp_path: Path) -> None:
    with claude(tmp_path, {"cut": [say("This will not be heard to its end.", drop_after_chunks=2)]}) as (agent, api):
        agent.say("[[fake:cut]] hello")
        result = agent.until("result")[-1]
        assert result["result"] == "This will not be heard to its end."  # without streaming, in the end
        assert len(api.calls("cut")) >= 2
