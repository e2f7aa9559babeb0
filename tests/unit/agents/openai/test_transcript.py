"""The conversation's file: whatever was appended comes back, and a cut end is as if it had not happened."""

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from betcode.agents.openai import transcript
from betcode.agents.openai.records import (
    AnswerReported,
    Call,
    CallBegun,
    ContentPart,
    Ended,
    ModelAnswer,
    Record,
    ToolOutput,
    Trimmed,
    UserMessage,
)

TEXT = st.text(max_size=40)
CALLS = st.builds(Call, TEXT, TEXT, TEXT)
RECORDS: st.SearchStrategy[Record] = st.one_of(
    st.builds(UserMessage, TEXT, st.lists(st.builds(ContentPart, TEXT, TEXT, TEXT), max_size=2).map(tuple)),
    st.builds(
        ModelAnswer, TEXT, st.lists(CALLS, max_size=2).map(tuple), st.just(({"type": "reasoning"},)), st.booleans()
    ),
    st.builds(AnswerReported),
    st.builds(CallBegun, TEXT),
    st.builds(ToolOutput, TEXT, TEXT, st.booleans()),
    st.builds(Trimmed, st.integers(0, 99), st.lists(TEXT, max_size=2).map(tuple)),
    st.builds(Ended, TEXT, st.sampled_from(["end_turn", "cancelled", "error"]), TEXT),
)


def written(directory: Path, records: list[Record]) -> Path:
    kept = transcript.create(directory, "c1")
    for record in records:
        kept.append(record)
    kept.close()
    return directory / "c1.jsonl"


@given(st.lists(RECORDS, max_size=5), st.data())
def test_a_file_cut_at_any_byte_gives_the_whole_lines_before_it_and_goes_on_there(
    records: list[Record], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        path = written(directory, records)
        whole = path.read_bytes()
        cut = data.draw(st.integers(0, len(whole)))
        os.truncate(path, cut)
        kept = transcript.resume(directory, "c1")
        number = whole[:cut].count(b"\n")
        assert kept.records == records[:number]
        kept.append(AnswerReported())
        kept.close()
        again = transcript.resume(directory, "c1")
        assert again.records == [*records[:number], AnswerReported()]
        again.close()


def test_a_transcript_is_private(tmp_path: Path) -> None:
    path = written(tmp_path / "made", [AnswerReported()])
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_two_processes_do_not_write_one_transcript(tmp_path: Path) -> None:
    kept = transcript.create(tmp_path, "c1")
    with pytest.raises(transcript.TakenTranscript):
        transcript.resume(tmp_path, "c1")
    kept.close()


def test_damage_before_the_end_is_said_and_nothing_is_changed(tmp_path: Path) -> None:
    path = written(tmp_path, [AnswerReported(), AnswerReported()])
    path.write_bytes(b'{"type": "tol\n' + path.read_bytes())
    before = path.read_bytes()
    with pytest.raises(transcript.DamagedTranscript, match="line 1"):
        transcript.resume(tmp_path, "c1")
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["../c1", "", ".c1", "a/b", "x" * 200, "c1\n"])
def test_an_id_is_no_path(tmp_path: Path, name: str) -> None:
    written(tmp_path, [])
    with pytest.raises(transcript.UnknownConversation):
        transcript.resume(tmp_path / "below", name)
    with pytest.raises(transcript.UnknownConversation):
        transcript.create(tmp_path / "below", name)


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    written(tmp_path, [])
    (tmp_path / "c2.jsonl").symlink_to(tmp_path / "c1.jsonl")
    with pytest.raises(transcript.DamagedTranscript, match="symbolic"):
        transcript.resume(tmp_path, "c2")


def test_something_else_in_its_place_is_said_and_stays_as_it_is(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "directory.jsonl").mkdir()
    (tmp_path / "text.jsonl").write_text("no line of ours, and no end of one")
    for name in ("pipe", "directory", "text"):
        with pytest.raises(transcript.DamagedTranscript):
            transcript.resume(tmp_path, name)
    assert (tmp_path / "text.jsonl").read_text() == "no line of ours, and no end of one"
