"""Dependencies that all sessions of one daemon share."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anyio.abc import TaskGroup

from betcode.config.settings import EngineSettings
from betcode.domain.errors import StorageDegraded
from betcode.domain.metrics.counts import Counts
from betcode.domain.metrics.turn_trace import TraceSink
from betcode.domain.permissions.notification import Notifier
from betcode.domain.ports import Provider
from betcode.domain.repositories.worktrees import WorktreePlaces
from betcode.domain.runs.crash_policy import CrashPolicy
from betcode.domain.sessions.turn_watch import TurnListener
from betcode.domain.store.store_ports import Store
from betcode.engine.agents.agent_processes import AgentProcesses
from betcode.engine.agents.agent_reports import AgentReports
from betcode.engine.agents.login_shell import LoginShell
from betcode.engine.agents.memory import AgentMemory
from betcode.engine.agents.slots import Slots
from betcode.engine.fault_points import Faults, no_faults
from betcode.engine.follow.connection_store import ConnectionStore
from betcode.engine.follow.growth import Growth
from betcode.engine.maintenance.database_quota import DatabaseQuota
from betcode.engine.maintenance.deadlines import Deadlines
from betcode.engine.maintenance.run_problems import RunProblems
from betcode.engine.operations.lifecycle.phases import PhaseBoard
from betcode.engine.permissions.rule_files import RuleShelf
from betcode.util.bounded_io import BoundedIOPool

NOT_WRITABLE_YET = "The daemon cannot write to its database; sessions can only be read"

DefaultProvider = Callable[[Mapping[str, str]], Awaitable[str]]  # of sessions with this environment; "": any


async def any_provider(_: Mapping[str, str]) -> str:
    """No provider is the default one: the settings' model is for each of them."""
    return ""


@dataclass(slots=True)
class EngineContext:
    store: Store
    providers: Mapping[str, Provider]
    settings: EngineSettings  # the only part that changes: settings may be read again
    runs_dir: Path
    tasks: TaskGroup  # of the engine itself; a session starts its own with `LiveSession.tasks`
    slots: Slots
    memory: AgentMemory
    roster: ConnectionStore
    processes: AgentProcesses = field(default_factory=AgentProcesses)
    login_shell: LoginShell = field(default_factory=LoginShell)
    faults: Faults = no_faults
    stopping: anyio.Event = field(default_factory=anyio.Event)  # no agent is begun any more
    adopted: anyio.Event = field(default_factory=anyio.Event)  # all agents of an earlier daemon are known
    crashes: CrashPolicy = field(default_factory=CrashPolicy)
    database: DatabaseQuota = field(default_factory=DatabaseQuota)
    deadlines: Deadlines = field(default_factory=Deadlines)  # of prompts
    notifier: Notifier | None = None
    rules: RuleShelf = field(default_factory=RuleShelf)
    fixed: frozenset[str] = frozenset()  # settings that no project can change
    file_io: BoundedIOPool = field(default_factory=BoundedIOPool)  # at the directories of new sessions
    counts: Counts = field(default_factory=Counts)  # what all sessions did
    default_provider: DefaultProvider = any_provider
    umask: int = -1  # the user's, for what agents write; -1: our own
    traces: TraceSink | None = None  # None: nobody wants them
    places: WorktreePlaces | None = None  # of sessions that belong to worktrees
    places_known: anyio.Event = field(default_factory=anyio.Event)
    watch: TurnListener | None = None  # of turns as they begin and end
    phases: PhaseBoard = field(default_factory=PhaseBoard)
    growth: Growth = field(default_factory=Growth)
    timeouts: Deadlines = field(default_factory=Deadlines)  # of sessions
    run_problems: RunProblems = field(default_factory=RunProblems)
    reports: AgentReports = field(init=False)

    def __post_init__(self) -> None:
        self.reports = AgentReports(self.store)

    @property
    def may_begin(self) -> bool:
        """Whether an agent may be started: those of an earlier daemon are known, and this one does not stop."""
        return self.adopted.is_set() and not self.stopping.is_set()

    def refuse_before_adoption(self) -> None:
        """Raises StorageDegraded."""
        if not self.adopted.is_set():
            raise StorageDegraded(f"{NOT_WRITABLE_YET}. Retry when this is resolved", retry_after_ms="2000")

    def place_with(self, places: WorktreePlaces) -> None:
        """Ask these from now on where sessions belong and where their agents start."""
        self.places = places
        self.places_known.set()
