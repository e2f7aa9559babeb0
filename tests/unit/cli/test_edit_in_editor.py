"""Editing a tool's input in an editor."""

import io
import json
import sys
from pathlib import Path

import pytest

from betcode.cli.permission.input_editor import edited_in_editor
from betcode.cli.terminal.console import Screen
from betcode.v1 import agent_pb2 as v1
from betcode.wording.edited_input import InvalidEdit

BASH = v1.PermissionRequest(tool_name="Bash", input_json='{"command": "ls", "timeout": 12345678901234567890}')
pytestmark = pytest.mark.anyio


def editor(tmp_path: Path, code: str) -> str:
    program = tmp_path / "an editor.py"
    program.write_text(f"import sys, pathlib\nfile = pathlib.Path(sys.argv[-1])\n{code}\n")
    return f"{sys.executable} '{program}' --wait"


@pytest.fixture
def screen() -> Screen:
    return Screen(io.StringIO(), io.StringIO(), colour=False)


async def test_the_editor_gets_the_input_and_its_result_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, screen: Screen
) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", editor(tmp_path, "file.write_text(file.read_text().replace('ls', 'pwd'))"))
    written = await edited_in_editor(BASH, screen)
    assert json.loads(written) == {"command": "pwd", "timeout": 12345678901234567890}


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("pass", "No change was made"),
        ("sys.exit(3)", "ended with 3"),
        ("file.write_text('[]')", "not a JSON object"),
        ("file.write_text('{')", "not JSON"),
        ("file.unlink()", "cannot be read"),
        ("file.write_bytes(bytes([255]))", "cannot be read"),
    ],
)
async def test_nothing_comes_of_an_editor_that_wrote_nothing_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, screen: Screen, code: str, why: str
) -> None:
    monkeypatch.setenv("VISUAL", editor(tmp_path, code))
    with pytest.raises(InvalidEdit, match=why):
        await edited_in_editor(BASH, screen)


async def test_without_an_editor_a_message_says_how_to_edit(monkeypatch: pytest.MonkeyPatch, screen: Screen) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    with pytest.raises(InvalidEdit, match="type e and the new command"):
        await edited_in_editor(BASH, screen)
    monkeypatch.setenv("EDITOR", "/nowhere/vi")
    with pytest.raises(InvalidEdit, match="cannot be started"):
        await edited_in_editor(BASH, screen)


def test_output_during_the_editor_is_printed_afterwards_in_order() -> None:
    both = io.StringIO()
    screen = Screen(both, both, colour=False)
    with screen.set_aside():
        screen.note("one")
        screen.line("two")
        assert both.getvalue() == ""
    screen.note("three")
    assert both.getvalue() == "one\ntwo\nthree\n"
