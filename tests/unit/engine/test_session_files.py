"""The files of a deleted session: those of each program that writes some are removed, those of other sessions stay."""

from collections.abc import Callable
from pathlib import Path

import pytest

from betcode.agents.openai import transcript
from betcode.domain.sessions.deletion import DeletedSession
from betcode.domain.values.identifiers import RunId, SessionId, SessionKey, new_message_id, new_session_id
from betcode.engine.operations import session_files
from betcode.holder.journal import segment_name
from betcode.providers.openai.provider import transcripts
from betcode.tui.composer.drafts import Drafts
from betcode.tui.composer.outbox import Outbox, UnsentMessage
from betcode.tui.composer.pieces import Draft

Writer = Callable[[Path, SessionId, RunId], None]
RUN, OTHER_RUN = RunId("run-1"), RunId("run-2")


def write_draft(state: Path, session: SessionId, _run: RunId) -> None:
    Drafts(state / "screen" / "drafts").write(session, Draft("unsent"))


def write_outbox(state: Path, session: SessionId, _run: RunId) -> None:
    Outbox(state / "screen" / "outbox", session).add(UnsentMessage(new_message_id(), "not acknowledged", (), 1))


def write_transcript(state: Path, session: SessionId, run: RunId) -> None:
    transcript.create(transcripts(state / "runs" / run), session).close()


def write_journal(state: Path, _session: SessionId, run: RunId) -> None:
    directory = state / "runs" / run
    directory.mkdir(parents=True)
    (directory / segment_name(0)).write_bytes(b"journal")


def files(state: Path) -> set[Path]:
    return {path for path in state.rglob("*") if path.is_file() and path.name != "lock"}


@pytest.mark.parametrize("write", [write_draft, write_outbox, write_transcript, write_journal])
def test_the_files_of_a_deleted_session_are_removed_and_those_of_others_stay(tmp_path: Path, write: Writer) -> None:
    deleted, other = new_session_id(), new_session_id()
    write(tmp_path, other, OTHER_RUN)
    before = files(tmp_path)
    write(tmp_path, deleted, RUN)
    assert files(tmp_path) > before
    session_files.remove(tmp_path / "runs", DeletedSession(SessionKey(1), deleted, (RUN,)))
    assert files(tmp_path) == before
