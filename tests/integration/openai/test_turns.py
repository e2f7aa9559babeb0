"""Turns of our agent for OpenAI-compatible APIs, on both wires, against a stand-in for the API."""

import json
import re
from pathlib import Path
from typing import Any

import anyio
import pytest
from acp import RequestError

from betcode.wire.acp import extensions
from support.apis.openai.program import ALLOW, KEY, REJECT, Conversation, Watcher, conversation
from support.apis.openai.server import openai_api, script
from support.apis.openai.sessions import WIRES
from support.daemon.runs import gone
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio
both_wires = pytest.mark.parametrize("wire", WIRES)


def outputs(body: Any) -> list[str]:
    """What a request gives back to the model for its calls."""
    items = body.get("messages") or body["input"]
    found = [item.get("output") if "output" in item else item.get("content") for item in items if _is_output(item)]
    return [str(each) for each in found]


def _is_output(item: dict[str, Any]) -> bool:
    return item.get("role") == "tool" or item.get("type") == "function_call_output"


async def failed(talk: Conversation, *steps: Any, message_id: str = "m1") -> dict[str, Any]:
    """The trouble that a turn ends with."""
    with pytest.raises(RequestError) as error:
        await talk.prompt(script(*steps), message_id)
    data: Any = error.value.data
    return dict(data[extensions.KEY])


async def until_written(path: Path) -> None:
    with anyio.fail_after(PATIENCE_S):
        while not (path.exists() and path.read_text()):  # noqa: ASYNC110 - a file rings no bell
            await anyio.sleep(0.01)


@both_wires
async def test_a_turn_of_every_tool(tmp_path: Path, wire: str) -> None:
    with openai_api() as api:
        async with conversation(tmp_path, api, wire) as talk:
            (talk.project / "a.txt").write_text("one\ntwo\n")
            steps: list[Any] = [
                {"think": "Let me see.", "text": "I look first.", "tools": [{"cmd": "echo $THE_KEY-"}]},
                {
                    "tools": [
                        {"name": "read", "args": {"path": "a.txt"}},
                        {"name": "edit", "args": {"path": "a.txt", "old_string": "two", "new_string": "2"}},
                        {"name": "write", "args": {"path": "b/c.txt", "content": "new\n"}},
                        {"name": "grep", "args": {"pattern": "n.w"}},
                        {"name": "glob", "args": {"pattern": "*.txt"}},
                        {"name": "nothing", "args": {}},
                        {"name": "read", "raw": "{not JSON"},
                    ]
                },
                {"text": "All done."},
            ]
            assert await talk.prompt(script(*steps)) == "end_turn"
            watcher, project = talk.watcher, talk.project
    assert watcher.text == "I look first.All done."
    assert "".join(each["content"]["text"] for each in watcher.of("agent_thought_chunk")) == "Let me see."
    assert (project / "a.txt").read_text() == "one\n2\n"
    assert (project / "b/c.txt").read_text() == "new\n"
    expected = [
        ("completed", "-\n"),
        ("completed", "1\tone\n2\ttwo"),
        ("completed", f"Edited: {project}/a.txt"),
        ("completed", f"Written: {project}/b/c.txt"),
        ("completed", f"{project}/b/c.txt:1:new"),
        ("completed", f"{project}/a.txt\n{project}/b/c.txt"),
        ("failed", "Unknown tool 'nothing': use one of read, glob, grep, edit, write, shell"),
    ]
    assert watcher.results[:-1] == expected
    assert watcher.results[-1][1].startswith("The arguments are not JSON")
    assert [each["_meta"][extensions.KEY]["toolName"] for each in watcher.asked] == ["Bash", "Edit", "Write"]
    # Every call has an output in the next request, whatever came of it.
    assert outputs(api.requests[-1].body) == [text for _, text in watcher.results]
    diffs = [part for each in watcher.of("tool_call_update") for part in each.get("content", ()) if "newText" in part]
    assert [(part.get("oldText"), part["newText"]) for part in diffs] == [("one\ntwo\n", "one\n2\n"), (None, "new\n")]
    used = [(news["inputTokens"], news["cachedReadTokens"]) for news in watcher.news_of(extensions.USAGE)]
    assert used == [(800, 200), (810, 200), (820, 200)]
    assert {request.headers["authorization"] for request in api.requests} == {f"Bearer {KEY}"}


@both_wires
async def test_denied_calls_have_outputs_and_the_turn_continues(tmp_path: Path, wire: str) -> None:
    def answer(asked: dict[str, Any]) -> dict[str, Any]:
        if asked["rawInput"]["command"] == "touch no":
            return {**REJECT, "_meta": {extensions.KEY: {"message": "Not in this tree"}}}
        changed = {"command": "echo changed > yes"}
        return {**ALLOW, "_meta": {extensions.KEY: {"input": changed}}}

    with openai_api() as api:
        async with conversation(tmp_path, api, wire, Watcher(answer)) as talk:
            steps: list[Any] = [{"tools": [{"cmd": "touch no"}, {"cmd": "echo same > yes"}]}, {"text": "I see."}]
            assert await talk.prompt(script(*steps)) == "end_turn"
    assert not (talk.project / "no").exists()
    assert (talk.project / "yes").read_text() == "changed\n"
    assert outputs(api.requests[-1].body)[0] == "The user did not allow this. They said: Not in this tree"
    assert talk.watcher.text == "I see."


async def test_reading_outside_is_asked_and_reading_inside_is_not(tmp_path: Path) -> None:
    (tmp_path / "outside.txt").write_text("secret")
    calls = [{"name": "read", "args": {"path": "../outside.txt"}}, {"name": "read", "args": {"path": "."}}]
    with openai_api() as api:
        async with conversation(tmp_path, api, watcher=Watcher(lambda _: REJECT)) as talk:
            await talk.prompt(script({"tools": calls}, {"text": "Fine."}))
    assert [each["rawInput"] for each in talk.watcher.asked] == [{"file_path": str(talk.root / "outside.txt")}]
    assert "secret" not in json.dumps([request.body for request in api.requests])


async def test_an_image_is_shown_to_the_model_on_either_wire(tmp_path: Path) -> None:
    with openai_api() as api:
        for wire in WIRES:
            root = tmp_path / wire
            root.mkdir()
            async with conversation(root, api, wire) as talk:
                await talk.prompt("Look " + script({"text": "A dot."}), image=b"\x89PNG")
    parts = [request.body["input"][-1]["content"][-1] for request in api.requests[:1]]
    parts += [request.body["messages"][-1]["content"][-1] for request in api.requests[1:]]
    assert [part["type"] for part in parts] == ["input_image", "image_url"]
    assert [json.dumps(part).count("data:image/png;base64,iVBORw==") for part in parts] == [1, 1]


# ---------------------------------------------------------------- cancelling


@both_wires
async def test_a_cancel_closes_the_stream_and_stores_the_partial_text(tmp_path: Path, wire: str) -> None:
    with openai_api() as api:
        async with conversation(tmp_path, api, wire) as talk, anyio.create_task_group() as tasks:
            ends: list[str] = []

            async def turn() -> None:
                ends.append(await talk.prompt(script({"text": "Half of it", "hang": True}, {"text": "x"})))

            tasks.start_soon(turn)
            await talk.watcher.until(lambda watcher: watcher.text == "Half of it")
            await talk.cancel()
            assert await anyio.to_thread.run_sync(api.requests[0].hung_up.wait, PATIENCE_S)
        assert ends == ["cancelled"]
        async with conversation(tmp_path, api, wire) as talk:
            await talk.resume()
            assert await talk.prompt("And now " + script({"text": "Going on."}), "m2") == "end_turn"
    body = api.requests[-1].body
    said = [item["content"] for item in body.get("messages") or body["input"] if item.get("role") == "assistant"]
    assert said == ["Half of it"]


async def test_a_cancel_ends_the_command_and_a_question(tmp_path: Path) -> None:
    waiting = Watcher(lambda asked: None if "never" in asked["rawInput"]["command"] else ALLOW)
    with openai_api() as api:
        async with conversation(tmp_path, api, watcher=waiting) as talk:
            for number, command in enumerate(["echo $$ > pid; sleep 600", "touch never"]):
                async with anyio.create_task_group() as tasks:
                    steps = script({"tools": [{"cmd": command}, {"cmd": "touch later"}]}, {"text": "x"})
                    tasks.start_soon(talk.prompt, steps, f"m{number}")
                    if number == 0:
                        await waiting.until(lambda watcher: "in_progress" in str(watcher.updates))
                        await until_written(talk.project / "pid")
                    else:
                        await waiting.until(lambda watcher: "never" in str(watcher.asked))
                    await talk.cancel()
            await gone(int((talk.project / "pid").read_text()))
            assert [status for status, _ in waiting.results] == ["failed"] * 4
            assert await talk.prompt(script({"text": "Still here."}), "m9") == "end_turn"
    assert not (talk.project / "never").exists()
    assert not (talk.project / "later").exists()
    assert len(outputs(api.requests[-1].body)) == 4


# ---------------------------------------------------------------- what goes wrong


@both_wires
@pytest.mark.parametrize(
    ("step", "kind", "said"),
    [
        ({"http": 400}, "error", "400: scripted 400"),
        ({"http": 401, "message": f"Wrong key {KEY}"}, "auth", "401: Wrong key \\*\\*\\*"),
        ({"http": 404}, "error", "404"),
        ({"text": "One two three four", "cut": True}, "error", "is incomplete"),
        ({"text": "One two three four", "cut": "broken"}, "error", "cannot be reached"),
        ({"text": "a", "failed": "server_error"}, "error", "failed: scripted server_error"),
        ({"http": 429, "code": "insufficient_quota"}, "rate_limit", "429"),
        ({"http": 400, "code": "context_length_exceeded"}, "context", "400"),
    ],
)
async def test_an_api_that_fails_ends_the_turn_with_a_sentence_and_not_the_conversation(
    tmp_path: Path, wire: str, step: dict[str, Any], kind: str, said: str
) -> None:
    with openai_api() as api:
        async with conversation(tmp_path, api, wire) as talk:
            trouble = await failed(talk, step)
            assert trouble["kind"] == kind
            assert len(api.requests) == 1
            assert await talk.prompt(script({"text": "Better."}), "m2") == "end_turn"
    assert re.search(said, trouble["message"]), trouble


async def test_temporary_errors_are_retried_and_reported(tmp_path: Path) -> None:
    with openai_api() as api:
        async with conversation(tmp_path, api) as talk:
            assert await talk.prompt(script({"http": 429, "times": 2, "text": "Now."})) == "end_turn"
    assert [news["kind"] for news in talk.watcher.news_of(extensions.PAUSE)] == ["limit", "limit", ""]
    assert talk.watcher.text == "Now."
    assert len(api.requests) == 3


@both_wires
async def test_an_answer_cut_by_length_is_marked(tmp_path: Path, wire: str) -> None:
    with openai_api() as api:
        async with conversation(tmp_path, api, wire) as talk:
            steps = script({"text": "Cut", "tools": [{"cmd": "touch x"}], "incomplete": "max_output_tokens"})
            assert await talk.prompt(steps) == "max_tokens"
            assert await talk.prompt(script({"text": "ok"}), "m2") == "end_turn"
    assert not (talk.project / "x").exists()


async def test_a_turn_has_an_end_however_much_the_model_wants(tmp_path: Path) -> None:
    step = {"tools": [{"name": "read", "args": {"path": "."}}]}
    with openai_api() as api:
        async with conversation(tmp_path, api, max_steps=3) as talk:
            assert await talk.prompt(script(*[step] * 9)) == "max_turn_requests"
    assert len(api.requests) == 3


@both_wires
async def test_a_conversation_that_is_too_long_continues_without_its_oldest_part(tmp_path: Path, wire: str) -> None:
    with openai_api() as api:
        async with conversation(tmp_path, api, wire) as talk:
            await talk.prompt("The first " + "x" * 4000 + script({"text": "ok"}), "m1")
            too_long = {"http": 400, "code": "context_length_exceeded", "times": 1, "text": "Fits now."}
            assert await talk.prompt("The second " + script(too_long), "m2") == "end_turn"
            assert "The first" not in json.dumps(api.requests[-1].body)
            assert len(talk.watcher.news_of(extensions.COMPACTION)) == 1
            assert len(talk.watcher.news_of(extensions.NOTICE)) == 1
        async with conversation(tmp_path, api, wire) as talk:  # and another process knows of it
            await talk.resume()
            await talk.prompt("The third " + script({"text": "ok"}), "m3")
    assert "The first" not in json.dumps(api.requests[-1].body)
    assert "The second" in json.dumps(api.requests[-1].body)


async def test_a_conversation_is_shortened_before_a_known_limit(tmp_path: Path) -> None:
    with openai_api() as api:
        async with conversation(tmp_path, api, context_tokens=2000) as talk:
            for number in range(6):
                steps = script({"text": "ok", "usage": False})
                assert await talk.prompt(f"Number {number} " + "x" * 1500 + steps, f"m{number}") == "end_turn"
    assert all(len(json.dumps(request.body["input"])) < 6000 for request in api.requests)
    assert talk.watcher.news_of(extensions.COMPACTION)


async def test_a_server_that_is_not_there_is_named(tmp_path: Path) -> None:
    async with conversation(tmp_path, "http://127.0.0.1:9/v1", waits_s=(0.0,)) as talk:
        trouble = await failed(talk, {"text": "x"})
    assert "http://127.0.0.1:9/v1 cannot be reached" in trouble["message"]
