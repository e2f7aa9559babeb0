"""Recordings of a real gateway, and what they become."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from betcode.agents.openclaw.frames import Event, GatewayAnswer, Unreadable, decode
from betcode.agents.openclaw.translation import ApprovalRequested, Ended, News, RunUpdate, Translation
from support.paths import CONTRACT
from support.recordings.outline import count_equal

Json = dict[str, Any]
_HERE = CONTRACT
GOLDEN = _HERE / "golden" / "openclaw"
RECORDINGS = tuple(sorted((_HERE / "wire" / "openclaw").glob("gateway-*.jsonl")))


def frames(recording: Path) -> Iterator[tuple[str, Json]]:
    """In their order: which way each went, and what it is."""
    for line in recording.read_text().splitlines():
        row = json.loads(line)
        if row["dir"] in ("in", "out"):
            yield row["dir"], json.loads(row["line"])


def news_of(recording: Path) -> list[News]:
    """All that the sessions of a recording say."""
    heard: list[News] = []
    translation: Translation | None = None
    methods: dict[str, str] = {}
    for way, frame in frames(recording):
        if way == "in":
            methods[frame["id"]] = frame["method"]
            continue
        read = decode(json.dumps(frame))
        assert not isinstance(read, Unreadable)
        if isinstance(read, GatewayAnswer) and read.error is None and methods.get(read.request_id) == "sessions.create":
            translation = Translation(read.payload["key"], read.payload["entry"]["spawnedCwd"])
        if isinstance(read, Event) and translation is not None:
            heard += translation.hear(read)
    return heard


def shown(news: News) -> Json:
    """For people, and to be compared."""
    if isinstance(news, RunUpdate):
        update = news.update.model_dump(mode="json", by_alias=True, exclude_none=True)
        return {"said": update, "run": news.run_id}
    if isinstance(news, ApprovalRequested):
        call = news.tool_call.model_dump(mode="json", by_alias=True, exclude_none=True)
        return {"asked": news.approval_id, "run": news.run_id, "call": call}
    return {type(news).__name__.lower(): {name: getattr(news, name) for name in news.__slots__}}


def outline_of(news: Iterable[News]) -> list[str]:
    """One entry per piece of news; equal neighbours are counted."""
    return count_equal(map(_entry, news))


def _entry(news: News) -> str:
    if isinstance(news, RunUpdate):
        update = news.update
        return " ".join(filter(None, (update.session_update, getattr(update, "status", None))))
    if isinstance(news, Ended):
        facts = (news.stop_reason, "empty" if news.is_empty else "", "trouble" if news.trouble else "")
        return " ".join(filter(None, ("ended", *facts)))
    return type(news).__name__.lower()


def golden_text(news: Iterable[News]) -> str:
    """The text of a golden file: one piece of news per line."""
    return "".join(f"{json.dumps(shown(each), sort_keys=True)}\n" for each in news)
