"""Messages, thoughts, prompts, notices and ends of turns as lines; and lazy imports."""

import subprocess
import sys

import pytest
from rich.style import Style

from betcode.tui.model.blocks import (
    AgentText,
    AgentThinking,
    Block,
    NoticeBlock,
    PromptBlock,
    PromptState,
    Tone,
    ToolCallBlock,
    TurnEnd,
    UserMessage,
)
from betcode.tui.view.block_lines import estimated, gap_before, text_of_block
from betcode.tui.view.markdown_lines import load
from betcode.tui.view.palette import Palette
from betcode.tui.view.render_cache import RenderCache
from betcode.tui.view.spans import text_of
from betcode.v1 import agent_pb2 as v1


def _texts(block: Block, width: int = 40, opened: str = "") -> list[str]:
    load()
    drawings = RenderCache()
    if opened:
        drawings.open(opened, 1)
    return [text_of(line).rstrip() for line in drawings.of(block, width).lines]


@pytest.mark.parametrize(
    ("state", "mark"),
    [
        (v1.MESSAGE_STATE_ACCEPTED, ["  (queued)"]),
        (v1.MESSAGE_STATE_DELIVERED, []),
        (v1.MESSAGE_STATE_CONSUMED, []),
        (v1.MESSAGE_STATE_CANCELLED, ["  (cancelled)"]),
        (v1.MESSAGE_STATE_UNKNOWN, ["  (delivery unknown)"]),
    ],
)
def test_a_message_shows_its_state(state: v1.MessageState.ValueType, mark: list[str]) -> None:
    assert _texts(UserMessage("s", 1, text="do\nthis", state=state)) == ["> do", "  this", *mark]


def test_the_reason_for_an_unanswered_message_is_shown_once() -> None:
    ended = UserMessage(
        "s", 1, text="do", state=v1.MESSAGE_STATE_CONSUMED, reason="cancelled"
    )  # so says the end of its turn
    assert _texts(ended) == ["> do"]
    reasons = ("withdrawn", "cancelled", "no room")
    marks = [_texts(UserMessage("s", 1, text="do", state=v1.MESSAGE_STATE_CANCELLED, reason=why))[1] for why in reasons]
    assert marks == ["  (withdrawn)", "  (cancelled)", "  (cancelled: no room)"]


def test_thoughts_are_one_line_until_they_are_opened() -> None:
    thoughts = AgentThinking("t", 1, pieces=["I think\n\nthat it **is** so"], is_settled=True)
    assert _texts(thoughts) == ["▸ thought, 6 words  I think that it **i…"]
    assert _texts(thoughts, opened="t") == ["▾ thought, 6 words", "▏ I think", "▏", "▏ that it is so"]


def test_thoughts_that_go_on_show_their_end() -> None:
    assert _texts(AgentThinking("t", 1, pieces=["first ", "last"]))[0] == "▸ thinking, 2 words  first last"


@pytest.mark.parametrize(
    ("block", "lines"),
    [
        (PromptBlock("a", 1, title="Bash ls"), ["? Bash ls waiting for an answer"]),
        (PromptBlock("a", 1, title="Bash ls", state=PromptState.ALLOWED, outcome="Allowed"), ["✓ Bash ls: Allowed"]),
        (
            PromptBlock("a", 1, title="Bash ls", state=PromptState.DENIED, outcome="Denied: no"),
            ["⊘ Bash ls: Denied: no"],
        ),
        (NoticeBlock("n", 1, lines=("one", "two")), ["· one", "· two"]),
        (NoticeBlock("n", 1, lines=("error: bad",), tone=Tone.BAD), ["✗ error: bad"]),
        (TurnEnd("e", 1, stop_reason="max_tokens", summary="2.0 s"), ["── max_tokens · 2.0 s ─────────────────"]),
        (AgentText("w", 1, pieces=["cut"], is_settled=True, is_partial=True), ["  cut", "  … cut off here"]),
        (AgentText("w", 1, pieces=[""], is_settled=True), []),
        (AgentThinking("w", 1, pieces=[""], is_settled=True), []),
    ],
)
def test_lines_of_the_other_blocks(block: Block, lines: list[str]) -> None:
    assert _texts(block) == lines


def test_lines_that_belong_together_stand_together() -> None:
    words, tool, told, void = (
        AgentText("w", 1),
        ToolCallBlock("t", 2),
        NoticeBlock("n", 3),
        AgentText("v", 4, is_settled=True),
    )
    assert [gap_before(block, tool) for block in (words, tool, told, void, TurnEnd("e", 5))] == [1, 0, 0, 0, 0]
    assert gap_before(tool, words) == 1
    assert gap_before(words, None) == 0


def test_an_estimate_is_near_for_plain_words() -> None:
    block = AgentText("w", 1, pieces=["word " * 1000])
    assert abs(estimated(block, 80) - len(_texts(block, 80))) < 6


def test_call_and_output_of_a_tool_are_copied() -> None:
    assert text_of_block(ToolCallBlock("t", 1, name="Bash", input_summary="ls", output="a\nb")) == "Bash ls\na\nb"


@pytest.mark.parametrize("line", [(), (("日本", ""),), (("x" * 30, "strong"), ("y", ""))])
def test_a_strip_has_exactly_the_width(line: tuple[tuple[str, str], ...]) -> None:
    strip = Palette(lambda _: Style()).strip(line, 21)
    assert strip.cell_length == 21
    assert sum(segment.cell_length for segment in strip) == 21


def test_the_first_picture_loads_no_parser() -> None:
    asked = "import sys, betcode.tui.view.conversation_view; print([name for name in %r if name in sys.modules])"
    heavy = ("markdown_it", "pygments", "rich.markdown", "rich.syntax")
    done = subprocess.run([sys.executable, "-c", asked % (heavy,)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
