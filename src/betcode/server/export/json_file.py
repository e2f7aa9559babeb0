"""Export the history as JSON: the session, and every event with the field names of the protocol."""

import json

from betcode.domain.events.event_json import event_json, summary_json
from betcode.server.export.control_characters import escaped_in_json
from betcode.v1 import agent_pb2 as v1


class JsonFile:
    """One object; each event is on a separate line."""

    def __init__(self) -> None:
        self._before = "\n"

    def begin(self, session: v1.SessionSummary) -> str:
        return f'{{"session": {_text(summary_json(session))},\n"events": ['

    def add(self, event: v1.AgentEvent) -> str:
        before, self._before = self._before, ",\n"
        return before + _text(event_json(event))

    def end(self) -> str:
        return "\n]}\n"


def _text(value: dict[str, object]) -> str:
    return escaped_in_json(json.dumps(value, ensure_ascii=False))
