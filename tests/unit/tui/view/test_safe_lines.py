"""Text of an agent never controls the terminal, and no line is wider than the window."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from betcode.tui.model.blocks import (
    AgentText,
    AgentThinking,
    Block,
    NoticeBlock,
    PromptBlock,
    Tone,
    ToolCallBlock,
    ToolState,
    TurnEnd,
    UserMessage,
)
from betcode.tui.view.markdown_lines import load
from betcode.tui.view.render_cache import RenderCache
from betcode.tui.view.spans import cut, fold, shown, text_of, width_of, wrap

_ACTS = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200d-\u200f\u2028-\u202e\u2066-\u2069\ufe0f\ufeff\U000e0000-\U000e007f]"
)
_ODD = st.sampled_from(
    ("\x1b]0;title\x07", "\x1b[2J", "\x9b31m", "\x90q\x9c", "\u202eabc\u202c", "\u2066", "\u200b", "\u200d", "\ufe0f",
     "👨‍👩‍👧", "❤️",
     "👍🏽", "🏽", "🇩🇪", "e\u0301\u0302\u0303\u0304\u0305\u0306", "日本語", "한국어", "שלום", "مرحبا", "क्‍ष",
     "\U000e0041", "&#x202e;", "&#27;", "[a](javascript:x)",
     "[b](http://\u202e)", "`\x1b`", "**", "# ", "\n", "\n\n", "- ",
     "|", "\t", "\r", "word ")
)  # fmt: skip
_TEXTS = st.lists(st.one_of(_ODD, st.text(max_size=4)), max_size=14).map("".join)


def _blocks(text: str) -> list[Block]:
    given = json.dumps({"command": text, "old_string": text, "other": [text]})
    edit = json.dumps({"file_path": text, "old_string": text, "new_string": f"{text}x"})
    return [
        UserMessage("a", 1, text=text, attachments=(text,), reason=text),
        AgentText("b", 2, pieces=[text]),
        AgentText(
            "b2", 2, pieces=[f"```python\n{text}\n```\n| a | {text} |\n|--|--|\n| {text} | c |"], is_partial=True
        ),
        AgentThinking("c", 3, pieces=[text], is_settled=True),
        ToolCallBlock(
            "d",
            4,
            name=text,
            input_summary=text,
            input_json=given,
            output=text,
            state=ToolState.FAILED,
            denied_by=text,
            description=text,
            duration_ms=99_999,
        ),
        ToolCallBlock(
            "e",
            5,
            name="Edit",
            input_summary=text,
            input_json=edit,
            output=text,
            state=ToolState.DONE,
            children=[
                AgentText("f", 6, pieces=[text]),
                ToolCallBlock("g", 7, name=text, output=text, children=[NoticeBlock("i", 8, lines=(text,))]),
            ],
        ),
        ToolCallBlock("h", 9, name="Odd", input_json=text, state=ToolState.BROKEN_OFF),
        PromptBlock("j", 10, title=text, outcome=text),
        NoticeBlock("k", 11, lines=(text, text), tone=Tone.BAD),
        TurnEnd("l", 12, stop_reason=text, summary=text),
    ]


@given(_TEXTS, st.sampled_from([20, 40, 80, 200]), st.booleans())
def test_every_line_is_safe_and_fits(text: str, width: int, is_open: bool) -> None:
    load()
    drawings = RenderCache()
    for key in "abcdefghijkl" if is_open else "":
        drawings.open(key, 1)
    for block in _blocks(text):
        for line in drawings.of(block, width).lines:
            said = text_of(line)
            assert not _ACTS.search(said), said
            assert width_of(line) <= width, (said, width_of(line))
            # A terminal that adds up letter by letter and one that joins them agree.
            assert width_of(line) == sum(cell_len(letter) for letter in said)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("\x1b[31mred\x07", "␛[31mred␇"),
        ("a\u202eb", "a\\u202eb"),
        ("👨‍👩‍👧", "👨👩👧"),
        ("❤️ 👍🏽", "❤ 👍"),
        ("e\u0301\u0301\u0301\u0301\u0301\u0301", "e\u0301\u0301\u0301\u0301"),
        ("\tx", "    x"),
    ],
)
def test_odd_text_is_made_safe(text: str, wanted: str) -> None:
    assert shown(text) == wanted


def test_wide_letters_are_never_cut_in_two() -> None:
    assert [text_of(line) for line in fold([("日本語日本語", "")], 5)] == ["日本", "語日", "本語"]
    assert [text_of(line) for line in wrap([("ab 日本語", "")], 7)] == ["ab 日本", "語"]
    assert cut("日本語日本語", 6) == "日本…"


def test_markup_is_text() -> None:
    load()
    drawing = RenderCache().of(NoticeBlock("t", 1, lines=("[bold]x[/bold] [@click=app.quit]y[/]",)), 80)
    assert text_of(drawing.lines[0]) == "· [bold]x[/bold] [@click=app.quit]y[/]"
