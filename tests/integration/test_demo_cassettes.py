"""Recordings of the real CLI, played by the demo agent to a host that answers as the recorded one did."""

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from betcode.holder.journal import Journal
from support.processes.stdio_agent import Frame, StdioAgent, spawn_agent

RECORDINGS = Path(__file__).parents[1] / "contract" / "wire" / "claude"

# What speaks of the recorded host's own requests is not played.
UNPLAYED = {"command_lifecycle", "control_response", "control_cancel_request"}


def rows_of(name: str) -> list[dict[str, Any]]:
    lines = (RECORDINGS / f"{name}.ndjson").read_text("utf-8").splitlines()
    return [row for row in map(json.loads, lines) if row["dir"] in ("in", "out", "exit")]


def shape(frame: Frame) -> tuple[str, str]:
    event = frame.get("event") or {}
    return str(frame["type"]), str(frame.get("subtype") or event.get("type") or "")


def played_shapes(rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    frames = [json.loads(row["line"]) for row in rows if row["dir"] == "out"]
    return [shape(frame) for frame in frames if frame["type"] not in UNPLAYED and not frame.get("isReplay")]


@contextmanager
def player(cassette: Path, cwd: Path) -> Iterator[StdioAgent]:
    argv = [sys.executable, "-I", "-m", "betcode.agents.demo", "--speed=0", f"--cassette={cassette}"]
    with spawn_agent(argv, env=os.environ, cwd=cwd) as agent:
        yield agent


def converse(agent: StdioAgent, rows: list[dict[str, Any]]) -> list[Frame]:
    """Everything said by the agent to a host that says the recorded messages and gives the recorded answers."""
    inputs = [json.loads(row["line"]) for row in rows if row["dir"] == "in"]
    answers = [frame["response"]["response"] for frame in inputs if frame["type"] == "control_response"]
    heard: list[Frame] = []
    for message in [frame for frame in inputs if frame["type"] == "user"]:
        agent.send({**message, "uuid": ""})
        while True:
            heard += agent.until(lambda frame: frame["type"] in ("result", "control_request"))
            if heard[-1]["type"] == "result":
                break
            response = {"subtype": "success", "request_id": heard[-1]["request_id"], "response": answers.pop(0)}
            agent.send({"type": "control_response", "response": response})
    agent.close_input()
    return heard + agent.rest()


@pytest.mark.parametrize(
    "name",
    [
        "a_text",
        "a_text_no_partial",
        "a_text_session_id_replay",
        "b_bash_allow",
        "b_edit_allow",
        "b_two_parallel",
        "c_bash_deny",
        "d_ask_answers",
        "e_readonly_bash",
        "i_resume_clean.1",
        "j_529_exhausted",
        "k_subagent",
        "k_subagent_background",
        "l_tasks",
        "m_plan_allow",
        "s_compact.1",
        "t_thinking",
    ],
)
def test_a_recording_is_played_frame_by_frame(name: str, tmp_path: Path) -> None:
    rows = rows_of(name)
    with player(RECORDINGS / f"{name}.ndjson", tmp_path) as agent:
        heard = converse(agent, rows)
    assert [shape(frame) for frame in heard if frame["type"] not in UNPLAYED] == played_shapes(rows)


def test_a_recording_is_played_again_under_new_ids(tmp_path: Path) -> None:
    with player(RECORDINGS / "b_bash_allow.ndjson", tmp_path) as agent:
        requests = []
        for _ in range(2):
            agent.say("go")
            requests.append(agent.until("control_request")[-1])
            agent.answer(requests[-1], allow=True)
            agent.until("result")
    assert requests[0]["request_id"] != requests[1]["request_id"]
    assert requests[0]["request"]["tool_use_id"] != requests[1]["request"]["tool_use_id"]
    assert requests[0]["request"]["input"] == requests[1]["request"]["input"]


def test_another_answer_than_the_recorded_one_ends_the_turn_decently(tmp_path: Path) -> None:
    with player(RECORDINGS / "b_bash_allow.ndjson", tmp_path) as agent:
        agent.say("go")
        request = agent.until("control_request")[-1]
        agent.answer(request, allow=False)
        rest = agent.until("result")
    results = [frame for frame in rest if frame["type"] == "user"]
    assert [block["is_error"] for frame in results for block in frame["message"]["content"]] == [True]
    assert rest[-1]["subtype"] == "success"


def test_a_recorded_death_is_played_too(tmp_path: Path) -> None:
    with player(RECORDINGS / "h_kill9_tool.1.ndjson", tmp_path) as agent:
        agent.say("go")
        heard = agent.rest()
        assert agent.wait() == -signal.SIGKILL
    assert "result" not in [frame["type"] for frame in heard]


def test_a_journal_is_a_cassette(tmp_path: Path) -> None:
    rows = rows_of("b_bash_allow")
    directory = tmp_path / "run"
    directory.mkdir()
    journal = Journal(str(directory))
    for row in rows:
        journal.record(row["dir"].encode(), row["line"].encode())
    journal.close()
    with player(directory, tmp_path) as agent:
        heard = converse(agent, rows)
    assert [shape(frame) for frame in heard if frame["type"] not in UNPLAYED] == played_shapes(rows)
