"""Messages that an agent knew before it was killed, sent to it again."""

from typing import Any

from betcode.v1 import agent_pb2 as v1
from support.recordings.dialogue import INIT, RESULT, fresh, hear, say


def lifecycle(message_id: str, state: str) -> dict[str, Any]:
    return {"type": "command_lifecycle", "command_uuid": message_id, "state": state}


def consumed(events: list[v1.AgentEvent]) -> list[str]:
    states = (event.message_state for event in events if event.HasField("message_state"))
    return [change.message_id for change in states if change.state == v1.MESSAGE_STATE_CONSUMED]


def test_a_repeat_is_consumed_by_the_turn_that_is_continued_and_not_before() -> None:
    dialogue = fresh()
    hear(dialogue, {"type": "user", "uuid": "m1", "message": {"content": "again"}})
    early = say(dialogue, lifecycle("own", "started"), lifecycle("m1", "completed"), INIT)
    assert consumed(early) == []
    assert dialogue.view.turn_open
    late = say(dialogue, RESULT | {"user_message_uuids": ["m1"]}, lifecycle("own", "completed"))
    assert consumed(late) == ["m1"]
    assert not dialogue.view.turn_open


def test_a_repeat_that_the_continued_turn_does_not_answer_was_done_before() -> None:
    dialogue = fresh()
    hear(dialogue, {"type": "user", "uuid": "m1", "message": {"content": "done long ago"}})
    told = say(dialogue, lifecycle("own", "started"), lifecycle("m1", "completed"), INIT)
    told += say(dialogue, RESULT | {"user_message_uuids": ["m2"]}, lifecycle("own", "completed"))
    assert consumed(told) == ["m2", "m1"]
    assert not dialogue.view.turn_open
    assert told[-1].HasField("status_change")
