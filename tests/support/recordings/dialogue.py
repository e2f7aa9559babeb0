"""A dialogue without an agent: lines said to it and heard by it, one after the other."""

from typing import Any

from betcode.domain.runs.journal_record import RecordKind
from betcode.providers.claude.dialogue import ClaudeDialogue
from betcode.providers.claude.state import State
from betcode.v1 import agent_pb2 as v1
from support.recordings.claude import SESSION, record

INIT = {"type": "system", "subtype": "init", "session_id": "c", "cwd": "/p", "model": "m", "tools": ["Bash"]}
RESULT = {"type": "result", "subtype": "success", "stop_reason": "end_turn", "total_cost_usd": 0.5}


def fresh() -> ClaudeDialogue:
    return ClaudeDialogue(SESSION, State(conversation_id="c"))


def say(dialogue: ClaudeDialogue, *lines: dict[str, Any] | str | bytes, at_ms: float = 0) -> list[v1.AgentEvent]:
    return [event for line in lines for event in dialogue.receive(record(line, at_ms=at_ms))]


def hear(dialogue: ClaudeDialogue, line: dict[str, Any], at_ms: float = 0) -> list[v1.AgentEvent]:
    return dialogue.receive(record(line, RecordKind.IN, at_ms))
