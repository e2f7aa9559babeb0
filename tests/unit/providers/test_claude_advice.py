"""Errors of Claude Code that no second try heals."""

import pytest

from betcode.domain.runs.journal_record import RecordKind
from betcode.providers.claude.advice import FAILURES, failure_in
from betcode.providers.claude.provider import ClaudeProvider
from support.recordings.claude import SESSION, WIRE, records_of


@pytest.mark.parametrize(
    ("recording", "says"),
    [
        ("i_resume_unknown", "start a new session"),
        ("i_session_id_bad", "start a new session"),
        ("i_session_id_twice.2", "start a new session"),
        ("e_bypass_root_without_IS_SANDBOX", "as another user"),
    ],
)
def test_what_the_real_program_last_said_gives_advice(recording: str, says: str) -> None:
    provider = ClaudeProvider(None)
    dialogue = provider.dialogue(SESSION, SESSION.session_id)
    for record in records_of(WIRE / f"{recording}.ndjson"):
        if record.kind is RecordKind.ERR:
            dialogue.receive(record)
    failure = dialogue.view.failure
    assert failure is not None
    assert says in failure.advice


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("error: unknown option '--no-such-flag'", "update"),
        ("error: option '--permission-mode <mode>' argument 'x' is invalid. Allowed choices are plan.", "update"),
        ("No message found with message.uuid of: 02852a91-4e91-44f0-961c-d9f824b5a223", "Fork a later turn"),
        ("Not logged in · Please run /login", "log in"),
        ("Invalid API key · Fix external API key", "API key"),
    ],
)
def test_other_errors_that_never_heal_are_known_by_their_words(line: str, says: str) -> None:
    failure = failure_in(["a warning before", line, "a word after"])
    assert failure is not None
    assert says in failure.advice


def test_what_is_not_in_the_table_may_heal() -> None:
    assert failure_in(["Segmentation fault", "JavaScript heap out of memory"]) is None
    assert failure_in([]) is None


def test_every_entry_says_what_to_do() -> None:
    for _, failure in FAILURES:
        assert any(verb in failure.advice for verb in ("start", "update", "run", "log in", "set"))


def test_what_the_agent_says_of_the_conversation_is_understood() -> None:
    unknown = failure_in(["No conversation found with session ID: 1"])
    known = failure_in(["Error: Session ID 1 is already in use."])
    assert unknown is not None
    assert known is not None
    assert (unknown.has_conversation, known.has_conversation) == (False, True)
