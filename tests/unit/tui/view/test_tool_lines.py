"""Tool calls, folded and expanded, at common widths."""

import json

import pytest

from betcode.tui.model.blocks import AgentText, Block, NoticeBlock, ToolCallBlock, ToolState, TruncatedField
from betcode.tui.view.diff_lines import diff_lines
from betcode.tui.view.markdown_lines import load
from betcode.tui.view.render_cache import RenderCache
from betcode.tui.view.spans import text_of
from betcode.tui.view.tool_lines import took


def _lines(block: Block, width: int = 80, opened: tuple[str, ...] = ()) -> list[str]:
    load()
    drawings = RenderCache()
    for key in opened:
        drawings.open(key, drawings.opened.get(key, 0) + 1)
    return [text_of(line).rstrip() for line in drawings.of(block, width).lines]


def _tool(**fields: object) -> ToolCallBlock:
    tool = ToolCallBlock("t", 1, name="Bash", input_summary="make all the things that there are", state=ToolState.DONE)
    for name, value in fields.items():
        setattr(tool, name, value)
    return tool


@pytest.mark.parametrize(
    ("width", "line"),
    [
        (40, "✓ Bash make all the things that …  1.5 s"),
        (80, "✓ Bash make all the things that there are  1.5 s"),
        (200, "✓ Bash make all the things that there are  1.5 s"),
    ],
)
def test_a_call_is_one_line(width: int, line: str) -> None:
    assert _lines(_tool(duration_ms=1500), width) == [line]


@pytest.mark.parametrize(
    ("fields", "lines"),
    [
        ({"state": ToolState.RUNNING}, ["● Bash make"]),
        ({"state": ToolState.FAILED, "output": "no\nrule"}, ["✗ Bash make  failed", "  └ no rule"]),
        ({"state": ToolState.DENIED, "denied_by": "a rule"}, ["⊘ Bash make  denied by a rule"]),
        ({"state": ToolState.BROKEN_OFF}, ["◌ Bash make  interrupted"]),
        ({"progress": "1 of 2 tasks done"}, ["✓ Bash make · 1 of 2 tasks done"]),
    ],
)  # fmt: skip
def test_the_result_is_visible_without_colours(fields: dict[str, object], lines: list[str]) -> None:
    assert _lines(_tool(input_summary="make", **fields)) == lines


def test_an_expanded_edit_shows_its_changes() -> None:
    given = json.dumps({"file_path": "a.py", "old_string": "x = 1\ny = 2\n", "new_string": "x = 1\ny = 3\n"})
    assert _lines(_tool(name="Edit", input_summary="a.py", input_json=given), opened=("t",)) == [
        "✓ Edit a.py",
        "  ▏ file_path: a.py",
        "  ▏   x = 1",
        "  ▏ - y = 2",
        "  ▏ + y = 3",
    ]


def test_several_edits_and_a_new_file_open_too() -> None:
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "", "new_string": "c"}]
    given = json.dumps({"file_path": "a.py", "edits": edits})
    assert _lines(_tool(input_json=given), opened=("t",))[1:] == [
        "  ▏ file_path: a.py",
        "  ▏ - a",
        "  ▏ + b",
        "  ▏ + c",
    ]
    given = json.dumps({"file_path": "a.py", "content": "import os\n\nx = 1"})
    assert _lines(_tool(input_json=given), opened=("t",))[2:] == ["  ▏ + import os", "  ▏ +", "  ▏ + x = 1"]


def test_other_inputs_are_fields_or_json() -> None:
    assert _lines(_tool(input_json='{"pattern": "x.*", "limit": 3}'), opened=("t",))[1:] == [
        "  ▏ pattern: x.*",
        "  ▏ limit: 3",
    ]
    assert _lines(_tool(input_json='{"list": [1]}'), opened=("t",))[1:] == [
        "  ▏ {", '  ▏   "list": [', "  ▏     1", "  ▏   ]", "  ▏ }",
    ]  # fmt: skip
    assert _lines(_tool(input_json='{"cut of'), opened=("t",))[1:] == ['  ▏ {"cut of']


def test_a_long_output_shows_its_ends_and_opens_further() -> None:
    tool = _tool(output="\n".join(f"line {number}" for number in range(1000)))
    lines = _lines(tool, opened=("t",))
    assert lines[1] == "  output"
    assert lines[2:] == [
        *(f"  ▏ line {number}" for number in range(8)),
        "  … 984 lines",
        *(f"  ▏ line {number}" for number in range(992, 1000)),
    ]
    assert "  … 600 lines" in _lines(tool, opened=("t", "t/output"))
    assert len(_lines(tool, opened=("t", "t/output", "t/output"))) == 1002


def test_truncated_text_has_a_note_about_reading_it() -> None:
    tool = _tool(output="beginning", cuts=(TruncatedField("tool_call_result.output", 2_000_000, "0" * 64),))
    assert _lines(tool, opened=("t",))[-1] == "  … 2.0 MB in all: v shows it"


def test_children_are_counted_when_folded_and_nested_when_open() -> None:
    inner = ToolCallBlock(
        "u", 2, name="Task", input_summary="deeper", children=[AgentText("w", 3, pieces=["deep *words*"])]
    )
    tool = _tool(name="Task", input_summary="look", children=[inner, NoticeBlock("n", 4, lines=("a notice",))])
    assert _lines(tool)[1] == "  └ 1 step"
    assert _lines(tool, opened=("t", "u")) == ["✓ Task look", "│ ● Task deeper", "│ │   deep words", "│ · a notice"]


def test_only_the_latest_of_many_children_are_drawn() -> None:
    tool = _tool(children=[NoticeBlock(f"n{number}", number, lines=(f"step {number}",)) for number in range(60)])
    lines = _lines(tool, opened=("t",))
    assert lines[1] == "  … 10 earlier"
    assert lines[2] == "│ · step 10"


def test_a_change_within_a_line_is_marked() -> None:
    removed, added = diff_lines("let x = 1;", "let y = 1;", 40)
    assert [span for span in added if "changed" in span[1]] == [("y", "added changed")]
    assert [span for span in removed if "changed" in span[1]] == [("x", "removed changed")]


def test_a_diff_shows_a_few_lines_around_each_change() -> None:
    old = "\n".join(f"line {number}" for number in range(40))
    new = old.replace("line 5\n", "line five\n").replace("line 30\n", "")
    lines = [text_of(line) for line in diff_lines(old, new, 40)]
    assert lines == [
        "  line 2", "  line 3", "  line 4", "- line 5", "+ line five", "  line 6", "  line 7", "  line 8",
        "  ⋮",
        "  line 27", "  line 28", "  line 29", "- line 30", "  line 31", "  line 32", "  line 33",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("ms", "words"), [(100, "0.1 s"), (59_940, "59.9 s"), (61_000, "1 min 1 s"), (7_380_000, "2 h 3 min")]
)
def test_times_are_short(ms: int, words: str) -> None:
    assert took(ms) == words
