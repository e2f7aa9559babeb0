"""Builds the events of one record of Claude Code."""

from betcode.domain.store.rows import NewSession
from betcode.providers import event_builder
from betcode.providers.claude.state import State
from betcode.v1 import agent_pb2 as v1


class ClaudeEventBuilder(event_builder.EventBuilder[State]):
    __slots__ = ("commands",)

    def __init__(
        self,
        state: State,
        session: NewSession,
        wall_ns: int,
        mono_ns: int,
        commands: dict[str, v1.AgentCommand] | None = None,
    ) -> None:
        super().__init__(state, session, wall_ns, mono_ns)
        self.commands = {} if commands is None else commands  # as far as the dialogue itself has read of them
