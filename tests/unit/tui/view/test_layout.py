"""The visible lines do not move while a person reads, and the end is followed while it is in view."""

from hypothesis import given
from hypothesis import strategies as st

from betcode.tui.model.blocks import AgentText, Block, NoticeBlock, ToolCallBlock, ToolState, UserMessage
from betcode.tui.view.layout import Layout
from betcode.tui.view.markdown_lines import load
from betcode.tui.view.render_cache import RenderCache
from betcode.tui.view.spans import text_of


def _words(number: int, paragraphs: int = 3) -> AgentText:
    text = "\n\n".join(f"block {number} paragraph {at} with a few more words" for at in range(paragraphs))
    return AgentText(f"w{number}", number, pieces=[text])


def _laid_out(blocks: list[Block], width: int = 40, height: int = 10) -> Layout:
    load()
    layout = Layout(RenderCache())
    layout.resize(width, height)
    layout.take(blocks)
    layout.settle()
    return layout


def _seen(layout: Layout) -> list[str]:
    return [text_of(layout.line(at)[0]).rstrip() for at in range(layout.top, layout.top + layout.height)]


def test_the_end_is_in_view_and_only_visible_blocks_are_drawn() -> None:
    drawings = RenderCache()
    layout = Layout(drawings)
    layout.resize(40, 10)
    layout.take([_words(number) for number in range(1000)])
    layout.settle()
    assert _seen(layout)[-1] == "  words"
    assert "block 999" in "\n".join(_seen(layout))
    assert drawings.count < 10


def test_new_blocks_push_the_view_only_of_those_at_the_end() -> None:
    blocks: list[Block] = [_words(number) for number in range(20)]
    layout = _laid_out(blocks)
    blocks.append(_words(20))
    layout.take(blocks)
    layout.settle()
    assert "block 20 paragraph 2" in "\n".join(_seen(layout))
    assert layout.new_lines == 0
    layout.move(-25)
    before = _seen(layout)
    blocks.append(_words(21))
    layout.take(blocks)
    layout.settle()
    assert _seen(layout) == before
    assert layout.new_lines == 9  # three paragraphs of two lines, and empty ones between
    layout.move(1000)
    assert layout.follows
    assert layout.new_lines == 0


@given(st.lists(st.integers(-30, 30), max_size=12), st.integers(1, 30), st.integers(0, 20))
def test_older_blocks_before_the_first_leave_the_view_as_it_is(moves: list[int], older: int, tall: int) -> None:
    newer: list[Block] = [_words(number, 1 + number * tall % 7) for number in range(100, 130)]
    layout = _laid_out(newer)
    for lines in moves:
        layout.move(lines)
    before = _seen(layout)
    layout.take([_words(number, 1 + number % 5) for number in range(older)] + newer)
    layout.settle()
    after = _seen(layout)
    # The block that was the first has an empty line before it now, which is above what was seen.
    assert after == before


@given(st.integers(1, 60), st.integers(0, 4), st.sampled_from([20, 40, 80, 200]))
def test_scrolling_up_and_down_returns_to_the_same_line(lines: int, tall: int, width: int) -> None:
    blocks: list[Block] = [_words(number, 1 + number * tall % 9) for number in range(100)]
    layout = _laid_out(blocks, width)
    layout.move(-20)
    before = _seen(layout)
    layout.move(-lines)
    layout.move(lines)
    assert _seen(layout) == before


def test_scrolling_up_line_by_line_shows_every_line_once() -> None:
    blocks: list[Block] = [_words(number, 1 + number % 6) for number in range(30)]
    layout = _laid_out(blocks)
    seen = _seen(layout)
    while layout.top > 0:
        layout.move(-1)
        seen.insert(0, _seen(layout)[0])
    drawings = RenderCache()
    whole = []
    for at, block in enumerate(blocks):
        whole += [""] * (at > 0) + [text_of(line).rstrip() for line in drawings.of(block, 40).lines]
    assert seen == whole


def test_another_width_keeps_the_block_at_the_top() -> None:
    blocks: list[Block] = [_words(number, 6) for number in range(30)]
    layout = _laid_out(blocks, 80)
    layout.go_to(40)
    top = next(line for line in _seen(layout) if "block" in line).split()[1]
    for width in (40, 200, 23, 80):
        layout.resize(width, 10)
        blocks.append(_words(len(blocks)))
        layout.take(blocks)
        layout.settle()
        assert next(line for line in _seen(layout) if "block" in line).split()[1] == top


def test_a_block_that_moved_below_another_is_drawn_there_alone() -> None:
    child = _words(2)
    tool = ToolCallBlock("t1", 1, name="Task", state=ToolState.DONE)
    blocks: list[Block] = [tool, child, UserMessage("s3", 3, text="next")]
    layout = _laid_out(blocks, height=30)
    tool.children.append(child)
    tool.revision += 1
    layout.take([tool, blocks[2]])
    layout.settle()
    assert sum("block 2" in line for line in _seen(layout)) == 1
    assert any("1 step" in line for line in _seen(layout))


def test_the_cache_is_bounded() -> None:
    drawings = RenderCache()
    for number in range(60):
        drawings.of(NoticeBlock(f"t{number}", number, lines=("a line",) * 1000), 80)
    assert sum(len(kept.drawing.lines) for kept in drawings._entries.values()) <= 20_000
    tool = ToolCallBlock(
        "big", 99, name="Task", children=[NoticeBlock(f"c{at}", at, lines=("x",) * 900) for at in range(40)]
    )
    drawings.open("big", 1)
    drawings.of(tool, 80)
    assert drawings._lines == sum(len(kept.drawing.lines) for kept in drawings._entries.values())
