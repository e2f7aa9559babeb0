"""The history of sent messages."""

import json
import threading
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from betcode.tui.composer.history import LIMIT, HistoryFile, HistoryWalk, SentMessage, in_order

HERE, THERE = "/here", "/there"


def test_messages_of_this_directory_come_first_and_each_once() -> None:
    sent = [
        SentMessage("a", THERE),
        SentMessage("b", HERE),
        SentMessage("c", THERE),
        SentMessage("b", THERE),
        SentMessage("d", HERE),
    ]
    assert in_order(sent, HERE) == ["d", "b", "c", "a"]


@given(st.lists(st.text(min_size=1)), st.text(), st.integers(1, 20))
def test_the_draft_comes_back_after_as_many_steps(texts: list[str], draft: str, steps: int) -> None:
    walk = HistoryWalk([SentMessage(text, HERE) for text in texts], HERE)
    shown, taken = draft, 0
    for _ in range(steps):
        older = walk.older(shown)
        if older is not None:
            shown, taken = older, taken + 1
    for _ in range(taken):
        newer = walk.newer(shown)
        assert newer is not None
        shown = newer
    assert shown == draft
    assert walk.newer(shown) is None


def test_an_older_message_that_was_changed_is_a_draft() -> None:
    walk = HistoryWalk([SentMessage("one", HERE), SentMessage("two", HERE)], HERE)
    assert walk.older("draft") == "two"
    assert walk.newer("two, changed") is None
    assert walk.older("two, changed") == "two"
    assert walk.newer("two") == "two, changed"


def test_several_screens_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "state" / "screen" / "history.jsonl"

    def screen(number: int) -> None:
        for each in range(20):
            HistoryFile(path).add(SentMessage(f"{number} {each}", HERE))

    screens = [threading.Thread(target=screen, args=(number,)) for number in range(4)]
    for one in screens:
        one.start()
    for one in screens:
        one.join()
    assert {sent.text for sent in HistoryFile(path).read()} == {f"{n} {each}" for n in range(4) for each in range(20)}
    assert path.stat().st_mode & 0o777 == 0o600
    assert [path.parents[up].stat().st_mode & 0o777 for up in (0, 1)] == [0o700, 0o700]


def test_a_torn_or_foreign_line_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    path.write_bytes(b'[1]\n\xff\n{"text": 1, "directory": ""}\n{"text": "torn", "dire')
    HistoryFile(path).add(SentMessage("whole", HERE))
    assert HistoryFile(path).read() == [SentMessage("whole", HERE)]


def test_the_file_stays_small(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    line = json.dumps({"text": "x" * 2000, "directory": HERE}) + "\n"
    path.write_text(line * 2 * LIMIT)
    history = HistoryFile(path)
    history.add(SentMessage("newest", HERE))
    history.add(SentMessage("y" * 1_000_000, HERE))  # too long to be kept
    assert history.read()[-1].text == "newest"
    assert len(history.read()) <= LIMIT
    assert path.stat().st_size < 3_000_000
