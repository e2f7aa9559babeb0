"""Unsent messages: none is lost, and none counts twice."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from betcode.domain.agents.commands import AttachedFile
from betcode.domain.values.identifiers import MessageId, new_message_id
from betcode.tui.composer.outbox import Outbox, UnsentMessage

SESSION = "session"
FILE = AttachedFile("a.bin", "", b"\n\x00{}")


def message(at: int, text: str = "text") -> UnsentMessage:
    return UnsentMessage(new_message_id(), text, (FILE,), at)


def test_added_messages_survive_a_restart_in_order(tmp_path: Path) -> None:
    late, early = message(2, "ß\n\u2028"), message(1)
    box = Outbox(tmp_path, SESSION)
    box.add(late)
    box.add(early)
    assert Outbox(tmp_path, SESSION).unsent == (early, late)
    assert Outbox(tmp_path, "another").unsent == ()


def test_a_tried_message_cannot_be_withdrawn_and_is_retried_under_its_id(tmp_path: Path) -> None:
    box = Outbox(tmp_path, SESSION)
    one = message(1)
    box.add(one)
    assert box.try_next() is not None
    assert box.withdraw(one.message_id) is None
    again = Outbox(tmp_path, SESSION).try_next()
    assert again is not None
    assert again.message_id == one.message_id


def test_a_message_that_cannot_be_stored_is_sent_anyway(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    box = Outbox(tmp_path / "file", SESSION)
    one = message(1)
    with pytest.raises(FileExistsError):
        box.add(one)
    tried = box.try_next()
    assert tried is not None
    assert tried.message_id == one.message_id


def test_foreign_files_are_passed_over(tmp_path: Path) -> None:
    box = Outbox(tmp_path, SESSION)
    box.add(message(1))
    (directory,) = tmp_path.iterdir()
    (directory / f"{2:020d}-{new_message_id()}.new").write_bytes(b'{"text": "x"}\n')
    (directory / "x.new").write_bytes(b"")
    assert len(Outbox(tmp_path, SESSION).unsent) == 1


class TwoScreens(RuleBasedStateMachine):
    """Two screens with one outbox, either of which may end at any moment, and a daemon that counts ids."""

    def __init__(self) -> None:
        super().__init__()
        self._directory = tempfile.TemporaryDirectory()
        self._screens = [self._open(), self._open()]
        self._clock = 0
        self._written: set[MessageId] = set()
        self._arrived: set[MessageId] = set()
        self._taken_back: set[MessageId] = set()

    def _open(self) -> Outbox:
        return Outbox(Path(self._directory.name), SESSION)

    @rule(screen=st.integers(0, 1))
    def write(self, screen: int) -> None:
        self._clock += 1
        one = message(self._clock)
        self._written.add(one.message_id)
        self._screens[screen].add(one)

    @rule(screen=st.integers(0, 1), arrives=st.booleans(), is_told=st.booleans())
    def send(self, screen: int, arrives: bool, is_told: bool) -> None:
        one = self._screens[screen].try_next()
        if one is not None and arrives:
            self._arrived.add(one.message_id)
            if is_told:
                self._screens[screen].settle(one.message_id)

    @rule(screen=st.integers(0, 1), which=st.integers(0, 5))
    def withdraw(self, screen: int, which: int) -> None:
        unsent = self._screens[screen].unsent
        if which < len(unsent):
            back = self._screens[screen].withdraw(unsent[which].message_id)
            if back is not None:
                assert back.message_id not in self._taken_back
                self._taken_back.add(back.message_id)

    @rule(screen=st.integers(0, 1))
    def is_killed(self, screen: int) -> None:
        self._screens[screen] = self._open()

    @invariant()
    def nothing_is_lost_and_nothing_is_both(self) -> None:
        assert not self._arrived & self._taken_back
        kept = {one.message_id for one in self._open().unsent}
        assert self._written == self._arrived | self._taken_back | kept

    def teardown(self) -> None:
        self._directory.cleanup()


def test_two_screens_lose_nothing_and_send_nothing_that_was_taken_back() -> None:
    run_state_machine_as_test(TwoScreens, settings=settings(stateful_step_count=25))
