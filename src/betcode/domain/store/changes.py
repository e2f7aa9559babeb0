"""The changes of one commit. All of them happen, or none."""

from collections.abc import Mapping
from dataclasses import dataclass

from betcode.domain.permissions.audit import AuditEntry
from betcode.domain.sessions.binding import SessionBinding
from betcode.domain.store.rows import (
    Blob,
    ConnectedClient,
    GrantRow,
    InputRow,
    InputState,
    PromptRow,
    RunRow,
    SessionState,
    StoredEvent,
)
from betcode.domain.values.identifiers import RunKey, SessionKey


@dataclass(frozen=True, slots=True)
class AppendEvents:
    session: SessionKey
    events: tuple[StoredEvent, ...]


@dataclass(frozen=True, slots=True)
class SaveSession:
    session: SessionKey
    state: SessionState


@dataclass(frozen=True, slots=True)
class SaveRun:
    """Everything of a run that moves: state, offset, dialogue, numbers, end."""

    run: RunRow


@dataclass(frozen=True, slots=True)
class AddInput:
    row: InputRow


@dataclass(frozen=True, slots=True)
class AssignInput:
    """The run an input goes to, its number there and the bytes to hand over."""

    session: SessionKey
    input_id: str
    run: RunKey
    number: int
    payload: bytes


@dataclass(frozen=True, slots=True)
class MoveInput:
    session: SessionKey
    input_id: str
    state: InputState


@dataclass(frozen=True, slots=True)
class SavePrompt:
    """A new prompt, or the new state of one."""

    row: PromptRow


@dataclass(frozen=True, slots=True)
class AddGrant:
    grant: GrantRow


@dataclass(frozen=True, slots=True)
class ClearGrant:
    """The grant of a session with that pattern, if it has one."""

    session: SessionKey
    tool_name: str
    pattern: str


@dataclass(frozen=True, slots=True)
class AddAudit:
    """Add a decision after all earlier ones."""

    entry: AuditEntry


@dataclass(frozen=True, slots=True)
class AddBlob:
    session: SessionKey
    blob: Blob


@dataclass(frozen=True, slots=True)
class SaveClients:
    """Save the clients of a session and the holder of its input lock; nothing is stored for a deleted session."""

    session: SessionKey
    came: tuple[ConnectedClient, ...]
    went: tuple[str, ...]
    input_lock_client: str


@dataclass(frozen=True, slots=True)
class ForgetClients:
    """Clear clients and input locks at startup."""


@dataclass(frozen=True, slots=True)
class SaveBinding:
    """Save the binding of a session."""

    session: SessionKey
    binding: SessionBinding


@dataclass(frozen=True, slots=True)
class SaveMetadata:
    """Replace the metadata of a session, because it was restarted with others."""

    session: SessionKey
    metadata: Mapping[str, str]


Change = (
    AppendEvents
    | SaveSession
    | SaveRun
    | AddInput
    | AssignInput
    | MoveInput
    | SavePrompt
    | AddGrant
    | ClearGrant
    | AddAudit
    | AddBlob
    | SaveClients
    | ForgetClients
    | SaveBinding
    | SaveMetadata
)
