"""The supervisor: one writer per session, attachment to holders, prompts, slots and the tail.

It decides what happens. The store behind `domain.ports.Store` remembers it, providers translate, holders own the
processes, and the server only converts.
"""

from betcode.sessions.agent_processes import AgentProcesses, OwnProcesses
from betcode.sessions.audit_desk import AgentCall
from betcode.sessions.clients import NOBODY, ClientName
from betcode.sessions.compacting import Compacted
from betcode.sessions.fault_points import Faults, no_faults
from betcode.sessions.life_desk import Standing
from betcode.sessions.looking import Lookouts
from betcode.sessions.opening import open_supervisor
from betcode.sessions.policy_check import Checked
from betcode.sessions.prompts import PermissionAnswer
from betcode.sessions.reported import Reported
from betcode.sessions.stopping import AgentsAtStop, Parting
from betcode.sessions.supervisor import Supervisor
from betcode.sessions.told import Accepted, EngineFacts, Summary
from betcode.sessions.withdrawing import Withdrawn

__all__ = [
    "NOBODY",
    "Accepted",
    "AgentCall",
    "AgentProcesses",
    "AgentsAtStop",
    "Checked",
    "ClientName",
    "Compacted",
    "EngineFacts",
    "Faults",
    "Lookouts",
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
