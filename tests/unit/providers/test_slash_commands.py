"""Slash commands: names with every turn, what they do with a greeting, told once and never too much."""

import json
from typing import Any

import pytest

from betcode.domain.ports import Dialogue
from betcode.domain.runs.journal_record import Record, RecordKind
from betcode.domain.store.rows import NewSession
from betcode.domain.values.identifiers import SessionId
from betcode.providers.claude.provider import ClaudeProvider
from betcode.providers.claude.slash_commands import greeting
from betcode.v1 import agent_pb2 as v1

CONVERSATION = "5b1d6f0e-0000-4000-8000-000000000001"
PROVIDER = ClaudeProvider()
NEW = NewSession(SessionId(CONVERSATION), "claude", "/")
DESCRIBED = [
    {"name": "review", "description": "Look at\nwhat changed", "argumentHint": "<pr>"},
    {"name": "tour", "description": "Show everything", "argumentHint": ""},
]


def said(dialogue: Dialogue, frame: dict[str, Any]) -> list[v1.SessionInfo]:
    """What SessionInfo says because of this line of the agent."""
    line = json.dumps(frame).encode()
    events = dialogue.receive(Record(RecordKind.OUT, 0, 1, 1, line, offset=1, end=2))
    return [event.session_info for event in events if event.HasField("session_info")]


def init(*names: object) -> dict[str, Any]:
    return {"type": "system", "subtype": "init", "model": "m", "tools": ["Bash"], "slash_commands": list(names)}


def reply(commands: object) -> dict[str, Any]:
    response = {"subtype": "success", "request_id": "r", "response": {"commands": commands}}
    return {"type": "control_response", "response": response}


def names(info: v1.SessionInfo) -> list[str]:
    return [command.name for command in info.commands]


@pytest.fixture
def dialogue() -> Dialogue:
    return PROVIDER.dialogue(NEW, CONVERSATION)


def test_names_are_told_and_those_that_no_person_types_are_not(dialogue: Dialogue) -> None:
    [info] = said(dialogue, init("review", "__internal", "with space", "", "x" * 200, "bell\7", "mcp__git__log"))
    assert names(info) == ["review", "mcp__git__log"]


def test_what_they_do_is_told_as_soon_as_the_agent_says_it(dialogue: Dialogue) -> None:
    [info] = said(dialogue, reply(DESCRIBED))
    assert [(each.name, each.description, each.argument_hint) for each in info.commands] == [
        ("review", "Look at what changed", "<pr>"),
        ("tour", "Show everything", ""),
    ]
    [begun] = said(dialogue, init("review", "tour"))
    assert (list(begun.tools), names(begun)) == (["Bash"], [])


def test_names_that_come_later_do_not_take_the_descriptions_along(dialogue: Dialogue) -> None:
    said(dialogue, reply(DESCRIBED))
    [info] = said(dialogue, init("review", "tour", "mcp__git__log"))
    assert [bool(command.description) for command in info.commands] == [True, True, False]


def test_they_are_told_again_only_where_something_is_new(dialogue: Dialogue) -> None:
    assert len(said(dialogue, init("review"))) == 1
    assert said(dialogue, init("review")) == []
    assert len(said(dialogue, reply(DESCRIBED))) == 1
    assert said(dialogue, reply(DESCRIBED)) == []
    assert said(dialogue, init("review", "tour")) == []
    assert [names(info) for info in said(dialogue, init("tour"))] == [["tour"]]


@pytest.mark.parametrize("how", ["the same process", "another one"])
def test_a_restart_of_the_daemon_takes_nothing_back(dialogue: Dialogue, how: str) -> None:
    said(dialogue, reply(DESCRIBED))
    said(dialogue, init("review", "tour"))
    state = dialogue.state()
    if how == "another one":
        state = PROVIDER.carry_over(state, PROVIDER.dialogue_version)
    later = PROVIDER.dialogue(NEW, CONVERSATION, state, version=PROVIDER.dialogue_version)
    assert said(later, reply(DESCRIBED)) == []
    assert said(later, init("review", "tour")) == []


@pytest.mark.parametrize("odd", [None, {"a": 1}, ["names"], [[1]], [{"name": 5}], "text"])
def test_what_cannot_be_read_is_passed_over(dialogue: Dialogue, odd: object) -> None:
    assert said(dialogue, reply(odd)) == []
    [info] = said(dialogue, init("review") | {"slash_commands": odd if odd != ["names"] else [3]})
    assert (list(info.tools), names(info)) == (["Bash"], [])


def test_however_many_there_are_the_event_stays_small(dialogue: Dialogue) -> None:
    many = [{"name": f"command{number}", "description": "word " * 100} for number in range(5_000)]
    [info] = said(dialogue, reply(many))
    assert not said(dialogue, init(*(f"command{number}" for number in range(5_000))))[0].commands
    assert 100 < len(info.commands) <= 500
    assert max(len(command.description) for command in info.commands) == 300
    assert info.ByteSize() < 64 * 1024
    assert len(dialogue.state()) < 1_000  # it is stored with every batch


def test_a_greeting_is_no_order_to_show_every_call(dialogue: Dialogue) -> None:
    dialogue.receive(Record(RecordKind.IN, 1, 1, 1, greeting("g").strip(), offset=1, end=2))
    assert dialogue.view.call_screening.value == "no"
