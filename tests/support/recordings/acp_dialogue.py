"""A dialogue with an agent that speaks ACP, spoken line by line: what it is told, and what it says."""

import json
from collections.abc import Mapping
from typing import Any

from betcode.domain.agents.commands import Command, SendMessage
from betcode.domain.ports import Dialogue
from betcode.domain.runs.journal_record import Record, RecordKind
from betcode.domain.runs.launch import LaunchContext
from betcode.domain.store.rows import NewSession
from betcode.domain.values.identifiers import MessageId
from betcode.providers.acp.commands import line as encode
from betcode.providers.acp.handshake import opening
from betcode.v1 import agent_pb2 as v1
from support.recordings.acp import PROVIDER
from support.recordings.claude import SESSION

_START_NS = 1_794_711_060_000_000_000
NATIVE = "ses_1"


class Spoken:
    """Both sides of it; every record is met by a dialogue that was stored and read again just before."""

    def __init__(self, session: NewSession = SESSION, state: bytes = b"", conversation_id: str = "") -> None:
        self._session = session
        self._offset = 0
        self.dialogue: Dialogue = PROVIDER.dialogue(session, conversation_id or session.session_id, state, version=1)

    def _meet(self, line: bytes, kind: RecordKind) -> list[v1.AgentEvent]:
        self._offset += len(line)
        at = _START_NS + self._offset * 1000
        record = Record(kind, 0, at, self._offset * 1000, line, self._offset - len(line), self._offset)
        events = self.dialogue.receive(record)
        self.dialogue = PROVIDER.dialogue(self._session, "", self.dialogue.state(), version=PROVIDER.dialogue_version)
        return events

    def reads_cut(self, beginning: bytes) -> list[v1.AgentEvent]:
        """A line of the agent that is too long to be read; this is its beginning."""
        record = Record(
            RecordKind.OUT, 0, _START_NS, 0, beginning, self._offset, self._offset + 10_000_000, too_long=True
        )
        return self.dialogue.receive(record)

    def says(self, **message: Any) -> list[v1.AgentEvent]:
        """The agent says a line."""
        return self._meet(json.dumps({"jsonrpc": "2.0", **message}).encode(), RecordKind.OUT)

    def writes(self, line: bytes, kind: RecordKind = RecordKind.OUT) -> list[v1.AgentEvent]:
        return self._meet(line, kind)

    def updates(self, kind: str, /, **fields: Any) -> list[v1.AgentEvent]:
        update = {"sessionUpdate": kind, **fields}
        return self.says(method="session/update", params={"sessionId": NATIVE, "update": update})

    def chunk(self, text: str, kind: str = "agent_message_chunk", /, **fields: Any) -> list[v1.AgentEvent]:
        return self.updates(kind, content={"type": "text", "text": text}, **fields)

    def asks(self, number: object = 0, /, **use: Any) -> list[v1.AgentEvent]:
        options = [
            {"optionId": "y", "kind": "allow_once", "name": "Yes"},
            {"optionId": "n", "kind": "reject_once", "name": "No"},
        ]
        params = {"sessionId": NATIVE, "options": options, "toolCall": {"toolCallId": "t", **use}}
        return self.says(id=number, method="session/request_permission", params=params)

    def told(self, command: Command) -> list[v1.AgentEvent]:
        """A command reaches the agent."""
        line = self.dialogue.addressed(encode(command))
        return self._meet(line, RecordKind.IN)

    def prompt(self, message_id: str = "m-1", text: str = "Hello") -> list[v1.AgentEvent]:
        return self.told(SendMessage(MessageId(message_id), text))

    def answers(self, message_id: str = "m-1", **result: Any) -> list[v1.AgentEvent]:
        return self.says(id=message_id, result={"stopReason": "end_turn", **result})

    def errand(self) -> dict[str, Any]:
        """The next errand is run; what it said."""
        errand = self.dialogue.view.errands[0]
        self._meet(errand.line, RecordKind.IN)
        said: dict[str, Any] = json.loads(errand.line)
        return said

    def greeted(self, *, resume: str = "", plan: bool = False, **initialized: Any) -> None:
        """The opening, and the agent's answer to it."""
        context = LaunchContext(resume or "x", resume=bool(resume), continue_turn=False, environment={}, plan_mode=plan)
        self._meet(opening(self._session, context), RecordKind.IN)
        able = {"loadSession": True, "sessionCapabilities": {"resume": {}}}
        self.says(id="initialize", result={"protocolVersion": 1, "agentCapabilities": able, **initialized})

    def opened(self, **result: Any) -> list[v1.AgentEvent]:
        """The session that the next errand asks for is there."""
        self.errand()
        return self.says(id="open", result={"sessionId": NATIVE, **result})


def begun(session: NewSession = SESSION) -> Spoken:
    """One that is ready, with a turn open for m-1."""
    spoken = Spoken(session)
    spoken.greeted()
    spoken.opened()
    spoken.prompt()
    return spoken


def with_config(**config: str) -> NewSession:
    metadata: Mapping[str, str] = {f"provider_config.{key}": value for key, value in config.items()}
    return NewSession(SESSION.session_id, "acp", SESSION.working_directory, metadata=metadata)
