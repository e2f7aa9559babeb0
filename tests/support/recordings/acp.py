"""Recorded conversations of agents that speak the Agent Client Protocol, one process's life after the other."""

from pathlib import Path

from betcode.domain.agents.provider_config import PREFIX
from betcode.domain.ports import Dialogue
from betcode.domain.runs.journal_record import Record, RecordKind
from betcode.domain.store.rows import NewSession
from betcode.providers.acp.provider import AcpProvider
from betcode.providers.acp.spec import AcpSettings
from betcode.v1 import agent_pb2 as v1
from support.paths import CONTRACT
from support.recordings.claude import SESSION, records_of

WIRE = CONTRACT / "wire" / "acp"
GOLDEN = CONTRACT / "golden" / "acp"
PROVIDER = AcpProvider(AcpSettings(commands={"openclaw": ("openclaw", "acp")}))
_PROFILES = {"claude": "claude-agent-acp", "codex": "codex-acp"}


def recordings() -> list[Path]:
    return sorted(WIRE.glob("*.jsonl"))


def session_of(path: Path) -> NewSession:
    agent = path.stem.partition("-")[0]
    metadata = {f"{PREFIX}profile": _PROFILES.get(agent, agent)}
    return NewSession(SESSION.session_id, "acp", SESSION.working_directory, metadata=metadata)


def lives_of(path: Path) -> list[list[Record]]:
    """The records of each process, in order."""
    lives: list[list[Record]] = [[]]
    for record in records_of(path):
        if lives[-1] and lives[-1][-1].kind is RecordKind.EXIT:
            lives.append([])
        lives[-1].append(record)
    return lives


def replay(path: Path) -> list[v1.AgentEvent]:
    """The events of all its processes, each of which knows what the one before left."""
    events: list[v1.AgentEvent] = []
    dialogue: Dialogue | None = None
    for life in lives_of(path):
        dialogue = following(dialogue, session_of(path))
        events += [event for record in life for event in dialogue.receive(record)]
    return events


def following(before: Dialogue | None, session: NewSession) -> Dialogue:
    if before is None:
        return PROVIDER.dialogue(session, session.session_id)
    carried = PROVIDER.carry_over(before.state(), PROVIDER.dialogue_version)
    return PROVIDER.dialogue(session, before.view.conversation_id, carried, version=PROVIDER.dialogue_version)
