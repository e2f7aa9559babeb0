"""Recordings without secrets, paths and addresses; split over pieces or not."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from betcode.domain.runs.cassette import ADDRESSES, PATHS, SECRETS, CassetteRow, Scrubbed, described, scrub

TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bD1fG3hJ5"
ME = {"home": "/home/alice", "project": "/home/alice/work/shop"}


def scrubbed(*lines: str, direction: str = "out") -> Scrubbed:
    return scrub([CassetteRow(float(at), direction, line) for at, line in enumerate(lines)], **ME)


def delta(text: str, kind: str = "text_delta", name: str = "text", index: int = 0) -> str:
    event = {"type": "content_block_delta", "index": index, "delta": {"type": kind, name: text}}
    return json.dumps({"type": "stream_event", "event": event, "parent_tool_use_id": None})


def of_subagent(line: str) -> str:
    return json.dumps({**json.loads(line), "parent_tool_use_id": "task-1"})


def edge(kind: str, index: int = 0) -> str:
    return json.dumps({"type": "stream_event", "event": {"type": kind, "index": index}, "parent_tool_use_id": None})


@pytest.mark.parametrize(
    ("text", "clean", "what"),
    [
        (f"push with {TOKEN} now", "push with [redacted:github-token] now", SECRETS),
        ("cat /home/alice/notes.txt", "cat /home/user/notes.txt", PATHS),
        ("in /home/alice/work/shop/src", "in /home/user/project/src", PATHS),
        ("~/.claude/projects/-home-alice-work-shop/x.jsonl", "~/.claude/projects/-home-user-project/x.jsonl", PATHS),
        ("ask alice.b+c@corp.example.org", "ask user@example.com", ADDRESSES),
        ("git@github.com:me/it.git /home/alicia /home/alice2", None, ""),
        ("nothing to see", None, ""),
    ],
)
@pytest.mark.parametrize("as_json", [True, False])
def test_what_should_not_leave_the_machine_is_replaced(text: str, clean: str | None, what: str, as_json: bool) -> None:
    line = json.dumps({"type": "user", "message": {"content": text}}) if as_json else text
    found = scrubbed(line)
    (row,) = found.rows
    said = json.loads(row.line)["message"]["content"] if as_json else row.line
    assert said == (text if clean is None else clean)
    assert {name for name, count in found.replaced.items() if count} == ({what} if what else set())
    if clean is None:
        assert row.line == line, "untouched to the byte"


def test_values_behind_telling_names_are_replaced() -> None:
    (row,) = scrubbed('{"env":{"DB_PASSWORD":"hunter2hunter2","LEVEL":"3"}}').rows
    assert "hunter2" not in row.line
    assert json.loads(row.line)["env"]["LEVEL"] == "3"


@given(st.lists(st.integers(min_value=1, max_value=len(TOKEN) + 20), max_size=6))
def test_a_secret_that_is_spread_over_pieces_is_found(cuts: list[int]) -> None:
    text = f"here it is: {TOKEN} ok"
    places = sorted({0, *(cut for cut in cuts if cut < len(text)), len(text)})
    pieces = [text[one:other] for one, other in pairwise(places)]
    found = scrubbed(edge("content_block_start"), *map(delta, pieces), edge("content_block_stop"))
    events = [json.loads(row.line)["event"] for row in found.rows]
    said = "".join(event["delta"]["text"] for event in events if event["type"] == "content_block_delta")
    assert said == "here it is: [redacted:github-token] ok"
    assert len(found.rows) == len(pieces) + 2


@pytest.mark.parametrize(("kind", "name"), [("text_delta", "text"), ("thinking_delta", "thinking")])
@pytest.mark.parametrize("ends", [True, False])
def test_a_secret_in_pieces_is_found_in_every_kind_of_block(kind: str, name: str, ends: bool) -> None:
    """Also in one that was cut short."""
    pieces = [delta(text, kind, name) for text in (TOKEN[:9], TOKEN[9:])]
    end = [edge("content_block_stop")] if ends else []
    found = scrubbed(edge("content_block_start"), *pieces, *end)
    said = [json.loads(row.line)["event"].get("delta", {}).get(name, "") for row in found.rows]
    assert "".join(said) == "[redacted:github-token]"


def test_pieces_of_two_agents_are_not_put_together() -> None:
    one, other = (delta(text) for text in (TOKEN[:9], TOKEN[9:]))
    between = of_subagent(delta("between"))
    found = scrubbed(edge("content_block_start"), one, between, other, edge("content_block_stop"))
    assert [json.loads(row.line)["event"].get("delta", {}).get("text") for row in found.rows] == [
        None,
        "[redacted:github-token]",
        "between",
        "",
        None,
    ]


def test_names_in_an_object_are_scrubbed_too() -> None:
    (row,) = scrubbed('{"files":{"/home/alice/notes.txt":1}}').rows
    assert json.loads(row.line) == {"files": {"/home/user/notes.txt": 1}}


def test_the_input_of_a_tool_that_is_streamed_stays_json() -> None:
    whole = json.dumps({"command": f"curl -H 'Authorization: Bearer {TOKEN}' /home/alice"})
    pieces = [delta(whole[at : at + 7], "input_json_delta", "partial_json", 1) for at in range(0, len(whole), 7)]
    other = delta("between", index=0)
    found = scrubbed(edge("content_block_start", 1), *pieces[:3], other, *pieces[3:], edge("content_block_stop", 1))
    deltas = [json.loads(row.line)["event"].get("delta", {}) for row in found.rows]
    command = json.loads("".join(each.get("partial_json", "") for each in deltas))["command"]
    assert TOKEN not in command
    assert "/home/user" in command
    assert [each["text"] for each in deltas if "text" in each] == ["between"]


def test_a_home_that_is_the_root_is_left_alone() -> None:
    row = CassetteRow(0.0, "err", "/ /etc /srv/it")
    assert scrub([row], home="/", project="/srv/it").rows[0].line == "/ /etc /home/user/project"


@given(st.text(max_size=300))
def test_no_line_breaks_it(text: str) -> None:
    for line in (text, json.dumps({"a": text}), delta(text)):
        (row,) = scrubbed(line).rows
        json.loads(row.as_json())


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"type":"user","message":{"role":"user","content":"hello"},"uuid":"u"}', "out user: hello"),
        (
            '{"type":"assistant","message":{"content":[{"type":"text","text":"a"},{"name":"Bash","input":{"command":"ls"}}]}}',
            "out assistant: a Bash ls",
        ),
        ('{"type":"system","subtype":"init","cwd":"/home/user/project"}', "out system: /home/user/project"),
        ('{"type":"keep_alive"}', "out keep_alive: -"),
        (delta("a piece"), ""),
        ("no JSON", "out no JSON"),
    ],
)
def test_a_preview_shows_what_is_said(line: str, words: str) -> None:
    assert described(CassetteRow(0.0, "out", line)) == words
