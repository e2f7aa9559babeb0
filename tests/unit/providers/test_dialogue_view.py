"""The view of a dialogue: one value per state, built when it is read."""

from dataclasses import FrozenInstanceError

import pytest

from betcode.domain.agents.dialogue_view import DialogueView
from betcode.providers.claude.dialogue import ClaudeDialogue
from betcode.providers.claude.state import State
from support.recordings.claude import SESSION
from support.recordings.dialogue import INIT, RESULT, fresh, hear, say

MESSAGE = {"type": "user", "uuid": "m-1", "message": {"role": "user", "content": "Hello"}}


class _Counted(ClaudeDialogue):
    """Counts how often its view is built."""

    built = 0

    def _build_view(self) -> DialogueView:
        self.built += 1
        return super()._build_view()


def test_a_view_is_built_once_for_any_number_of_records() -> None:
    dialogue = _Counted(SESSION, State())
    hear(dialogue, MESSAGE)
    say(dialogue, INIT, INIT, INIT)
    assert dialogue.built == 0
    assert dialogue.view is dialogue.view
    assert (dialogue.view.turn_open, dialogue.view.is_ready) == (True, True)
    assert dialogue.built == 1


def test_a_view_stays_as_it_was_when_the_dialogue_goes_on() -> None:
    dialogue = fresh()
    say(dialogue, INIT)
    hear(dialogue, MESSAGE)
    before = dialogue.view
    say(dialogue, RESULT)
    assert before.turn_open
    assert not dialogue.view.turn_open


def test_settings_that_a_person_chose_are_copied() -> None:
    state = State(chosen={"model": "haiku"})
    view = ClaudeDialogue(SESSION, state).view
    state.chosen["model"] = "opus"
    assert view.chosen == {"model": "haiku"}


def test_partial_text_that_is_retracted_makes_a_new_view() -> None:
    dialogue = fresh()
    before = dialogue.view
    dialogue.voided(1)
    assert dialogue.view is not before
    assert dialogue.view == before


def test_a_view_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        fresh().view.turn_open = True  # type: ignore[misc]
