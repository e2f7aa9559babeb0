"""Writes the demo agent's cassettes from the conversations below: `python scripts/demo_cassettes.py [DIRECTORY]`."""

import json
import sys
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from betcode.agents.demo import frames
from betcode.agents.demo.repertoire import CASSETTES

_WORD_S = 0.025
_STEP_S = 0.25
_NAMESPACE = uuid.UUID("b37c0de0-0000-4000-8000-000000000000")

HELLO = """\
Hello! I am betcode's built-in demo agent. I play recorded conversations, so that you can try everything here \
without an account or a key. No model is behind me, and I touch nothing on this machine.

What you see is real all the same: these words went through a holder, its journal, the log and the stream to you, \
and each was on disk before you saw it. Close the terminal and come back, they will still be here.

Things to try with me:
- "a tour" for the idea in a minute
- "show me a tool" for a tool call that asks for your permission
- "ask me a question" for a question with choices
- "something long" to practise stopping me, or leaving and coming back

For a real agent, install Claude Code so that `claude` is on your PATH and begin a new session.
"""

WHAT = """\
betcode runs coding agents as durable sessions. A daemon on your machine supervises them, writes down everything they \
say, and lets any number of clients watch, type and approve, now or days later.

- An agent's turn outlives the daemon: restart or upgrade it, and the agent does not notice.
- A question waits for a person instead of failing.
- What a client has been shown is on disk, in order, without a gap.

I am only the demo agent: I play recordings. With Claude Code installed (`claude` on your PATH) new sessions use it \
instead of me.
"""

TOUR_1 = """\
Here is the idea, in one minute. I will pretend to read a file on the way; I am the demo agent, so nothing is really \
opened.

1. You talk to a session, and a session is a log. Everything in it has a number, so a client that was away asks for \
what came after the last number it saw.
"""

TOUR_2 = """\
2. That was a tool call: its start, its input and its result are events too, and everybody who follows this session \
saw them. (Pretended: the text above is part of my recording.)

3. Some tools need your permission first. Say "show me a tool" and I will ask for it. The question then waits for any \
client, on any screen, and is answered exactly once.

4. Now close this terminal, open another one and run `betcode session list`: the session is there, and \
`betcode attach` takes you back to it.
"""

ASKING = (
    "I will pretend to run a command, and ask you first, as a real agent would. Whatever you answer, nothing is run.\n"
)

ALLOWED = """\
You allowed it. A real agent would have run that command just now and gone on with what it printed; I have only shown \
the recording of one. The permission, your answer and the result are in the session's log, each with its number.
"""

DENIED = """\
You denied it, so nothing happened, not even pretended. A real agent is told so, with your reason if you gave one, and \
looks for another way.
"""

QUESTION = "Agents sometimes need you to choose. Here is such a question:\n"
ANSWERED = "Thank you. A real agent would now go on with your choice; I am the demo agent and only noted it.\n"
UNANSWERED = "You did not answer, and that is fine: a real agent would go on without, or ask in another way.\n"

UNKNOWN = """\
I am betcode's demo agent: I play a few recorded conversations and do not understand more than their key words, so I \
cannot really answer that. Try "hello", "a tour", "show me a tool", "ask me a question" or "something long".

For real answers install Claude Code (`claude` on your PATH, or `--claude-bin`) and begin a new session: it is used \
from then on.
"""

LONG = "This takes a while on purpose. Stop me with Ctrl-C, or leave and come back: I go on without you.\n" + "".join(
    f"Line {number} of 60: written down before you see it.\n" for number in range(1, 61)
)

COMMAND: Mapping[str, Any] = {
    "command": "echo 'hello from the demo' > hello.txt",
    "description": "Write a greeting to a file",
}
FILE: Mapping[str, Any] = {"file_path": "README.md"}
CHOICE: Mapping[str, Any] = {
    "questions": [
        {
            "question": "What would you like to see next?",
            "header": "Next",
            "options": [
                {"label": "A tour", "description": "The idea of betcode in a minute"},
                {"label": "A tool call", "description": "With a permission question"},
            ],
            "multiSelect": False,
        }
    ]
}


class Recorder:
    """Rows of one process's life, with times as a person would see them."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._at_s = 0.0
        self._ids = 0
        self._session = self._id()
        self._message = ""
        self._block = 0
        self.rows: list[dict[str, Any]] = []

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
        self._row("in", {"type": "user", "message": {"role": "user", "content": text}, "uuid": self._id()})
        init = frames.init(session_id=self._session, uuid=self._id(), cwd="/home/dev/project", model=frames.MODEL)
        self._row("out", init, _STEP_S / 2)

    def message(self, text: str, *, then: Callable[[], None] | None = None) -> None:
        """A message of one text, and what `then` puts behind it before the message ends."""
        self._row("out", frames.requesting(session_id=self._session, uuid=self._id()))
        self._message, self._block = f"msg_demo_{self._name}_{self._ids}", 0
        self._event(frames.message_start(self._message, frames.MODEL), _STEP_S)
        self._event(frames.text_start(0))
        for word in _words(text):
            self._event(frames.text_delta(0, word), _WORD_S)
        self._finish({"type": "text", "text": text})
        if then is not None:
            self._block = 1
            then()
        for event in frames.message_end("tool_use" if then else "end_turn"):
            self._event(event)

    def _finish(self, block: Mapping[str, Any]) -> None:
        ids: frames.Ids = {"session_id": self._session, "uuid": self._id()}
        self._row("out", frames.assistant(block, message_id=self._message, model=frames.MODEL, **ids))
        self._event(frames.block_stop(self._block))

    def tool_call(self, tool_id: str, name: str, tool_input: Mapping[str, Any]) -> None:
        self._event(frames.tool_start(1, tool_id, name), _STEP_S)
        self._event(frames.input_delta(1, json.dumps(tool_input)))
        self._finish({"type": "tool_use", "id": tool_id, "name": name, "input": tool_input})

    def permission(self, tool_id: str, name: str, tool_input: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        request = self._id()
        asked = frames.can_use_tool(request, tool_id, name, tool_input, str(tool_input.get("description", "")))
        self._row("out", asked)
        response = {"subtype": "success", "request_id": request, "response": answer}
        self._row("in", {"type": "control_response", "response": response}, 1.0)

    def tool_result(self, tool_id: str, text: str, *, is_error: bool = False) -> None:
        ids: frames.Ids = {"session_id": self._session, "uuid": self._id()}
        self._row("out", frames.tool_result(tool_id, text, is_error=is_error, **ids), _STEP_S)

    def result(self, text: str) -> None:
        frame = frames.result(text, session_id=self._session, uuid=self._id(), duration_ms=int(self._at_s * 1000))
        self._row("out", frame, 0.01)


def _words(text: str) -> list[str]:
    words = text.replace("\n", "\n\0").replace(" ", " \0").split("\0")
    return [word for word in words if word]


def plain(name: str, prompt: str, text: str) -> Recorder:
    tape = Recorder(name)
    tape.asked(prompt)
    tape.message(text)
    tape.result(text)
    return tape


def tour() -> Recorder:
    tape = Recorder("tour")
    tape.asked("a tour")
    tape.message(TOUR_1, then=lambda: tape.tool_call("toolu_demo_tour", "Read", FILE))
    tape.tool_result("toolu_demo_tour", "# A project\n\n(pretended by the demo agent: no file was opened)\n")
    tape.message(TOUR_2)
    tape.result(TOUR_2)
    return tape


def asks(name: str, tool: str, tool_input: Mapping[str, Any], before: str, outcome: str, after: str) -> Recorder:
    """A call that needs a permission; an empty `outcome` means it was denied."""
    tape, tool_id = Recorder(name), f"toolu_demo_{name}"
    tape.asked(name)
    tape.message(before, then=lambda: tape.tool_call(tool_id, tool, tool_input))
    allow = {"behavior": "allow", "updatedInput": tool_input}
    tape.permission(tool_id, tool, tool_input, allow if outcome else {"behavior": "deny", "message": "Denied."})
    tape.tool_result(tool_id, outcome or "The user denied permission.", is_error=not outcome)
    tape.message(after)
    tape.result(after)
    return tape


def conversations() -> dict[str, Recorder]:
    pretended = "(pretended by the demo agent: nothing was run and no file was written)"
    answered = "Your questions have been answered."
    return {
        "hello": plain("hello", "hello", HELLO),
        "what": plain("what", "what is this?", WHAT),
        "unknown": plain("unknown", "mend my code", UNKNOWN),
        "long": plain("long", "something long", LONG),
        "tour": tour(),
        "permission": asks("permission", "Bash", COMMAND, ASKING, pretended, ALLOWED),
        "permission.denied": asks("permission", "Bash", COMMAND, ASKING, "", DENIED),
        "question": asks("question", "AskUserQuestion", CHOICE, QUESTION, answered, ANSWERED),
        "question.denied": asks("question", "AskUserQuestion", CHOICE, QUESTION, "", UNANSWERED),
    }


def main(directory: Path) -> None:
    for name, tape in conversations().items():
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in tape.rows)
        (directory / f"{name}.ndjson").write_text(text, "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else CASSETTES)
