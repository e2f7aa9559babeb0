"""The base class of all providers that speak the protocol."""

from abc import abstractmethod

from betcode.domain.agents.capabilities import Capabilities
from betcode.domain.agents.commands import Command
from betcode.domain.ports import Dialogue
from betcode.domain.store.rows import NewSession
from betcode.providers.acp import commands
from betcode.providers.acp.dialogue import AcpDialogue
from betcode.providers.acp.profile import Profile
from betcode.providers.acp.state import VERSION, State, carried_over, dump, load
from betcode.providers.provider_base import DialogueStates, ProviderBase


class AcpFamily(ProviderBase[State]):
    """The part of `betcode.domain.ports.Provider` that is about the dialogue."""

    dialogue_version = VERSION
    states = DialogueStates(
        new=lambda conversation_id: State(conversation_id=conversation_id),
        lost=lambda conversation_id: State(conversation_id=conversation_id, began=True, lost=True),
        load=load,
        dump=dump,
        carried_over=carried_over,
    )

    @abstractmethod
    def profile_of(self, session: NewSession) -> Profile:
        """Return the profile of this session's program."""

    def mode_of(self, _: NewSession) -> str:
        """Return the mode that the session's client requests; empty: the profile's mode."""
        return ""

    def capabilities_for(self, session: NewSession) -> Capabilities:
        return self.profile_of(session).able

    def open_dialogue(self, session: NewSession, state: State) -> Dialogue:
        return AcpDialogue(session, state, self.profile_of(session), self.mode_of(session))

    def encode(self, command: Command) -> bytes:
        """Raises InvalidRequest."""
        return commands.line(command)
