"""What is kept of every decision: who or what decided, about which use of which tool, and how."""

import hashlib
from dataclasses import dataclass
from enum import StrEnum


class Audited(StrEnum):
    """What happened."""

    DECISION = "decision"  # a use of a tool was allowed, denied or put to a person
    REFUSED_ANSWER = "refused_answer"  # someone who may not answer tried to
    GRANT = "grant"  # a session's grants were changed
    TRUST = "trust"  # a project was trusted, or no longer is


class DecidedBy(StrEnum):
    RULE = "rule"
    GRANT = "grant"
    PERSON = "person"
    EXPIRY = "expiry"
    AGENT = "agent"  # it took its request back
    KEPT_ANSWER = "kept_answer"  # given before, by a person, to an agent that was gone
    GATE = "gate"


@dataclass(frozen=True, slots=True)
class AuditEntry:
    at_ns: int
    session_id: str
    request_id: str
    tool_name: str
    input_sha256: str
    what: Audited
    outcome: str  # "allow", "deny", "ask", "expired", "withdrawn", "refused", "granted", "cleared"
    decided_by: DecidedBy
    rule: str = ""  # its text and where it stands
    client: str = ""
    peer: str = ""  # the process behind the client, as the system knows it
    note: str = ""


@dataclass(frozen=True, slots=True)
class AuditRow:
    number: int
    entry: AuditEntry
    hash: bytes


def input_hash(input_json: str) -> str:
    """What stands for a tool's input in the audit."""
    return hashlib.sha256(input_json.encode("utf-8", "surrogatepass")).hexdigest()
