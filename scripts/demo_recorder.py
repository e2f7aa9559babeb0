"""Writes down what the demo agent will say: rows of one process's life, with times as a person would see them."""

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from betcode.agents.demo import frames

WORD_S = 0.025
STEP_S = 0.25
_THOUGHT_S = 0.04  # a word of thinking
_READING_S = 1.0  # what a person takes to answer, in the recording
_NAMESPACE = uuid.UUID("b37c0de0-0000-4000-8000-000000000000")

Row = dict[str, Any]


class Recorder:
    """One conversation; `took` and `asks` are for calls of tools, `message` for what is said."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._at_s = 0.0
        self._ids = 0
        self._session = self._id()
        self._message = ""
        self._block = 0
        self._parent = ""  # the call under which a subagent works
        self.rows: list[Row] = []

    def _id(self) -> str:
        self._ids += 1
        return str(uuid.uuid5(_NAMESPACE, f"{self._name} {self._ids}"))

    def _row(self, direction: str, frame: Mapping[str, Any], after_s: float = 0.0) -> None:
        self._at_s += after_s
        line = json.dumps(frame, separators=(",", ":"), ensure_ascii=False)
        self.rows.append({"t": round(self._at_s, 3), "dir": direction, "line": line})

    def _event(self, event: Mapping[str, Any], after_s: float = 0.0) -> None:
        self._row("out", frames.stream_event(event, session_id=self._session, uuid=self._id()), after_s)

    def asked(self, text: str) -> None:
        """A person's message, and how the agent begins."""
        self._row("in", {"type": "user", "message": {"role": "user", "content": text}, "uuid": self._id()})
        init = frames.init(session_id=self._session, uuid=self._id(), cwd="/home/dev/project", model=frames.MODEL)
        self._row("out", init, STEP_S / 2)

    def message(
        self, text: str, *, thinking: str = "", then: Callable[[], None] | None = None, word_s: float = WORD_S
    ) -> None:
        """A message: thoughts, a text, and the call that `then` makes before the message ends."""
        self._row("out", frames.requesting(session_id=self._session, uuid=self._id()))
        self._message, self._block = f"msg_demo_{self._name}_{self._ids}", 0
        self._event(frames.message_start(self._message, frames.MODEL), STEP_S)
        if thinking:
            self._event(frames.thinking_start(self._block))
            for word in _words(thinking):
                self._event(frames.thinking_delta(self._block, word), _THOUGHT_S)
            self._finish({"type": "thinking", "thinking": thinking, "signature": ""})
        if text:
            self._event(frames.text_start(self._block))
            for word in _words(text):
                self._event(frames.text_delta(self._block, word), word_s)
            self._finish({"type": "text", "text": text})
        if then is not None:
            then()
        for event in frames.message_end("tool_use" if then else "end_turn"):
            self._event(event)

    def _finish(self, block: Mapping[str, Any]) -> None:
        ids: frames.Ids = {"session_id": self._session, "uuid": self._id()}
        said = frames.assistant(block, message_id=self._message, model=frames.MODEL, **ids)
        if self._parent:
            self._row("out", said | {"parent_tool_use_id": self._parent}, STEP_S)
            return
        self._row("out", said)
        self._event(frames.block_stop(self._block))
        self._block += 1

    def call(self, tool_id: str, name: str, tool_input: Mapping[str, Any]) -> None:
        """A call of a tool, in the open message; of a subagent only the call itself is heard."""
        if not self._parent:
            self._event(frames.tool_start(self._block, tool_id, name), STEP_S)
            self._event(frames.input_delta(self._block, json.dumps(tool_input)))
        self._finish({"type": "tool_use", "id": tool_id, "name": name, "input": tool_input})

    def took(self, tool_id: str, text: str, *, is_error: bool = False, after_s: float = STEP_S) -> None:
        """What came of a call."""
        ids: frames.Ids = {"session_id": self._session, "uuid": self._id()}
        result = frames.tool_result(tool_id, text, is_error=is_error, **ids)
        self._row("out", result | ({"parent_tool_use_id": self._parent} if self._parent else {}), after_s)

    def below(self, parent: str, steps: Sequence[tuple[str, str, Mapping[str, Any], str]]) -> None:
        """What a subagent does under the call that started it: calls (id, name, input) and what came of each."""
        self._parent = parent
        for tool_id, name, tool_input, outcome in steps:
            self._message = f"msg_demo_{self._name}_{self._ids}"
            self.call(tool_id, name, tool_input)
            self.took(tool_id, outcome, after_s=2 * STEP_S)
        self._parent = ""

    def permission(self, tool_id: str, name: str, tool_input: Mapping[str, Any], *, allowed: bool) -> None:
        """A request to the host, and its answer."""
        request = self._id()
        asked = frames.can_use_tool(request, tool_id, name, tool_input, str(tool_input.get("description", "")))
        self._row("out", asked)
        answer = (
            {"behavior": "allow", "updatedInput": tool_input} if allowed else {"behavior": "deny", "message": "No."}
        )
        response = {"subtype": "success", "request_id": request, "response": answer}
        self._row("in", {"type": "control_response", "response": response}, _READING_S)

    def result(self, text: str) -> None:
        frame = frames.result(text, session_id=self._session, uuid=self._id(), duration_ms=int(self._at_s * 1000))
        self._row("out", frame, 0.01)

    def only_after_answer(self, number: int) -> "Recorder":
        """The same without what was said before that answer: how another recording goes on from there."""
        heard = 0
        kept: list[Row] = []
        for row in self.rows:
            is_answer = row["dir"] == "in" and '"control_response"' in row["line"]
            if heard >= number or is_answer:
                kept.append(row)
            heard += is_answer
        self.rows = kept
        return self


def _words(text: str) -> list[str]:
    words = text.replace("\n", "\n\0").replace(" ", " \0").split("\0")
    return [word for word in words if word]
