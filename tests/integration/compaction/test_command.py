"""`betcode session compact` and `show --all`: what a person sees of a compaction."""

from collections.abc import Iterator

import pytest

from support.processes.command import Shell, shell


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with shell(tmp_path_factory.mktemp("compact")) as commands:
        yield commands


def begin(here: Shell) -> str:
    """A session with two exchanges."""
    session = str(here.json("run", "--json", "say the first answer")["session_id"])
    assert here.run("run", "--session", session, "tokens 9000\nsay , the second").returncode == 0
    return session


@pytest.mark.behaviour("compaction.trigger.manual", "compaction.archive")
def test_the_saved_tokens_are_printed_and_the_history_stays_readable(here: Shell) -> None:
    session = begin(here)
    (here.work / "compact").write_text("wait go")
    try:
        with here.terminal("session", "compact", session) as person:
            person.expect("Compacting…")
            (here.work / "go").touch()
            person.expect("Compacted: 4 messages became 1, 8,960 tokens fewer in the context")
            assert person.ended() == 0
        assert person.seen.count("Compacting…") == 1
    finally:
        (here.work / "compact").unlink()
    shown = here.run("session", "show", session).stdout
    assert f"… earlier history was compacted: betcode session show --all {session}\n" in shown
    assert "the second" in shown
    assert "The conversation was compacted: 8,960 tokens saved" in shown
    assert "the first answer" not in shown
    whole = here.run("session", "show", "--all", session).stdout
    assert whole.index("> say the first answer") < whole.index("the second")
    assert "earlier history was compacted" not in whole
    assert "the first answer" in here.run("session", "export", session, "--format", "markdown").stdout


def test_json_is_for_programs(here: Shell) -> None:
    session = begin(here)
    told = here.json("session", "compact", "--json", session)
    assert told == {"session_id": session, "messages_before": 4, "messages_after": 1, "tokens_saved": 8960}
    events = here.json("session", "show", "--json", session)["events"]
    assert events[0]["session_info"]["is_compacted"]
    assert events[1]["sequence"] == int(events[0]["session_info"]["compacted_before"])
    assert here.run("session", "compact", session).stdout == "Nothing to compact\n"


def test_what_went_wrong_is_one_sentence_with_the_agents_reason(here: Shell) -> None:
    session = begin(here)
    (here.work / "compact").write_text("fail the model is tired")
    try:
        failed = here.run("session", "compact", session)
    finally:
        (here.work / "compact").unlink()
    assert failed.returncode == 1
    assert "betcode: Session compaction failed: the model is tired\n" in failed.stderr
    assert here.run("session", "compact", "no-such-session").returncode == 6


def test_a_client_that_attaches_is_shown_how_to_read_the_rest(here: Shell) -> None:
    session = begin(here)
    here.run("session", "compact", session)
    for flags, told in (((), True), (("--all",), False)):
        with here.terminal("attach", *flags, session) as person:
            person.expect("compacted: 8,960 tokens saved")
            person.expect("> ")
            person.type("/quit\n")
            assert person.ended() == 0
        assert ("earlier history was compacted" in person.seen) is told
        assert ("the first answer" in person.seen) is not told
