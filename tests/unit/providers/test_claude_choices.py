"""A model that was chosen by a command is passed to the next process."""

import msgspec
import pytest

from betcode.providers.claude import choices
from betcode.providers.claude.state import State, carried_over, dump, load
from betcode.wire.frames import Assistant
from support.recordings.dialogue import INIT, fresh, say


def answered(command: str, args: str, text: str) -> State:
    frame = {
        "type": "assistant",
        "message": {"content": [{"type": "text", "text": text}]},
        "local_command_run": {"command": command, "args": args},
    }
    state = State()
    choices.note(msgspec.json.decode(msgspec.json.encode(frame), type=Assistant), state)
    return state


@pytest.mark.parametrize(
    ("command", "args", "text", "chosen"),
    [
        ("model", "haiku", "Set model to `Haiku 5.5` for this session only", {"model": "haiku"}),
        ("effort", " high ", "Set effort level to high (this session only)", {"effort": "high"}),
        ("model", "", "Current model: `opus`", {}),
        ("model", "opus", "Your plan has no such model", {}),
        ("model", "x" * 500, "Set model to x", {}),
        ("cost", "haiku", "Set model to", {}),
    ],
)
def test_a_confirmed_choice_is_remembered(command: str, args: str, text: str, chosen: dict[str, str]) -> None:
    assert answered(command, args, text).chosen == chosen


def test_the_dialogue_reads_a_choice_from_the_agents_answer() -> None:
    frame = {
        "type": "assistant",
        "message": {"id": "m", "content": [{"type": "text", "text": "Set model to `Haiku 5.5`"}]},
        "local_command_run": {"command": "model", "args": "haiku"},
    }
    dialogue = fresh()
    say(dialogue, INIT)
    say(dialogue, {**frame, "parent_tool_use_id": "task-1"})
    assert dialogue.view.chosen == {}, "a subagent chooses nothing"
    say(dialogue, frame)
    assert dialogue.view.chosen == {"model": "haiku"}


def test_a_choice_is_carried_to_the_next_process() -> None:
    state = answered("model", "haiku", "Set model to `Haiku 5.5`")
    assert load(dump(carried_over(state)), 1).chosen == {"model": "haiku"}


@pytest.mark.parametrize(
    ("chosen", "session_model", "flags"),
    [
        ({}, "", []),
        ({}, "sonnet", ["--model=sonnet"]),
        ({"model": "haiku"}, "sonnet", ["--model=haiku"]),
        ({"model": "default"}, "sonnet", []),
        ({"model": "haiku", "effort": "high"}, "", ["--model=haiku", "--effort=high"]),
        ({"effort": "auto"}, "", []),
    ],
)
def test_a_choice_overrides_what_the_session_was_made_with(
    chosen: dict[str, str], session_model: str, flags: list[str]
) -> None:
    assert list(choices.flags(chosen, session_model)) == flags
