"""The options of a session that does not exist yet."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from betcode.domain.values.identifiers import new_session_id
from betcode.v1 import agent_pb2 as v1


@dataclass(frozen=True, slots=True)
class NewConversation:
    """What a session is made with; empty means the daemon's or the agent's default."""

    working_directory: str
    provider: str = ""
    model: str = ""
    allowed_tools: tuple[str, ...] = ()
    plan_mode: bool = False
    metadata: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    budget: v1.Budget | None = None
    worktree_id: str = ""  # it starts there; `working_directory` is then empty, or a place in it
    in_active_worktree: bool = False  # where the directory is in the main worktree: in the same place of the active one

    def start(self) -> v1.StartConversation:
        """The request for one such session: sent again, it asks for the same one."""
        return v1.StartConversation(
            working_directory=self.working_directory,
            provider=self.provider,
            model=self.model,
            allowed_tools=self.allowed_tools,
            plan_mode=self.plan_mode,
            metadata=self.metadata,
            environment=self.environment,
            budget=self.budget,
            new_session_id=new_session_id(),
            worktree_id=self.worktree_id,
            in_active_worktree=self.in_active_worktree,
        )
