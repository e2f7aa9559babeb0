"""The engine: one writer per session, connections to holders, prompts, slots and the tail.

It decides what happens. The store behind `domain.store.store_ports.Store` remembers it, providers translate, holders
own the processes, and the server only converts.
"""

from betcode.engine.agents.agent_processes import AgentProcesses, OwnProcesses
from betcode.engine.agents.agent_reports import AgentReport
from betcode.engine.client_name import NOBODY, ClientName
from betcode.engine.core.compaction import CompactionResult
from betcode.engine.core.prompt_decision import PermissionAnswer
from betcode.engine.engine import Engine
from betcode.engine.fault_points import Faults, no_faults
from betcode.engine.lifespan import open_engine
from betcode.engine.maintenance.shutdown import AgentShutdownPolicy, ShutdownReport
from betcode.engine.operations.audit import AgentCall
from betcode.engine.operations.lifecycle.service import LifecycleStatus
from betcode.engine.operations.withdraw import WithdrawResult
from betcode.engine.permissions.policy_check import PolicyCheckResult
from betcode.engine.results import AcceptedMessage, EngineFacts, Summary
from betcode.util.bounded_io import BoundedIOPool

__all__ = [
    "NOBODY",
    "AcceptedMessage",
    "AgentCall",
    "AgentProcesses",
    "AgentReport",
    "AgentShutdownPolicy",
    "BoundedIOPool",
    "ClientName",
    "CompactionResult",
    "Engine",
    "EngineFacts",
    "Faults",
    "LifecycleStatus",
    "OwnProcesses",
    "PermissionAnswer",
    "PolicyCheckResult",
    "ShutdownReport",
    "Summary",
    "WithdrawResult",
    "no_faults",
    "open_engine",
]
