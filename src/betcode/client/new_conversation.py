"""The options of a session that does not exist yet."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from betcode.domain.values.identifiers import new_session_id
from betcode.v1 import agent_pb2 as v1


@dataclass(frozen=True, slots=True)
class NewConversation:
    """The parameters of a session; empty means the daemon's or the agent's default."""

    working_directory: str
    provider: str = ""
    model: str = ""
    allowed_tools: tuple[str, ...] = ()
    plan_mode: bool = False
    metadata: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    budget: v1.Budget | None = None
    worktree_id: str = ""  # the worktree to start in; `working_directory` is then empty, or a directory in it
    # If the directory is in the main worktree: start in the same directory of the active one
    in_active_worktree: bool = False

    def start(self) -> v1.StartConversation:
        """Return the request for one session; sending it again creates no other."""
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
