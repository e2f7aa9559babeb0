"""The audit entry of a decision: who or what decided, about which tool call, and how."""

import hashlib
from dataclasses import dataclass
from enum import StrEnum

FIRST_HASH = bytes(32)  # the hash before the first row


class AuditKind(StrEnum):
    """The kind of an audit entry."""

    DECISION = "decision"  # a use of a tool was allowed, denied or put to a person
    REFUSED_ANSWER = "refused_answer"  # a process that may not act for a person tried to; `note` has the call
    AGENT_CALL = "agent_call"  # a process inside an agent made an allowed change
    GRANT = "grant"  # a session's grants were changed
    TRUST = "trust"  # a project was trusted, or no longer is
    UNKNOWN = "unknown"  # written by a later release, or the file was modified

    @classmethod
    def _missing_(cls, _value: object) -> "AuditKind":
        return cls.UNKNOWN


class DecidedBy(StrEnum):
    RULE = "rule"
    GRANT = "grant"
    PERSON = "person"  # who answered, cancelled the turn or closed the session
    POLICY = "policy"  # by a client with an answer set in advance, without a person to ask
    EXPIRY = "expiry"
    AGENT = "agent"  # it withdrew its request, or has ended
    KEPT_ANSWER = "kept_answer"  # given earlier by a person, to an agent that had ended
    GATE = "gate"
    UNKNOWN = "unknown"

    @classmethod
    def _missing_(cls, _value: object) -> "DecidedBy":
        return cls.UNKNOWN


@dataclass(frozen=True, slots=True)
class AuditEntry:
    at_ns: int
    session_id: str
    request_id: str
    tool_name: str
    input_sha256: str
    what: AuditKind
    outcome: str  # "allow", "deny", "ask", "expired", "withdrawn", "refused", "granted", "cleared"
    decided_by: DecidedBy
    rule: str = ""  # its text and its source
    client: str = ""
    peer: str = ""  # the client's process, as the system reports it
    note: str = ""


@dataclass(frozen=True, slots=True)
class AuditRow:
    number: int
    entry: AuditEntry
    hash: bytes


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """The rows that are requested."""

    session_id: str = ""  # empty: of all
    since_ns: int = 0
    until_ns: int = 2**63 - 1  # before this moment
    newest: int = 0  # only so many; 0: all


@dataclass(frozen=True, slots=True)
class AuditHead:
    """A head that was stored elsewhere: the row of that number had this hash."""

    number: int
    hash: bytes


@dataclass(frozen=True, slots=True)
class AuditVerification:
    """How far the chain was verified, and the result."""

    rows: int = 0  # whole, and each following the one before
    total: int = 0  # there when it began
    head: bytes = FIRST_HASH  # of the last whole one
    complete: bool = False
    broken: int | None = None  # the number of the first row that is not as it was written, or is missing
    why: str = ""


def input_hash(input_json: str) -> str:
    """Return the hash that represents a tool's input in the audit."""
    return hashlib.sha256(input_json.encode("utf-8", "surrogatepass")).hexdigest()
