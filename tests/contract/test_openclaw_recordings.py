"""Every recording of a real OpenClaw gateway, replayed: the updates written down, and what must hold for all."""

import json
import os
from pathlib import Path

import pytest

from betcode.agents.openclaw.frames import GatewayAnswer, decode
from betcode.agents.openclaw.history import read_history
from betcode.agents.openclaw.translation import Began, Ended, RunUpdate, Translation
from support.recordings.openclaw import GOLDEN, RECORDINGS, frames, news_of, shown

ALL = pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)


@ALL
def test_a_recording_gives_the_updates_written_down(path: Path) -> None:
    golden = GOLDEN / f"{path.stem}.jsonl"
    said = "".join(f"{json.dumps(shown(news), sort_keys=True)}\n" for news in news_of(path))
    if os.environ.get("BETCODE_GOLDEN") == "1":
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(said)
    assert [json.loads(line) for line in said.splitlines()] == [
        json.loads(line) for line in golden.read_text().splitlines()
    ], "BETCODE_GOLDEN=1 writes it anew"


def test_there_is_a_golden_file_for_each_recording_and_no_other() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == {path.stem for path in RECORDINGS}
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
