"""The conversation on a headless screen: scrolling, opening, copying, and a flood."""

import json

import pytest
from textual import events

from betcode.tui.model.blocks import AgentText, AgentThinking, Block, ToolCallBlock, ToolState, UserMessage
from betcode.tui.model.conversation import ConversationModel
from betcode.v1 import agent_pb2 as v1
from support.screens.conversation_view import conversation_of, open_view

pytestmark = pytest.mark.anyio


def _words(number: int, paragraphs: int = 3) -> AgentText:
    return AgentText(f"w{number}", number, pieces=["\n\n".join(f"words {number}.{at}" for at in range(paragraphs))])


def _tool(number: int, output: str = "", **fields: object) -> ToolCallBlock:
    given = json.dumps({"command": f"make {number}"})
    tool = ToolCallBlock(
        f"t{number}", number, name="Bash", input_summary=f"make {number}", input_json=given, output=output
    )
    tool.state = ToolState.DONE
    for name, value in fields.items():
        setattr(tool, name, value)
    return tool


async def test_the_end_is_followed_until_the_person_scrolls_up() -> None:
    async with open_view(conversation_of(*(_words(number) for number in range(50)))) as shown:
        assert shown.lines[-1] == "  words 49.2"
        await shown.add(_words(50))
        assert shown.lines[-1] == "  words 50.2"
        await shown.pilot.press("pageup")
        before = shown.lines[:-1]
        await shown.add(_words(51), _words(52))
        assert shown.lines[:-1] == before
        assert "↓ 12 new lines" in shown.lines[-1]
        await shown.pilot.press("end")
        assert shown.lines[-1] == "  words 52.2"
        assert "new lines" not in shown.text


async def test_older_blocks_keep_the_scroll_position_and_are_requested_once() -> None:
    conversation = conversation_of(*(_words(number) for number in range(100, 130)))
    conversation.has_older, conversation.oldest = True, 100
    async with open_view(conversation) as shown:
        assert shown.app.wants_older == 0
        await shown.pilot.press("home")
        await shown.pilot.press("down", "up")
        await shown.pilot.pause()
        assert shown.app.wants_older == 1
        before = [line for line in shown.lines if line]
        conversation.blocks[:0] = [_words(number) for number in range(50, 100)]
        conversation.oldest = 50
        await shown.changed()
        assert [line for line in shown.lines if line] == before
        await shown.pilot.press("pageup")
        assert "words 99" in shown.text
        assert shown.app.wants_older == 1


async def test_a_jump_goes_to_a_block_once_it_is_loaded() -> None:
    conversation = conversation_of(*(_words(number) for number in range(100, 130)))
    conversation.has_older, conversation.oldest = True, 100
    async with open_view(conversation) as shown:
        shown.view.jump_to(110)
        await shown.pilot.pause()
        assert "words 110.0" in shown.text
        shown.view.jump_to(60)
        await shown.pilot.pause()
        assert shown.app.wants_older == 1
        conversation.blocks[:0] = [_words(number) for number in range(50, 100)]
        conversation.oldest = 50
        await shown.changed()
        assert "words 60.0" in shown.text


async def test_a_tool_opens_to_input_and_output_and_folds_again() -> None:
    output = "\n".join(f"out {number}" for number in range(100))
    async with open_view(conversation_of(_words(1), _tool(2, output)), (60, 40)) as shown:
        assert "✓ Bash make 2" in shown.text
        assert "out 0" not in shown.text
        await shown.pilot.press("up", "enter")
        assert "▏ make 2" in shown.text
        assert "▏ out 7\n  … 84 lines\n  ▏ out 92" in shown.text
        await shown.pilot.press("down", "space")
        await shown.pilot.press("end")
        assert "… 84 lines" not in shown.text
        await shown.pilot.press("enter", "end")
        assert "out 99" not in shown.text


async def test_a_click_expands_a_block_and_the_wheel_scrolls() -> None:
    blocks: list[Block] = [_words(number) for number in range(30)]
    async with open_view(conversation_of(*blocks, _tool(40, "the output"))) as shown:
        row = shown.lines.index("✓ Bash make 40")
        await shown.pilot.click(shown.view, offset=(4, row))
        assert "the output" in shown.text
        before = shown.lines
        shown.view.post_message(events.MouseScrollUp(shown.view, 4, 4, 0, 0, 0, False, False, False))
        await shown.pilot.pause()
        assert shown.lines[3:] == before[:-3]
        assert "the output" not in shown.text


async def test_all_that_is_seen_opens_with_one_key() -> None:
    thoughts = AgentThinking("th", 1, pieces=["deep thoughts"], is_settled=True)
    async with open_view(conversation_of(thoughts, _tool(2, "first"), _tool(3, "second"))) as shown:
        assert "▸ thought, 2 words" in shown.text
        await shown.pilot.press("o")
        assert all(words in shown.text for words in ("▾ thought", "first", "second"))
        await shown.pilot.press("o")
        assert "first" not in shown.text


async def test_a_subagent_is_nested_under_its_call() -> None:
    task = _tool(1, children=[_tool(2, "inner output"), _words(3, 1)], state=ToolState.RUNNING)
    async with open_view(conversation_of(task)) as shown:
        assert "└ 1 step · words 3.0" in shown.text
        await shown.pilot.press("up", "enter")
        assert "│ ✓ Bash make 2\n│   words 3.0" in shown.text
        await shown.pilot.press("down", "enter")
        assert "│   ▏ inner output" in shown.text


async def test_a_block_and_the_mouse_selection_are_copied() -> None:
    async with open_view(conversation_of(UserMessage("s", 1, text="say \x1b[31mthis"), _words(2, 1))) as shown:
        await shown.pilot.press("up", "up", "y")
        assert shown.app.copied == ["say ␛[31mthis"]
        await shown.pilot.mouse_down(shown.view, offset=(2, 0))
        await shown.pilot.hover(shown.view, offset=(5, 0))
        await shown.pilot.mouse_up(shown.view, offset=(5, 0))
        assert shown.app.screen.get_selected_text() == "say"
        await shown.pilot.press("ctrl+c")
        assert shown.app.copied[-1] == "say"


async def test_marking_a_call_does_not_open_it() -> None:
    async with open_view(conversation_of(_tool(1, "the output"))) as shown:
        # As a terminal tells of it: the pilot's own mouse makes no click of a button that comes up elsewhere.
        for kind, column in ((events.MouseDown, 2), (events.MouseMove, 6), (events.MouseUp, 6)):
            mouse = kind(None, column, 0, 1, 0, 1, shift=False, meta=False, ctrl=False, screen_x=column, screen_y=0)
            shown.app.post_message(mouse)
            await shown.pilot.pause()
        assert shown.app.screen.get_selected_text() == "Bash"
        assert "the output" not in shown.text


async def test_a_megabyte_of_output_is_drawn_in_part() -> None:
    for output in ("x" * 1_000_000, "line\n" * 200_000, "\x1b[2J" * 250_000):
        async with open_view(conversation_of(_tool(1, output))) as shown:
            await shown.pilot.press("up", "enter")
            await shown.pilot.press("down", "enter", "enter", "enter")
            drawn = shown.view.virtual_size.height
            assert drawn < 5000
            assert "\x1b" not in shown.text


async def test_a_resize_during_streaming_keeps_the_scroll_position() -> None:
    blocks: list[Block] = [_words(number, 6) for number in range(30)]
    growing = AgentText("g", 99, pieces=["growing "])
    async with open_view(conversation_of(*blocks, growing), (80, 20)) as shown:
        await shown.pilot.press("pageup", "pageup", "pageup")
        top = next(line for line in shown.lines if "words" in line)
        for width in (40, 200, 60):
            growing.pieces.append("and growing " * 50)
            growing.revision += 1
            await shown.pilot.resize_terminal(width, 20)
            await shown.changed()
            assert next(line for line in shown.lines if "words" in line) == top
        await shown.pilot.press("end")
        assert "and growing" in shown.lines[-1]


async def test_those_at_the_end_stay_there_through_every_size() -> None:
    blocks = [
        AgentText(f"w{number}", number, pieces=["long words " * 60 + f"\n\nend {number}"]) for number in range(30)
    ]
    async with open_view(conversation_of(*blocks), (80, 20)) as shown:
        for size in ((40, 30), (200, 10), (30, 40), (80, 20)):
            await shown.pilot.resize_terminal(*size)
            await shown.pilot.pause()
            assert shown.lines[-1] == "  end 29"


async def test_the_bar_goes_where_it_is_pulled() -> None:
    async with open_view(conversation_of(*(_words(number) for number in range(500)))) as shown:
        shown.view.scroll_to(y=shown.view.max_scroll_y // 2, animate=False)
        await shown.pilot.pause()
        number = int(next(line for line in shown.lines if "words" in line).split()[1].split(".")[0])
        assert 200 < number < 300
        shown.view.scroll_to(y=shown.view.max_scroll_y, animate=False)
        await shown.pilot.pause()
        assert shown.lines[-1] == "  words 499.2"


async def test_keys_are_answered_in_the_middle_of_a_flood() -> None:
    conversation = ConversationModel()
    order: list[str] = []
    async with open_view(conversation) as shown:
        for number in range(10):
            for piece in range(1000):
                delta = v1.TextDelta(text=f"{number}-{piece} ", message_id="m", block=1)
                conversation.take((v1.AgentEvent(sequence=number * 1000 + piece + 1, text_delta=delta),))
                shown.view.blocks_changed()
            await shown.pilot.press("pageup" if number % 2 else "end")
            order.append("end" if shown.view._layout_of.follows else "above")
        assert order == ["end", "above"] * 5
        await shown.pilot.press("end")
        await shown.shows(lambda text: "9-999" in text)
        assert shown.view._drawings.count < 100  # one for each frame, not for each delta


async def test_the_first_picture_does_not_wait_for_markdown() -> None:
    async with open_view(conversation_of(AgentText("w", 1, pieces=["**bold**"]))) as shown:
        shown.view._drawings.is_plain = True
        shown.view._drawings._changes += 1
        shown.view._layout_of.settle()
        assert "**bold**" in "".join(text for text, _ in shown.view._layout_of.line(0)[0])
        await shown.changed()
        await shown.shows(lambda text: "bold" in text and "**" not in text)
