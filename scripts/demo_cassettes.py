"""Writes the demo agent's cassettes from the conversations below: `python scripts/demo_cassettes.py [DIRECTORY]`."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from demo_recorder import Recorder
from demo_tour import tour

from betcode.agents.demo.repertoire import CASSETTES

HELLO = """\
Hello! I am betcode's built-in demo agent. I play recorded conversations, so that you can try everything here \
without an account or a key. No model is behind me, and I touch nothing on this machine.

What you see is real all the same: these words went through a holder, its journal, the log and the stream to you, \
and each was on disk before you saw it. Close the terminal and come back, they will still be here.

Things to try with me:
- `tour`: everything in a minute
- `show me a tool`: a shell command that asks for your permission
- `ask me a question`: a question with choices
- `reconnect`: restart the daemon while I speak
- `something long`: to practise stopping me

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
cannot really answer that. Try `tour`, `show me a tool`, `ask me a question`, `reconnect` or `something long`.

For real answers install Claude Code (`claude` on your PATH, or `--claude-bin`) and begin a new session: it is used \
from then on.
"""

LONG = (
    "This takes a while on purpose. Stop me with Esc (in plain lines: Ctrl-C), or leave and come back.\n\n"
    + "".join(f"{number}. Line {number} of 60: written down before you see it.\n" for number in range(1, 61))
)

RECONNECT = """\
I count slowly now, for half a minute. Meanwhile, in **another terminal**:

```sh
betcode daemon restart
```

Or close this one, and come back with `betcode`. I notice nothing of either: I live under a small *holder* of my own, \
and the next daemon takes me over where the last one stopped. Nothing is said twice, and nothing is left out.

"""
COUNTING = (
    "".join(f"{number}. of 30, and on disk\n" for number in range(1, 31))
    + """
That was it. If you restarted the daemon, there is a short pause somewhere above, and no gap. If you closed the \
terminal, I went on without you.
"""
)

COMMAND: Mapping[str, Any] = {
    "command": "echo 'hello from the demo' > hello.txt",
    "description": "Write a greeting to a file",
}
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


def plain(name: str, prompt: str, text: str) -> Recorder:
    tape = Recorder(name)
    tape.asked(prompt)
    tape.message(text)
    tape.result(text)
    return tape


def reconnect() -> Recorder:
    tape = Recorder("reconnect")
    tape.asked("reconnect")
    tape.message(RECONNECT)
    tape.message(COUNTING, word_s=0.2)
    tape.result(COUNTING)
    return tape


def asks(name: str, tool: str, tool_input: Mapping[str, Any], before: str, outcome: str, after: str) -> Recorder:
    """A call that needs a permission; an empty `outcome` means it was denied."""
    tape, tool_id = Recorder(name), f"toolu_demo_{name}"
    tape.asked(name)
    tape.message(before, then=lambda: tape.call(tool_id, tool, tool_input))
    tape.permission(tool_id, tool, tool_input, allowed=bool(outcome))
    tape.took(tool_id, outcome or "The user denied permission.", is_error=not outcome)
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
        "reconnect": reconnect(),
        "tour": tour(),
        "tour.denied": tour(allowed=False).only_after_answer(1),
        "tour.unanswered": tour(chosen=False).only_after_answer(2),
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
