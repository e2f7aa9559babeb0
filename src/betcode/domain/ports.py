"""The interfaces of agents that the engine uses: a provider, and the dialogue with one agent."""

from collections.abc import Mapping
from typing import Protocol

from betcode.domain.agents.capabilities import Capabilities
from betcode.domain.agents.commands import Command
from betcode.domain.agents.dialogue_view import DialogueView
from betcode.domain.agents.provider_about import ProviderAbout
from betcode.domain.runs.journal_record import Record
from betcode.domain.runs.launch import Launch, LaunchContext
from betcode.domain.store.rows import (
    NewSession,
)
from betcode.v1.agent_pb2 import AgentEvent


class Dialogue(Protocol):
    """Translates one run's records into events. No I/O, no clock; same records, same events."""

    def receive(self, record: Record) -> list[AgentEvent]:
        """Return the events of one record, with sequence 0 and the record's time."""
        ...

    def addressed(self, line: bytes) -> bytes:
        """Return a line of `Provider.encode` with the ids that this agent uses; another agent may have got it before.

        Changes nothing. Empty: the agent no longer waits for it.
        """
        ...

    def state(self) -> bytes:
        """Small and versioned; `Provider.dialogue` takes it back."""
        ...

    def may_ask(self, record: Record) -> bool:
        """Return whether the record may contain a tool call to be decided about; a quick test with false positives."""
        ...

    @property
    def view(self) -> DialogueView:
        """Return what the dialogue knows after its last record; the same value until the next record."""
        ...

    def directory_of(self, tool_use_id: str) -> str | None:
        """Return the directory of a tool call that the agent announced before it asks; None: it did not, or the call is
        over.
        """
        ...

    def voided(self, now_ns: int) -> list[AgentEvent]:
        """Return events that retract partial text of a crashed agent, since the next one repeats it."""
        ...


class Provider(Protocol):
    """A kind of agent."""

    name: str
    capabilities: Capabilities
    dialogue_version: int

    def check(self, environment: Mapping[str, str]) -> None:
        """Raises AgentUnavailable, with what to do, where the agent cannot be started in this environment at all."""
        ...

    def check_session(self, session: NewSession) -> None:
        """Raises InvalidRequest, with what to do, where a new session asks for what this kind of agent cannot be."""
        ...

    def capabilities_for(self, session: NewSession, /) -> Capabilities:
        """Return what the agent of this session can do: one kind may have several programs."""
        ...

    def about(self, environment: Mapping[str, str]) -> ProviderAbout:
        """Return what is known of it for sessions with this environment, without network and without running it."""
        ...

    def launch(self, session: NewSession, context: LaunchContext) -> Launch: ...

    def encode(self, command: Command, /) -> bytes:
        """Return one line for the agent's stdin, with its newline; its effect comes with the record.

        Data that only the dialogue with the running agent has, such as the number of a request, is added by
        `Dialogue.addressed`. Raises InvalidRequest if the provider's agents have no such command.
        """
        ...

    def dialogue(self, session: NewSession, conversation_id: str, state: bytes = b"", *, version: int = 0) -> Dialogue:
        """Return a new dialogue, or one restored from a stored state of that version."""
        ...

    def carry_over(self, state: bytes, version: int) -> bytes:
        """Return what a new run knows of the conversation from the last state of the previous run."""
        ...
