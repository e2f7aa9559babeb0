"""Requests for older pages at the beginning of the loaded part."""

import pytest

from betcode.tui.model.blocks import NoticeBlock
from support.screens.conversation_view import conversation_of, open_view

pytestmark = pytest.mark.anyio


async def test_compacted_events_are_requested_by_going_to_the_beginning_twice() -> None:
    conversation = conversation_of(*(NoticeBlock(f"told-{n}", n, lines=(f"line {n}",)) for n in range(5, 90)))
    conversation.oldest = conversation.compacted_before = 5
    async with open_view(conversation) as shown:
        await shown.pilot.press("home")
        await shown.pilot.pause()
        assert shown.app.wants_compacted == 0
        await shown.pilot.press("home")
        await shown.pilot.pause()
        assert shown.app.wants_compacted == 1
        assert shown.app.wants_older == 0
