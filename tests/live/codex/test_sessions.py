"""The real Codex from npm, through daemon, holder, log and client, against a stand-in for its model."""

import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from betcode.domain.runs.journal_record import RecordKind
from support.apis.openai.server import script
from support.daemon.session import assert_whole, is_idle, kinds, settled_text, states_of, streamed_text
from support.patience import PATIENCE_S
from support.plugins.requirements import program
from support.providers.codex import KEY, CodexWorld, codex_environment, codex_world

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[CodexWorld]:
    """One daemon for all: each test has a session and a directory of its own."""
    async with codex_world(tmp_path_factory.mktemp("codex")) as world:
        yield world


PATCH = "*** Begin Patch\n*** Add File: note.txt\n+made by the agent\n*** End Patch"
TWO_FILES = "*** Begin Patch\n*** Add File: one.txt\n+1\n*** Add File: two.txt\n+2\n*** End Patch"


async def test_a_text_turn_streams_settles_and_ends(world: CodexWorld, tmp_path: Path) -> None:
    talk = await world.session(tmp_path)
    accepted = await talk.say("Hello " + script({"think": "**Greet**", "text": "Hello from the stand-in."}))
    events = await talk.until(is_idle)
    assert streamed_text(events) == settled_text(events) == "Hello from the stand-in."
    assert [name for name in kinds(events) if name in ("usage", "turn_complete")] == ["usage", "turn_complete"]
    turn = next(event.turn_complete for event in events if event.HasField("turn_complete"))
    assert (turn.stop_reason, list(turn.message_ids)) == ("end_turn", [accepted.message_id])
    assert states_of(events, accepted.message_id)[-1] == "CONSUMED"
    assert_whole(talk.events)
    # A second message is a turn of its own in the same conversation.
    events = await talk.turn("And more " + script({"text": "More."}))
    assert settled_text(events) == "More."
    assert len(world.runs(tmp_path)) == 1


async def test_commands_and_patches_run_once_allowed_and_not_when_denied(world: CodexWorld, tmp_path: Path) -> None:
    steps = (
        {"tools": [{"cmd": "echo made > made.txt"}]},
        {"tools": [{"cmd": "echo denied > denied.txt"}]},
        {"tools": [{"patch": PATCH}]},
        {"tools": [{"patch": TWO_FILES}]},
        {"text": "Done."},
    )
    talk = await world.session(tmp_path)
    await talk.say("Work " + script(*steps))
    request = await talk.asked()
    assert request.tool_name == "Bash"
    assert json.loads(request.input_json)["command"] == "echo made > made.txt"
    assert not (tmp_path / "made.txt").exists()
    await talk.answer(request, allow=True)

    request = await talk.asked()
    assert json.loads(request.input_json)["command"] == "echo denied > denied.txt"
    await talk.answer(request, allow=False)

    request = await talk.asked()
    assert request.tool_name == "Write"
    assert json.loads(request.input_json) == {
        "file_path": str(tmp_path / "note.txt"),
        "content": "made by the agent\n",
    }
    await talk.answer(request, allow=True)

    request = await talk.asked()
    assert request.tool_name == "Edit"
    assert [Path(each["file_path"]).name for each in json.loads(request.input_json)["changes"]] == [
        "one.txt",
        "two.txt",
    ]
    await talk.answer(request, allow=False)
    await talk.until(is_idle)
    assert settled_text(talk.events) == "Done."
    made = {name: (tmp_path / name).exists() for name in ("made.txt", "denied.txt", "note.txt", "one.txt")}
    assert made == {"made.txt": True, "denied.txt": False, "note.txt": True, "one.txt": False}
    results = [event.tool_call_result for event in talk.events if event.HasField("tool_call_result")]
    assert [(each.is_error, each.denied_by) for each in results] == [
        (False, ""),
        (True, "answer"),
        (False, ""),
        (True, "answer"),
    ]


async def test_what_a_person_says_with_a_denial_reaches_the_model_in_the_same_turn(
    world: CodexWorld, tmp_path: Path
) -> None:
    talk = await world.session(tmp_path)
    await talk.say("Work " + script({"tools": [{"cmd": "touch one.txt"}]}, {"text": "Not heard."}))
    request = await talk.asked()
    await talk.answer(request, allow=False, message="Better not. " + script({"text": "Heard."}))
    events = await talk.until(is_idle)
    assert settled_text(events) == "Heard."
    assert not (tmp_path / "one.txt").exists()
    assert kinds(events).count("turn_complete") == 1


async def test_rules_answer_in_the_place_of_people(world: CodexWorld, tmp_path: Path) -> None:
    steps = ({"tools": [{"cmd": "echo by rule"}]}, {"tools": [{"patch": PATCH}]}, {"text": "Done."})
    talk = await world.session(tmp_path, allowed_tools=("Bash(echo *)", "Edit(note.txt)"))
    await talk.turn("Work " + script(*steps))
    assert "permission_request" not in kinds(talk.events)
    assert (tmp_path / "note.txt").read_text() == "made by the agent\n"


async def test_keys_do_not_reach_the_commands_and_what_the_session_needs_does(
    world: CodexWorld, tmp_path: Path
) -> None:
    shown = "env; cat /proc/self/environ | tr '\\0' '\\n'; ls -l /proc/self/fd"
    talk = await world.session(
        tmp_path, allowed_tools=("Bash",), OBEY_CAMPAIGN_ID="camp-1", SOME_API_KEY="abcdef", LANG="C.UTF-8"
    )
    await talk.turn("Look " + script({"tools": [{"cmd": shown}]}, {"text": "Seen."}))
    results = [event.tool_call_result.output for event in talk.events if event.HasField("tool_call_result")]
    assert "OBEY_CAMPAIGN_ID=camp-1" in results[0]
    assert "LANG=C.UTF-8" in results[0]
    assert KEY not in results[0]
    assert "SOME_API_KEY" not in results[0]
    assert world.requests(tmp_path)[0].headers["authorization"] == f"Bearer {KEY}"
    # Stdin of the agent is one end of a socket pair, and none of the holder's descriptors reach a tool.
    agent = world.runs(tmp_path)[0].agent_pid
    assert Path(f"/proc/{agent}/fd/0").readlink().name.startswith("socket:")
    listed = [line for line in results[0].splitlines() if " -> " in line]
    assert listed
    assert not [line for line in listed if "socket:" in line or str(world.daemon.paths.runs) in line]


async def test_a_question_in_plan_mode_is_answered_and_the_plan_is_shown(world: CodexWorld, tmp_path: Path) -> None:
    question = {
        "id": "branch",
        "header": "Branch",
        "question": "Which branch?",
        "options": [{"label": "main", "description": "the main one"}, {"label": "dev", "description": "the other"}],
    }
    steps = (
        {"tools": [{"name": "request_user_input", "args": {"questions": [question]}}]},
        {"text": "<proposed_plan>\n1. Look\n</proposed_plan>"},
    )
    talk = await world.session(tmp_path, plan_mode=True)
    await talk.say("Ask me " + script(*steps))
    asked = (await talk.until("user_question"))[-1].user_question
    assert (asked.question, [option.label for option in asked.options]) == ("Which branch?", ["main", "dev"])
    await world.client.answer_question(asked.question_id, {"Which branch?": "dev"})
    await talk.until(is_idle)
    assert "dev" in json.dumps(world.requests(tmp_path)[-1].body["input"][-1])
    plans = [event.plan_mode.plan for event in talk.events if event.plan_mode.plan]
    assert plans == ["1. Look\n"]
    # Leaving plan mode is a message of its own.
    events = await talk.turn("/implement " + script({"text": "Implemented."}))
    assert [event.plan_mode.active for event in events if event.HasField("plan_mode")] == [False]


async def test_an_error_of_the_api_ends_the_turn_with_advice_and_the_next_one_works(
    world: CodexWorld, tmp_path: Path
) -> None:
    talk = await world.session(tmp_path)
    events = await talk.turn("Fail " + script({"http": 401}))
    error = next(event.error for event in events if event.HasField("error"))
    assert error.details["api_error_status"] == "401"
    assert "codex login" in error.details["advice"]
    turn = next(event.turn_complete for event in events if event.HasField("turn_complete"))
    assert turn.stop_reason == "error"
    assert settled_text(await talk.turn("Again " + script({"text": "Better."}))) == "Better."


async def test_what_was_said_to_codex_is_one_greeting_and_one_line_a_turn(world: CodexWorld, tmp_path: Path) -> None:
    talk = await world.session(tmp_path, config={"sandbox": "read-only", "effort": "high"})
    await talk.turn("Hello " + script({"text": "Hello."}))
    said = [line for record in world.runs(tmp_path)[0].lines(RecordKind.IN) for line in record.splitlines()]
    assert [json.loads(line)["method"] for line in said] == [
        "initialize",
        "initialized",
        "thread/start",
        "model/list",
        "turn/start",
    ]
    params = json.loads(said[2])["params"]
    assert (params["sandbox"], params["approvalPolicy"]) == ("read-only", "untrusted")
    assert world.requests(tmp_path)[0].body["reasoning"]["effort"] == "high"
    infos = [event.session_info for event in talk.events if event.HasField("session_info")]
    assert infos[-1].model == "gpt-5.5"
    assert "gpt-5.5" in infos[-1].models  # those that this Codex knows


async def test_commands_run_in_a_sandbox_that_bubblewrap_makes(world: CodexWorld, tmp_path: Path) -> None:
    program("bubblewrap")
    steps = ({"tools": [{"cmd": "touch written.txt; readlink /proc/self/ns/mnt"}]}, {"text": "Done."})
    talk = await world.session(tmp_path, allowed_tools=("Bash",), config={"sandbox": "read-only"})
    await talk.turn("Work " + script(*steps))
    (result,) = [event.tool_call_result for event in talk.events if event.HasField("tool_call_result")]
    assert "mnt:[" in result.output
    assert str(Path("/proc/self/ns/mnt").readlink()) not in result.output
    assert not (tmp_path / "written.txt").exists()


async def test_the_command_line_sends_the_key_that_codex_is_configured_with(world: CodexWorld, tmp_path: Path) -> None:
    paths = world.daemon.paths
    command = [sys.executable, "-m", "betcode", "run", "--state-dir", str(paths.state_dir)]
    command += ["--config-dir", str(paths.config_dir), "--socket", str(paths.socket), "--provider", "codex"]
    with anyio.fail_after(PATIENCE_S):
        done = await anyio.run_process(
            [*command, "Hello " + script({"text": "Hello, command line."})], env=world.environment, cwd=tmp_path
        )
    assert "Hello, command line." in done.stdout.decode()
    assert world.requests(tmp_path)[0].headers["authorization"] == f"Bearer {KEY}"


_SERVER = """
import json, sys
for line in sys.stdin:
    said = json.loads(line)
    if "id" not in said:
        continue
    answers = {
        "initialize": {"capabilities": {"tools": {}}, "serverInfo": {"name": "lab", "version": "1"}},
        "tools/list": {"tools": [{"name": "weigh", "description": "weighs", "inputSchema": {"type": "object"}}]},
        "tools/call": {"content": [{"type": "text", "text": "three kilograms"}]},
    }
    result = answers.get(said["method"], {})
    if said["method"] == "initialize":
        result["protocolVersion"] = said["params"]["protocolVersion"]
    print(json.dumps({"jsonrpc": "2.0", "id": said["id"], "result": result}), flush=True)
"""


async def test_a_tool_of_an_mcp_server_is_asked_about(world: CodexWorld, tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(_SERVER)
    home = tmp_path / "home"
    codex_environment(home, world.api.base_url)
    with (home / ".codex" / "config.toml").open("a") as config:
        command = f"command = {json.dumps(sys.executable)}\nargs = [{json.dumps(str(tmp_path / 'server.py'))}]\n"
        config.write(f"[mcp_servers.lab]\n{command}")
    talk = await world.session(tmp_path, HOME=str(home))
    call = {"name": "weigh", "namespace": "mcp__lab", "args": {"what": "apples"}}
    await talk.turn("Hello " + script({"text": "Hello."}))
    await talk.say("Weigh " + script({"tools": [call]}, {"text": "Weighed."}))
    request = await talk.asked()
    assert (request.tool_name, json.loads(request.input_json)) == ("mcp__lab__weigh", {"what": "apples"})
    await talk.answer(request, allow=True)
    await talk.until(is_idle)
    results = [event.tool_call_result.output for event in talk.events if event.HasField("tool_call_result")]
    assert results == ["three kilograms"]
