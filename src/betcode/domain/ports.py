"""The interfaces of agents that the engine uses: a provider, and the dialogue with one agent."""

from collections.abc import Mapping
from typing import Protocol

from betcode.domain.agents.agent_state import ApiPause, CallScreening, Failure, ToolCall
from betcode.domain.agents.capabilities import Capabilities
from betcode.domain.agents.commands import Command, Errand, RefuseRequest
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
    def is_ready(self) -> bool:
        """Return whether greetings are over, and a message can be sent."""
        ...

    @property
    def errands(self) -> tuple[Errand, ...]:
        """Return the lines that the dialogue itself sends, in order; each is removed when its record is read."""
        ...

    @property
    def turn_open(self) -> bool: ...
    @property
    def has_spoken(self) -> bool:
        """Return whether the agent has sent something by itself, not only answers to our commands."""
        ...

    @property
    def call_screening(self) -> CallScreening: ...

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """Return tool calls that wait to be screened; each is removed when its answer is read."""
        ...

    def directory_of(self, tool_use_id: str) -> str | None:
        """Return the directory of a tool call that the agent announced before it asks; None: it did not, or the call is
        over.
        """
        ...

    @property
    def answering(self) -> tuple[str, ...]:
        """The messages that the open turn has begun to answer; others may be queued in the agent."""
        ...

    @property
    def withdrawing(self) -> frozenset[str]:
        """Return the messages that the agent was asked to withdraw, and has not answered yet."""
        ...

    @property
    def holds(self) -> tuple[str, ...]:
        """Return what keeps the agent from being idle besides turns and prompts: background tasks, scheduled jobs."""
        ...

    @property
    def conversation_id(self) -> str: ...
    @property
    def conversation_began(self) -> bool: ...
    @property
    def open_requests(self) -> tuple[str, ...]:
        """The ids of prompts the agent waits for."""
        ...

    @property
    def refusals(self) -> tuple[RefuseRequest, ...]:
        """Return unsupported requests of the agent, to be refused; empty after the refusal was read."""
        ...

    @property
    def plan_mode(self) -> bool:
        """Return whether the agent only plans; a process that resumes must be set to it."""
        ...

    @property
    def chosen(self) -> Mapping[str, str]:
        """Return settings such as `model` that a person chose by an agent's command; a new process must get them."""
        ...

    @property
    def api_pause(self) -> ApiPause | None:
        """Return whether the model's API delays the agent, or has been refusing it for some time."""
        ...

    @property
    def failure(self) -> Failure | None:
        """Return the cause if an agent with this last output would fail repeatedly; None: try again."""
        ...

    def voided(self, now_ns: int) -> list[AgentEvent]:
        """Return events that retract partial text of a crashed agent, since the next one repeats it."""
        ...

    @property
    def running_tools(self) -> tuple[str, ...]:
        """The names of tools that may have begun and have not ended; one that waits for a person has not begun."""
        ...

    @property
    def last_errors(self) -> tuple[str, ...]:
        """The newest lines of the agent's stderr, a few and cut short."""
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
