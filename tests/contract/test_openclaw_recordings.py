"""Every recording of a real OpenClaw gateway, replayed: the updates written down, and what must hold for all."""

import json
from pathlib import Path

import pytest

from betcode.agents.openclaw.frames import GatewayAnswer, decode
from betcode.agents.openclaw.history import read_history
from betcode.agents.openclaw.translation import Began, Ended, RunUpdate, Translation
from support.recordings.openclaw import GOLDEN, RECORDINGS, frames, golden_text, news_of, outline_of
from support.recordings.outline import read_outlines

ALL = pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.jsonl")), ids=lambda path: path.stem)
def test_a_recording_gives_the_updates_of_its_golden_file(path: Path) -> None:
    [recording] = [each for each in RECORDINGS if each.stem == path.stem]
    assert golden_text(news_of(recording)).splitlines() == path.read_text().splitlines()


@ALL
def test_a_recording_has_its_outline(path: Path) -> None:
    assert outline_of(news_of(path)) == read_outlines(GOLDEN)[path.stem]


def test_there_is_an_outline_for_each_recording_and_no_other() -> None:
    assert read_outlines(GOLDEN).keys() == {path.stem for path in RECORDINGS}
    assert len(RECORDINGS) == 6


@ALL
def test_the_text_of_a_run_is_reported_once_and_complete(path: Path) -> None:
    """The gateway says the text of a run three times over, and drops some of its deltas."""
    said: dict[str, str] = {}
    for news in news_of(path):
        if isinstance(news, RunUpdate) and news.update.session_update == "agent_message_chunk":
            said[news.run_id] = said.get(news.run_id, "") + news.update.content.text
    for way, frame in frames(path):
        payload = frame.get("payload", {})
        if way == "out" and frame.get("event") == "chat" and payload.get("state") == "final" and "message" in payload:
            final = "".join(part["text"] for part in payload["message"]["content"])
            assert said[payload["runId"]].endswith(final.split("\n\n")[-1])
            assert said[payload["runId"]].count(final.split("\n\n")[-1]) == 1


@ALL
def test_each_run_begins_once_and_ends_at_most_once(path: Path) -> None:
    news = news_of(path)
    began = [each.run_id for each in news if isinstance(each, Began)]
    ended = [each.run_id for each in news if isinstance(each, Ended)]
    assert len(began) == len(set(began))
    assert len(ended) == len(set(ended))
    for position, each in enumerate(news):
        if isinstance(each, RunUpdate):
            assert Ended not in [
                type(before) for before in news[:position] if getattr(before, "run_id", "") == each.run_id
            ]


def test_output_missed_by_a_killed_gateway_comes_from_its_history() -> None:
    path = next(each for each in RECORDINGS if each.stem == "gateway-kill9")
    answers = [decode(json.dumps(frame)) for way, frame in frames(path) if way == "out"]
    told = next(
        each.payload for each in answers if isinstance(each, GatewayAnswer) and "messages" in (each.payload or {})
    )
    history = read_history(told)
    assert history.active_run == "1d837fb4-d885-4a8a-89fa-0c8fd05d44de"  # under which it resumed the turn by itself
    assert history.has("971369c7-eaae-4f47-ac66-432737caf891")
    assert not history.has("971369c7")
    assert history.last_seq == 5
    translation = Translation(told["sessionKey"], "/home/dev/project")
    missed = [news for run_id, entry in history.behind(3) for news in translation.recall(entry, run_id)]
    kinds = [news.update.session_update for news in missed if isinstance(news, RunUpdate)]
    assert kinds == ["agent_message_chunk", "tool_call", "tool_call_update"]
    assert [run_id for run_id, _ in history.behind(5)] == []
