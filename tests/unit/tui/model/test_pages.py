"""The conversation does not depend on how its history is cut into pages, or on their order."""

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from betcode.tui.model.conversation import ConversationModel
from betcode.v1 import agent_pb2 as v1
from support.recordings.claude import recordings, replay
from support.screens.blocks import cut, dump, numbered

_TOOLS = ("t1", "t2", "t3", "t4", "t5")
_IDS = ("a", "b", "c", "d", "")
_REASONS = ("end_turn", "end_turn", "cancelled", "crashed")


class Storyteller:
    """Anything an agent may say, in any order; each message of a person once, and what has an id has one speaker."""

    def __init__(self, dice: Random) -> None:
        self._dice = dice
        self._parents = {name: dice.choice(("", "", *_TOOLS)) for name in (*_TOOLS, *_IDS[:-1])}
        self._said = 0

    def history(self, length: int) -> list[v1.AgentEvent]:
        kinds: list[Callable[[], v1.AgentEvent]] = [
            *(self._words,) * 6,
            *(self._tool,) * 5,
            self._message,
            self._prompt,
            self._turn,
            self._remark,
        ]
        return numbered(self._dice.choice(kinds)() for _ in range(length))

    def _parent(self, name: str) -> str:
        return self._parents.get(name) or self._dice.choice(("", "", "", *_TOOLS)) * (name == "")

    def _words(self) -> v1.AgentEvent:
        dice, name = self._dice, self._dice.choice(_IDS)
        settled = dice.random() < 0.2
        said = {"text": dice.choice(("", "one ", "two\n", "三 ")), "message_id": name, "block": dice.randint(0, 1)}
        event = v1.AgentEvent(parent_tool_use_id=self._parent(name))
        if dice.random() < 0.3:
            event.thinking_delta.CopyFrom(v1.ThinkingDelta(**said, is_complete=settled))  # type: ignore[arg-type]
        else:
            partial = settled and dice.random() < 0.3
            delta = v1.TextDelta(**said, is_complete=settled, is_partial=partial)  # type: ignore[arg-type]
            event.text_delta.CopyFrom(delta)
        return event

    def _tool(self) -> v1.AgentEvent:
        dice, name = self._dice, self._dice.choice(_TOOLS)
        event = v1.AgentEvent(parent_tool_use_id=self._parent(name))
        if dice.random() < 0.6:
            event.tool_call_start.tool_id, event.tool_call_start.tool_name = name, dice.choice(_IDS)
            event.cuts.add(field="tool_call_start.input_json", size_bytes=dice.randint(1, 9))
        else:
            result = v1.ToolCallResult(tool_id=name, output=dice.choice(_IDS), is_error=dice.random() < 0.3)
            event.tool_call_result.CopyFrom(result)
            event.cuts.add(field="tool_call_result.output", size_bytes=dice.randint(1, 9))
        return event

    def _message(self) -> v1.AgentEvent:
        dice = self._dice
        if dice.random() < 0.4:
            self._said += 1
            said = v1.UserInput(content="do it", message_id=f"said{self._said}", client_id="other")
            return v1.AgentEvent(user_input=said)
        state = dice.choice((v1.MESSAGE_STATE_ACCEPTED, v1.MESSAGE_STATE_DELIVERED, v1.MESSAGE_STATE_CANCELLED))
        name = f"said{dice.randint(1, max(self._said, 1))}"
        return v1.AgentEvent(
            message_state=v1.MessageStateChange(message_id=name, state=state, reason=dice.choice(_IDS))
        )

    def _prompt(self) -> v1.AgentEvent:
        dice, number = self._dice, self._dice.randint(1, 3)
        match dice.randint(1, 3):
            case 1:
                asked = v1.PermissionRequest(request_id=f"r{number}", tool_name="Bash")
                return v1.AgentEvent(permission_request=asked, parent_tool_use_id=dice.choice(_TOOLS))
            case 2:
                question = v1.UserQuestion(question_id=f"g{number}#{dice.randint(1, 2)}", group_id=f"g{number}")
                return v1.AgentEvent(user_question=question)
            case _:
                resolved = v1.PermissionResolved(
                    request_id=f"{dice.choice('rg')}{number}",
                    resolution=dice.choice(("answered", "expired")),
                    decision=dice.choice((v1.ALLOW_ONCE, v1.DENY)),
                )
                return v1.AgentEvent(permission_resolved=resolved)

    def _turn(self) -> v1.AgentEvent:
        dice = self._dice
        if dice.random() < 0.5:
            return v1.AgentEvent(usage=v1.UsageReport(duration_ms=dice.choice((0, 1000, 2000))))
        return v1.AgentEvent(turn_complete=v1.TurnComplete(stop_reason=dice.choice(_REASONS)))

    def _remark(self) -> v1.AgentEvent:
        dice = self._dice
        told = (
            v1.AgentEvent(error=v1.ErrorEvent(code=dice.choice(("SUBPROCESS_CRASHED", "AGENT_ERROR")), message="oh")),
            v1.AgentEvent(notice=v1.Notice(kind=v1.NOTICE_KIND_RUN, message="ended")),
            v1.AgentEvent(todo_update=v1.TodoUpdate()),
            v1.AgentEvent(status_change=v1.StatusChange(status=v1.IDLE)),
        )
        return dice.choice(told)


def _in_order(events: list[v1.AgentEvent]) -> ConversationModel:
    whole = ConversationModel()
    whole.take(events)
    return whole


def _in_pages(pages: list[list[v1.AgentEvent]], dice: Random) -> ConversationModel:
    """Read from one of them, to both sides in any order."""
    read = ConversationModel()
    start = dice.randrange(len(pages))
    read.take(pages[start])
    older, later = pages[:start], pages[start + 1 :]
    while older or later:
        if later and (not older or dice.random() < 0.5):
            read.take(later.pop(0))
        else:
            read.prepend(older.pop())
    return read


@given(st.integers(0, 2**32), st.integers(1, 80))
def test_pages_read_in_any_order_of_time_give_the_same_blocks(seed: int, length: int) -> None:
    dice = Random(seed)
    events = Storyteller(dice).history(length)
    whole = dump(_in_order(events).blocks)
    for _ in range(6):
        pages = cut(events, [dice.randint(0, length) for _ in range(dice.randint(1, 12))])
        read = _in_pages(pages, dice)
        assert dump(read.blocks) == whole
        assert (read.oldest, read.newest) == (1, length)
        assert all(block.revision for block in read.blocks)


def test_recorded_sessions_are_the_same_from_any_page() -> None:
    dice = Random(7)
    for path in recordings():
        events = numbered(replay(path))
        if events:
            pages = cut(events, [dice.randint(0, len(events)) for _ in range(8)])
            assert dump(_in_pages(pages, dice).blocks) == dump(_in_order(events).blocks), path.stem


@pytest.mark.parametrize("seed", range(5))
def test_events_that_come_twice_count_once(seed: int) -> None:
    events = Storyteller(Random(seed)).history(60)
    read = _in_order(events)
    read.take(events[30:])
    read.prepend(events[:30])
    assert dump(read.blocks) == dump(_in_order(events).blocks)
