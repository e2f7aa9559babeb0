"""The demo agent as a program on pipes."""

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from demo_cassettes import conversations

from betcode.agents.demo.repertoire import COMMANDS, NAMES, UNKNOWN, choose, other_paths_of, path_of
from support.patience import PATIENCE_S
from support.processes.stdio_agent import Frame, StdioAgent, spawn_agent

SESSION = "0f0e0d0c-0b0a-4908-8706-050403020100"


@contextmanager
def demo(cwd: Path, *flags: str) -> Iterator[StdioAgent]:
    argv = [sys.executable, "-I", "-m", "betcode.agents.demo", f"--session-id={SESSION}", *flags]
    with spawn_agent(argv, env=os.environ, cwd=cwd) as agent:
        yield agent


def text_of(frames: list[Frame]) -> str:
    """The settled text of all messages."""
    blocks = [frame["message"]["content"][0] for frame in frames if frame["type"] == "assistant"]
    return "".join(block["text"] for block in blocks if block["type"] == "text")


def streamed_text(frames: list[Frame]) -> str:
    deltas = [frame["event"].get("delta", {}) for frame in frames if frame["type"] == "stream_event"]
    return "".join(delta["text"] for delta in deltas if delta.get("type") == "text_delta")


def results(frames: list[Frame]) -> list[dict[str, Any]]:
    return [
        block
        for frame in frames
        if frame["type"] == "user"
        for block in frame["message"]["content"]
        if block["type"] == "tool_result"
    ]


def finished(frame: Frame) -> bool:
    return frame["type"] == "command_lifecycle" and frame["state"] in ("completed", "cancelled")


def test_a_greeting_is_streamed_and_its_result_names_the_message(tmp_path: Path) -> None:
    with demo(tmp_path, "--speed=0") as agent:
        message = agent.say("Say hello")
        frames = agent.until(finished)
    assert streamed_text(frames) == text_of(frames)
    assert "demo agent" in text_of(frames)
    result = next(frame for frame in frames if frame["type"] == "result")
    assert result["user_message_uuids"] == [message]
    assert {frame["session_id"] for frame in frames} == {SESSION}
    states = [frame["state"] for frame in frames if frame["type"] == "command_lifecycle"]
    assert states == ["queued", "started", "completed"]
    init = next(frame for frame in frames if frame.get("subtype") == "init")
    assert init["cwd"] == str(tmp_path)


def test_a_second_turn_in_the_same_process_has_ids_of_its_own(tmp_path: Path) -> None:
    def ids(frames: list[Frame]) -> set[str]:
        return {frame["uuid"] for frame in frames} | {
            frame["message"]["id"] for frame in frames if frame["type"] == "assistant"
        }

    with demo(tmp_path, "--speed=0") as agent:
        agent.say("hello")
        first = agent.until(finished)
        agent.say("hello")
        second = agent.until(finished)
    assert text_of(first) == text_of(second)
    assert not ids(first) & ids(second)


def test_an_allowed_tool_is_pretended_and_says_so(tmp_path: Path) -> None:
    with demo(tmp_path, "--speed=0") as agent:
        agent.say("show me a tool that needs a permission")
        asked = agent.until("control_request")
        assert asked[-1]["request"]["tool_name"] == "Bash"
        agent.answer(asked[-1], allow=True)
        rest = agent.until(finished)
    assert [result["is_error"] for result in results(rest)] == [False]
    assert "pretended" in results(rest)[0]["content"]
    assert "allowed" in text_of(rest)
    assert list(tmp_path.iterdir()) == []


def test_a_denied_tool_is_not_even_pretended(tmp_path: Path) -> None:
    with demo(tmp_path, "--speed=0") as agent:
        agent.say("permission please")
        asked = agent.until("control_request")
        agent.answer(asked[-1], allow=False)
        rest = agent.until(finished)
    assert [result["is_error"] for result in results(rest)] == [True]
    assert results(rest)[0]["tool_use_id"] == asked[-1]["request"]["tool_use_id"]
    assert "denied" in text_of(rest)


def test_an_allowed_tool_name_is_not_asked_for(tmp_path: Path) -> None:
    with demo(tmp_path, "--speed=0", "--allowed-tools=Read,Bash") as agent:
        agent.say("permission please")
        frames = agent.until(finished)
    assert not [frame for frame in frames if frame["type"] == "control_request"]
    assert [result["is_error"] for result in results(frames)] == [False]


def test_the_answer_to_a_question_comes_back_in_the_tool_result(tmp_path: Path) -> None:
    with demo(tmp_path, "--speed=0") as agent:
        agent.say("ask me a question")
        request = agent.until("control_request")[-1]
        question = request["request"]["input"]["questions"][0]["question"]
        chosen = {**request["request"]["input"], "answers": {question: "A tour"}}
        agent.answer(request, allow=True, updatedInput=chosen)
        rest = agent.until(finished)
    assert f'"{question}"="A tour"' in results(rest)[0]["content"]


def test_an_interrupt_ends_the_turn_and_leaves_the_process(tmp_path: Path) -> None:
    with demo(tmp_path, "--speed=8") as agent:
        agent.say("something long")
        before = agent.until(lambda frame: "text_delta" in json.dumps(frame))
        agent.interrupt()
        rest = agent.until(finished)
        assert text_of(rest) == streamed_text(before + rest)
        assert next(frame for frame in rest if frame["type"] == "assistant")["aborted"]
        result = next(frame for frame in rest if frame["type"] == "result")
        assert (result["subtype"], result["terminal_reason"]) == ("error_during_execution", "aborted_streaming")
        assert rest[-1]["state"] == "cancelled"
        agent.say("hello")
        agent.until("result")


def test_an_interrupt_withdraws_an_open_request(tmp_path: Path) -> None:
    with demo(tmp_path, "--speed=0") as agent:
        agent.say("permission")
        request = agent.until("control_request")[-1]
        agent.interrupt()
        rest = agent.until(finished)
    withdrawn = [frame["request_id"] for frame in rest if frame["type"] == "control_cancel_request"]
    assert withdrawn == [request["request_id"]]
    assert [result["is_error"] for result in results(rest)] == [True]
    assert next(frame for frame in rest if frame["type"] == "result")["terminal_reason"] == "aborted_tools"


def test_messages_sent_during_a_turn_become_one_turn(tmp_path: Path) -> None:
    with demo(tmp_path, "--speed=0") as agent:
        agent.say("permission")
        request = agent.until("control_request")[-1]
        later = [agent.say("hello"), agent.say("what is this")]
        agent.until(lambda frame: frame.get("state") == "queued" and frame["command_uuid"] == later[-1])
        agent.answer(request, allow=False)
        first, second = (agent.until("result")[-1] for _ in range(2))
    assert first["queued_turn_count"] == 2
    assert second["user_message_uuids"] == later


def test_cancelling_the_queue_with_an_interrupt_runs_nothing_of_it(tmp_path: Path) -> None:
    with demo(tmp_path, "--speed=0") as agent:
        agent.say("permission")
        agent.until("control_request")
        later = agent.say("hello")
        agent.interrupt(cancel_queued=True)
        agent.close_input()
        rest = agent.rest()
    reply = next(frame for frame in rest if frame["type"] == "control_response")
    assert reply["response"]["response"] == {"still_queued": [], "cancelled": [later]}
    assert len([frame for frame in rest if frame["type"] == "result"]) == 1


def test_a_message_sent_twice_is_run_once(tmp_path: Path) -> None:
    with demo(tmp_path, "--speed=0") as agent:
        message = agent.say("hello")
        agent.until(finished)
        agent.say("hello", message)
        agent.close_input()
        assert agent.rest() == []
        assert agent.wait() == 0


def test_closing_stdin_denies_the_open_request_and_ends_the_turn(tmp_path: Path) -> None:
    with demo(tmp_path, "--speed=0") as agent:
        agent.say("permission")
        agent.until("control_request")
        agent.close_input()
        rest = agent.rest()
        assert agent.wait() == 0
    assert [result["is_error"] for result in results(rest)] == [True]
    assert len([frame for frame in rest if frame["type"] == "result"]) == 1


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 0)])
def test_signals_end_it_with_the_codes_of_the_real_cli(tmp_path: Path, number: signal.Signals, code: int) -> None:
    with demo(tmp_path) as agent:
        agent.say("something long")
        agent.until("stream_event")
        os.kill(agent.pid, number)
        rest = agent.rest()
        assert agent.wait() == code
    assert bool([frame for frame in rest if frame["type"] == "result"]) == (number is signal.SIGINT)


def test_a_line_that_is_no_json_ends_it(tmp_path: Path) -> None:
    with demo(tmp_path) as agent:
        assert agent._process.stdin is not None
        agent._process.stdin.write(b"not json\n")
        agent._process.stdin.flush()
        assert agent.wait() == 1


def test_real_time_is_kept(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in path_of("permission").read_text().splitlines()]
    slow = tmp_path / "slow.jsonl"  # nobody would wait for it, were it not played faster
    slow.write_text("".join(json.dumps(row | {"t": row["t"] * 1000}) + "\n" for row in rows))
    recorded = next(row["t"] for row in rows if "can_use_tool" in row["line"])
    recorded -= next(row["t"] for row in rows if "message_start" in row["line"])
    with demo(tmp_path, "--speed=4000", f"--cassette={slow}") as agent:
        began = time.monotonic()
        agent.say("permission")
        agent.until("control_request")
        assert time.monotonic() - began > recorded / 4
    assert recorded * 1000 > 2 * PATIENCE_S


def test_a_flood_numbers_and_times_every_delta(tmp_path: Path) -> None:
    with demo(tmp_path, "--flood=450", "--bytes=64") as agent:
        agent.say("go")
        frames = agent.until("result")
    deltas = [
        frame["event"]["delta"]["text"]
        for frame in frames
        if frame["type"] == "stream_event" and frame["event"]["type"] == "content_block_delta"
    ]
    assert [int(text.split()[0]) for text in deltas] == list(range(450))
    stamps = [int(text.split()[1]) for text in deltas]
    assert stamps == sorted(stamps)
    assert {len(text) for text in deltas} == {64}
    assert text_of(frames) == "".join(deltas)


def test_a_flood_is_no_quicker_than_its_rate(tmp_path: Path) -> None:
    with demo(tmp_path, "--flood=200", "--rate=400") as agent:
        began = time.monotonic_ns()
        agent.say("go")
        frames = agent.until("result")
    stamps = [
        int(frame["event"]["delta"]["text"].split()[1])
        for frame in frames
        if frame["type"] == "stream_event" and frame["event"]["type"] == "content_block_delta"
    ]
    assert all((stamp - began) / 1e9 >= number / 400 for number, stamp in enumerate(stamps))


@pytest.mark.parametrize("name", NAMES)
def test_the_shipped_cassettes_are_what_the_script_writes(name: str) -> None:
    tapes = conversations()
    own = {each for each in tapes if each.split(".")[0] == name}
    assert own == {path.stem for path in (path_of(name), *other_paths_of(name))}
    for each in own:
        shipped = [json.loads(line) for line in path_of(each).read_text("utf-8").splitlines()]
        assert shipped == tapes[each].rows


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("Say hello!", "hello"),
        ("Hello, show me a tool call", "permission"),
        ("What is this?", "what"),
        ("give me a tour", "tour"),
        ("/tour", "tour"),
        ("reconnect", "reconnect"),
        ("ask me a question", "question"),
        ("fix the parser", "unknown"),
        ("", "unknown"),
    ],
)
def test_key_words_choose_the_conversation(message: str, name: str) -> None:
    assert choose(message) == name


def test_the_commands_that_are_offered_are_known() -> None:
    assert UNKNOWN not in {choose(f"/{command}") for command in COMMANDS}


@pytest.mark.parametrize(
    ("answers", "heard", "unheard"),
    [
        ((True, True), ("4 passed", "Noted."), "You said no"),
        ((False, True), ("You said no", "Noted."), "4 passed"),
        ((True, False), ("4 passed", "No answer"), "You said no"),
        ((False, False), ("You said no", "No answer"), "4 passed"),
    ],
)
def test_the_tour_goes_on_whatever_is_answered(
    tmp_path: Path, answers: tuple[bool, bool], heard: tuple[str, str], unheard: str
) -> None:
    with demo(tmp_path, "--speed=0") as agent:
        agent.say("tour")
        frames: list[Frame] = []
        for tool, allow in zip(("Edit", "AskUserQuestion"), answers, strict=True):
            frames += agent.until("control_request")
            assert frames[-1]["request"]["tool_name"] == tool
            agent.answer(frames[-1], allow=allow)
        frames += agent.until(finished)
        agent.say("tour")  # and again, from its beginning
        frames_again = agent.until("control_request")
    said = json.dumps(frames)
    assert all(words in said for words in heard)
    assert unheard not in said
    assert "That was the tour" in text_of(frames)
    calls = [
        block["id"]
        for frame in frames
        if frame["type"] == "assistant"
        for block in frame["message"]["content"]
        if block["type"] == "tool_use"
    ]
    assert sorted(calls) == sorted(result["tool_use_id"] for result in results(frames))
    assert frames_again[-1]["request"]["tool_name"] == "Edit"
    assert list(tmp_path.iterdir()) == []
