"""The methods that a process inside an agent may call. A method that is not in the table is refused."""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType


class Access(Enum):
    """What a method allows a process inside an agent to do. A person may do everything."""

    READ = "read"  # it changes nothing: every process may call it, without identification
    PERSON = "person"  # it acts for a person: refused, and in the audit
    REPORT = "report"  # it adds reports, of which agents' tools are the source: allowed, and in the audit
    BY_REQUEST = "by request"  # its handler decides by the request, and writes the audit entry


_READ, _PERSON, _REPORT, _BY_REQUEST = Access.READ, Access.PERSON, Access.REPORT, Access.BY_REQUEST


def _of(service: str, methods: Mapping[str, Access]) -> dict[str, Access]:
    return {f"{service}.{method}": access for method, access in methods.items()}


# Unimplemented services are omitted: they are refused until their access is decided method by method.
TABLE: Mapping[str, Access] = MappingProxyType(
    _of("betcode.v1.AdminService", {"StopDaemon": _PERSON})
    | _of(
        "betcode.v1.AgentService",
        {
            "Converse": _BY_REQUEST,  # watching is reading; a message, an answer, a cancel or a new session is not
            "Submit": _PERSON,
            "ListSessions": _READ,
            "ResumeSession": _READ,
            "Follow": _READ,
            "ReadEvents": _READ,
            "ReadBlob": _READ,
            "ExportSession": _READ,
            "SearchSessions": _READ,
            "DiffSession": _READ,
            "ListProviders": _READ,
            "ListPending": _READ,
            "WatchPending": _READ,
            "ListSessionGrants": _READ,
            "CompactSession": _PERSON,
            "CancelTurn": _PERSON,
            "WithdrawMessage": _PERSON,
            "RequestInputLock": _PERSON,
            "AnswerLockRequest": _PERSON,
            "RenameSession": _PERSON,
            "CloseSession": _PERSON,
            "DeleteSession": _PERSON,
            "ForkSession": _PERSON,
            "ClearSessionGrants": _PERSON,
            "SetSessionGrant": _PERSON,
            "AnswerPermission": _PERSON,
            "AnswerQuestion": _PERSON,
            "SetBudget": _PERSON,
        },
    )
    | _of("betcode.v1.AuditService", {"ListAudit": _READ, "VerifyAudit": _READ})
    | _of("betcode.v1.BetCodeHealth", {"GetHealthDetails": _READ})
    | _of(
        "betcode.v1.ConfigService",
        {"GetSettings": _READ, "ListMcpServers": _READ, "GetPermissions": _READ, "UpdateSettings": _PERSON},
    )
    | _of(
        "betcode.v1.PolicyService",
        {
            "CheckPolicy": _READ,
            "TryPolicy": _READ,
            "InspectProject": _READ,
            "ListTrusted": _READ,
            "TrustProject": _PERSON,
        },
    )
    | _of("betcode.v1.VersionService", {"GetVersion": _READ, "NegotiateCapabilities": _READ})
    | _of(
        "betcode.v1.WorktreeService",
        {
            "ListWorktrees": _READ,
            "InspectWorktree": _READ,
            "ListRemovedWorktrees": _READ,
            "ReportWorktrees": _READ,
            "ReadSetupOutput": _READ,
            "DiffWorktree": _READ,
            "ListRepositories": _READ,
            "ListBranches": _READ,
            "CreateWorktree": _BY_REQUEST,  # without a setup, and not at a path of its choice
            "WatchCreateWorktree": _BY_REQUEST,
            "SwitchWorktree": _PERSON,
            "RemoveWorktree": _PERSON,
            "SetUpWorktree": _PERSON,
            "RestoreWorktree": _PERSON,
            "ForgetWorktree": _PERSON,
        },
    )
    | _of(
        "obey.local.v1.LocalDaemonService",
        {
            "Ping": _READ,
            "GetState": _READ,
            "GetSession": _READ,
            "ListSessions": _READ,
            "WatchSession": _READ,
            "WatchAllSessions": _READ,
            "WatchActivity": _READ,
            "ReportCampaignEvent": _REPORT,  # camp and fest run as tools of agents, too
            "ReportFestivalEvent": _REPORT,
            "StreamAgentActivity": _REPORT,
            "Execute": _PERSON,
            "Shutdown": _PERSON,
            "CreateSession": _PERSON,
            "SendMessage": _PERSON,
            "StopSession": _PERSON,
            "RestartSession": _PERSON,
            "AnswerPermission": _PERSON,
        },
    )
)


def access_of(method: str) -> Access:
    """Return the access of a method by its full name, such as `betcode.v1.AgentService.Submit`."""
    return TABLE.get(method, Access.PERSON)
