"""The base class of all providers that speak the protocol."""

import logging
from abc import ABC, abstractmethod

from betcode.domain.agents.capabilities import Capabilities
from betcode.domain.ports import Dialogue
from betcode.domain.store.rows import NewSession
from betcode.providers.acp.dialogue import AcpDialogue
from betcode.providers.acp.profile import Profile
from betcode.providers.acp.state import VERSION, State, carried_over, dump, load
from betcode.providers.stored_state import UnreadableState

logger = logging.getLogger(__name__)


class AcpFamily(ABC):
    """The part of `betcode.domain.ports.Provider` that is about the dialogue."""

    dialogue_version = VERSION

    @abstractmethod
    def profile_of(self, session: NewSession) -> Profile:
        """How this session's program is spoken to."""

    def mode_of(self, _: NewSession) -> str:
        """The mode that the session's client wants; empty: the profile's."""
        return ""

    def capabilities_for(self, session: NewSession) -> Capabilities:
        return self.profile_of(session).able

    def dialogue(self, session: NewSession, conversation_id: str, state: bytes = b"", *, version: int = 0) -> Dialogue:
        if not state:
            return self._made(session, State(conversation_id=conversation_id))
        try:
            return self._made(session, load(state, version))
        except UnreadableState as trouble:
            logger.warning("the dialogue's state cannot be read (%s): taken up at the next turn", trouble)
            return self._made(session, State(conversation_id=conversation_id, began=True, lost=True))

    def carry_over(self, state: bytes, version: int) -> bytes:
        try:
            return dump(carried_over(load(state, version)))
        except UnreadableState as trouble:
            logger.warning("the dialogue's state cannot be read (%s): totals and lists start afresh", trouble)
            return b""

    def _made(self, session: NewSession, state: State) -> AcpDialogue:
        return AcpDialogue(session, state, self.profile_of(session), self.mode_of(session))
