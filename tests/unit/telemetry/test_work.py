"""Log lines carry the path of the work under way, in tasks and threads alike."""

import json
import logging
import threading

import anyio
import pytest

from betcode.telemetry.log_context import Span, begin, current
from betcode.telemetry.logs import JsonLines


def line() -> dict[str, object]:
    values: dict[str, object] = json.loads(
        JsonLines().format(logging.makeLogRecord({"msg": "x", "levelno": logging.INFO, "levelname": "INFO"}))
    )
    return values


def test_work_within_work_is_a_dotted_path() -> None:
    assert line()["span"] == "daemon"
    with Span("turn", "s1", root=True):
        with Span("append"):
            assert (line()["span"], line()["session_id"]) == ("turn.append", "s1")
        with Span("call.Submit", root=True):
            assert line()["span"] == "call.Submit"
        assert line()["span"] == "turn"
    assert "session_id" not in line()


def test_a_thread_has_work_of_its_own() -> None:
    seen: list[str] = []

    def run() -> None:
        begin("append")
        seen.append(current().span)

    with Span("turn"):
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    assert seen == ["append"]


@pytest.mark.anyio
async def test_tasks_side_by_side_do_not_mix() -> None:
    seen: dict[str, set[str]] = {"a": set(), "b": set()}

    async def work(name: str) -> None:
        with Span("turn", name, root=True):
            for _ in range(5):
                await anyio.lowlevel.checkpoint()
                seen[name].add(str(line()["session_id"]))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(work, "a")
        tasks.start_soon(work, "b")
    assert seen == {"a": {"a"}, "b": {"b"}}
