"""The part that all providers share: create a dialogue from its stored state, and carry it over to the next run."""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from betcode.domain.ports import Dialogue
from betcode.domain.store.rows import NewSession
from betcode.providers.stored_state import UnreadableState

logger = logging.getLogger(__name__)

StateT = TypeVar("StateT")


@dataclass(frozen=True, slots=True)
class DialogueStates(Generic[StateT]):
    """How the state of a dialogue is created, stored and loaded."""

    new: Callable[[str], StateT]  # of a conversation, by its id
    lost: Callable[[str], StateT]  # of a conversation whose stored state cannot be loaded
    load: Callable[[bytes, int], StateT]  # raises UnreadableState
    dump: Callable[[StateT], bytes]
    carried_over: Callable[[StateT], StateT]  # the part that the next run of the session starts with


class ProviderBase(ABC, Generic[StateT]):
    """The part of `betcode.domain.ports.Provider` that is about the states of dialogues."""

    states: DialogueStates[StateT]

    @abstractmethod
    def open_dialogue(self, session: NewSession, state: StateT) -> Dialogue:
        """The dialogue of a session, at this state."""

    def dialogue(self, session: NewSession, conversation_id: str, state: bytes = b"", *, version: int = 0) -> Dialogue:
        return self.open_dialogue(session, self._state_from(conversation_id, state, version))

    def carry_over(self, state: bytes, version: int) -> bytes:
        try:
            return self.states.dump(self.states.carried_over(self.states.load(state, version)))
        except UnreadableState as trouble:
            logger.warning("the dialogue's state cannot be loaded (%s): totals and lists start at zero", trouble)
            return b""

    def _state_from(self, conversation_id: str, state: bytes, version: int) -> StateT:
        if not state:
            return self.states.new(conversation_id)
        try:
            return self.states.load(state, version)
        except UnreadableState as trouble:
            logger.warning("the dialogue's state cannot be loaded (%s): events resume at the next turn", trouble)
            return self.states.lost(conversation_id)
