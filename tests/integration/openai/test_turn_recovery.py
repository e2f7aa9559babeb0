"""Going on behind any step: what one process of our agent left, another takes up, and nothing happens twice."""

from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from acp import RequestError

from betcode.agents.openai import transcript
from betcode.agents.openai.records import AnswerReported, CallBegun, Ended, ModelAnswer, Record, ToolOutput
from betcode.wire.acp import extensions
from support.apis.openai.program import Watcher, conversation
from support.apis.openai.server import OpenAiApi, openai_api, script

pytestmark = pytest.mark.anyio

STEPS: list[Any] = [
    {"text": "I begin.", "tools": [{"cmd": "echo a >> log"}, {"cmd": "echo b >> log"}]},
    {"tools": [{"name": "read", "args": {"path": "log"}}]},
    {"text": "Done."},
]
COMMANDS = {"call_1_0": "a", "call_1_1": "b"}


async def whole_turn(root: Path, api: OpenAiApi) -> list[Record]:
    root.mkdir()
    async with conversation(root, api) as talk:
        assert await talk.prompt("Work " + script(*STEPS)) == "end_turn"
    return transcript.read((root / "transcripts" / "c0ffee.jsonl").read_bytes())


def left_behind(root: Path, records: list[Record]) -> None:
    """A process that was killed behind these records, with what its commands had done by then."""
    (root / "project").mkdir(parents=True)
    (root / "transcripts").mkdir()
    lines = b"".join(msgspec.json.encode(record) + b"\n" for record in records)
    (root / "transcripts" / "c0ffee.jsonl").write_bytes(lines + b'{"type":"output","call_id":"ca')
    done = [COMMANDS.get(record.call_id, "") for record in records if isinstance(record, ToolOutput)]
    (root / "project" / "log").write_text("".join(f"{each}\n" for each in done if each))


async def test_a_turn_continues_after_every_record_and_no_command_runs_twice(tmp_path: Path) -> None:
    with openai_api() as api:
        records = await whole_turn(tmp_path / "whole", api)
        assert len(records) == 12
        for cut in range(len(records) + 1):
            root = tmp_path / str(cut)
            left_behind(root, records[:cut])
            async with conversation(root, api) as talk:
                await talk.resume()
                assert await talk.prompt("Work " + script(*STEPS)) == "end_turn", cut
            check(cut, records[:cut], root, talk.watcher)


def check(cut: int, before: list[Record], root: Path, watcher: Watcher) -> None:
    begun = {record.call_id for record in before if isinstance(record, CallBegun)}
    ended = {record.call_id for record in before if isinstance(record, ToolOutput)}
    unsure = [COMMANDS[call_id] for call_id in begun - ended]
    expected = [each for each in ("a", "b") if each not in unsure]
    assert (root / "project" / "log").read_text().split() == expected, cut
    assert watcher.text.endswith("Done."), cut
    is_told = any(isinstance(record, AnswerReported) for record in before)
    assert watcher.text.startswith("I begin.") == (not is_told), cut
    after = transcript.read((root / "transcripts" / "c0ffee.jsonl").read_bytes())
    assert sum(isinstance(record, Ended) for record in after) == 1, cut
    calls = [call.call_id for record in after if isinstance(record, ModelAnswer) for call in record.calls]
    assert [record.call_id for record in after if isinstance(record, ToolOutput)] == calls, cut
    interrupted = [record for record in after if isinstance(record, ToolOutput) and "not known how far" in record.text]
    assert len(interrupted) == len(unsure), cut


async def test_a_message_that_was_answered_is_answered_from_the_transcript(tmp_path: Path) -> None:
    with openai_api() as api:
        await whole_turn(tmp_path / "whole", api)
        asked = len(api.requests)
        async with conversation(tmp_path / "whole", api) as talk:
            await talk.resume()
            assert await talk.prompt("Work " + script(*STEPS)) == "end_turn"
        assert talk.watcher.text == "Done."
        assert len(api.requests) == asked
        assert talk.watcher.asked == []


async def test_an_interrupted_turn_can_continue_by_itself(tmp_path: Path) -> None:
    with openai_api() as api:
        records = await whole_turn(tmp_path / "whole", api)
        left_behind(tmp_path / "cut", records[:4])
        async with conversation(tmp_path / "cut", api) as talk:
            await talk.resume(continue_turn=True)
            await talk.watcher.until(lambda watcher: len(watcher.news_of(extensions.TURN)) == 2)
            # The same message again, which crossed that on its way, does nothing more.
            assert await talk.prompt("Work " + script(*STEPS)) == "end_turn"
    news = talk.watcher.news_of(extensions.TURN)
    assert [(each["state"], each.get("stopReason")) for each in news] == [("started", None), ("ended", "end_turn")]
    assert talk.watcher.text == "Done."


async def test_another_message_gives_a_broken_turn_up(tmp_path: Path) -> None:
    with openai_api() as api:
        records = await whole_turn(tmp_path / "whole", api)
        left_behind(tmp_path / "cut", records[:3])
        async with conversation(tmp_path / "cut", api) as talk:
            await talk.resume()
            assert await talk.prompt("Something else " + script({"text": "Yes."}), "m2") == "end_turn"
    assert talk.watcher.text == "Yes."
    assert (tmp_path / "cut" / "project" / "log").read_text() == ""
    after = transcript.read((tmp_path / "cut" / "transcripts" / "c0ffee.jsonl").read_bytes())
    assert [record.stop_reason for record in after if isinstance(record, Ended)] == ["cancelled", "end_turn"]
    assert sum(isinstance(record, ToolOutput) for record in after) == 2


async def test_a_terminated_process_hands_its_turn_to_the_next(tmp_path: Path) -> None:
    with openai_api() as api:
        async with conversation(tmp_path, api) as talk, anyio.create_task_group() as tasks:
            tasks.start_soon(talk.prompt, script({"text": "Half", "hang": True, "times": 1}))
            await talk.watcher.until(lambda watcher: watcher.text == "Half")
            tasks.cancel_scope.cancel()
        api.release()
        async with conversation(tmp_path, api) as talk:
            await talk.resume()
            assert await talk.prompt(script({"text": "Half", "hang": True, "times": 1})) == "end_turn"
        assert talk.watcher.text == "Half"


async def test_a_missing_conversation_is_reported_as_gone(tmp_path: Path) -> None:
    with openai_api() as api:
        async with conversation(tmp_path, api) as talk:
            with pytest.raises(RequestError) as error:
                await talk.resume("another")
            data: Any = error.value.data
            assert data[extensions.KEY]["kind"] == "gone"
