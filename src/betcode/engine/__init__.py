"""The supervisor: one writer per session, attachment to holders, prompts, slots and the tail.

It decides what happens. The store behind `domain.ports.Store` remembers it, providers translate, holders own the
processes, and the server only converts.
"""

from betcode.engine.agents.agent_processes import AgentProcesses, OwnProcesses
from betcode.engine.agents.agent_reports import Reported
from betcode.engine.client_name import NOBODY, ClientName
from betcode.engine.core.decision_types import PermissionAnswer
from betcode.engine.engine import Supervisor
from betcode.engine.fault_points import Faults, no_faults
from betcode.engine.lifespan import open_supervisor
from betcode.engine.maintenance.shutdown import AgentsAtStop, Parting
from betcode.engine.operations.audit import AgentCall
from betcode.engine.operations.compact import Compacted
from betcode.engine.operations.lifecycle.service import Standing
from betcode.engine.operations.withdraw import Withdrawn
from betcode.engine.permissions.policy_check import Checked
from betcode.engine.results import Accepted, EngineFacts, Summary
from betcode.util.bounded_io import BoundedIOPool

__all__ = [
    "NOBODY",
    "Accepted",
    "AgentCall",
    "AgentProcesses",
    "AgentsAtStop",
    "BoundedIOPool",
    "Checked",
    "ClientName",
    "Compacted",
    "EngineFacts",
    "Faults",
    "OwnProcesses",
    "Parting",
    "PermissionAnswer",
    "Reported",
    "Standing",
    "Summary",
    "Supervisor",
    "Withdrawn",
    "no_faults",
    "open_supervisor",
]
