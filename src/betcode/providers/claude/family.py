"""The base class of providers whose agents speak the protocol of Claude Code."""

from betcode.domain.agents.commands import Command
from betcode.domain.ports import Dialogue
from betcode.domain.store.rows import NewSession
from betcode.providers.claude import commands
from betcode.providers.claude.dialogue import ClaudeDialogue
from betcode.providers.claude.state import VERSION, State, carried_over, dump, load
from betcode.providers.provider_base import DialogueStates, ProviderBase


class ClaudeFamily(ProviderBase[State]):
    """The part of `betcode.domain.ports.Provider` that is about the dialogue."""

    dialogue_version = VERSION
    states = DialogueStates(
        new=lambda conversation_id: State(conversation_id=conversation_id),
        lost=lambda conversation_id: State(conversation_id=conversation_id, began=True, lost=True),
        load=load,
        dump=dump,
        carried_over=carried_over,
    )

    def open_dialogue(self, session: NewSession, state: State) -> Dialogue:
        return ClaudeDialogue(session, state)

    def encode(self, command: Command) -> bytes:
        """Raises InvalidRequest."""
        return commands.line(command)
