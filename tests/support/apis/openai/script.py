"""What the stand-in for an OpenAI-compatible API answers: steps that the prompt itself carries.

The newest user message holds `[[ JSON list of steps ]]`; the step is the number of answers behind it. Nothing else is
remembered, so that it holds across resumes, retries and conversations side by side. A step has any of:

    think, text            said in deltas of a word each
    tools                  calls, all at once: {"cmd": "ls"} of whatever shell tool the request offers ("extra" adds
                           arguments), {"patch": "*** Begin Patch…"}, {"name": "read", "args": {…}}, or "raw" in place
                           of "args": the arguments as text, however broken; "namespace" of a tool that has one
    hang                   after the text: wait until `release` is called with this name, or the client hangs up
    hold                   the same, before anything is answered
    http, code, message    an HTTP error instead of an answer
    cut                    the stream ends in the middle of the text; "broken": and so does the connection
    failed, incomplete     the error's code or the reason with which the answer ends
    times                  only the first so many requests for this step have the trouble, later ones the rest
    usage                  {"input": n, "output": n}, or false for none
    delay                  seconds between deltas
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Json = Mapping[str, Any]

TROUBLES = ("http", "cut", "failed", "incomplete")
_SCRIPT = re.compile(r"\[\[\s*(\[.*?\])\s*\]\]", re.DOTALL)
# The shells that agents offer to a model, and the name of the argument that takes a command line.
_SHELLS = {"shell": "command", "bash": "command", "Bash": "command", "exec_command": "cmd", "shell_command": "command"}


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool as the model makes it."""

    name: str
    arguments: str
    is_custom: bool = False  # takes free text instead of JSON
    namespace: str = ""  # of the Responses wire


@dataclass(frozen=True, slots=True)
class Step:
    """What one request is answered with."""

    script: str  # the steps' text, which tells conversations apart
    number: int
    data: Json

    def calls(self, offered: Sequence[Json]) -> tuple[Call, ...]:
        return tuple(_call(wanted, offered) for wanted in self.data.get("tools", ()))

    def without_trouble(self) -> "Step":
        return Step(self.script, self.number, {k: v for k, v in self.data.items() if k not in TROUBLES})


def script(*steps: Json) -> str:
    """The words of a prompt that make the model take these steps."""
    return f"[[ {json.dumps(list(steps))} ]]"


def words(text: str) -> list[str]:
    """The deltas of a text."""
    return re.findall(r"\S+\s*|\s+", text)


def step_of(body: Json) -> Step:
    """The step that a request of either wire asks for; a harmless text where nobody scripted one."""
    items = body.get("messages")
    if items is None:
        items = body.get("input", ())
    if isinstance(items, str):
        items = [{"role": "user", "content": items}]
    answers, in_answer = 0, False
    for item in reversed(items):
        if item.get("role") == "user":
            found = _SCRIPT.findall(" ".join(_texts(item)))
            if not found:
                break  # somebody else's question: a title, a summary
            steps = json.loads(found[-1])
            data = steps[answers] if answers < len(steps) else {"text": f"(there is no step {answers})"}
            return Step(found[-1], answers, data)
        # On the Responses wire one answer is several items in a row; on the other it is one message.
        is_answer = item.get("role") == "assistant" or item.get("type") in (
            "reasoning",
            "function_call",
            "custom_tool_call",
        )
        if is_answer and (not in_answer or "messages" in body):
            answers += 1
        in_answer = is_answer
    return Step("", 0, {"text": "Nothing was scripted."})


def _texts(item: Json) -> Iterator[str]:
    content = item.get("content") or ()
    if isinstance(content, str):
        yield content
    else:
        yield from (str(part["text"]) for part in content if "text" in part)


def _call(wanted: Json, offered: Sequence[Json]) -> Call:
    kinds = {str(tool.get("name") or tool.get("function", {}).get("name", "")): tool.get("type") for tool in offered}
    if "cmd" in wanted:
        name = next((each for each in _SHELLS if each in kinds), "shell")
        said = {"description": "run a command"} if name in ("bash", "Bash") else {}
        return Call(name, json.dumps({_SHELLS[name]: wanted["cmd"], **said, **wanted.get("extra", {})}))
    if "patch" in wanted:
        is_custom = kinds.get("apply_patch") == "custom"
        return Call("apply_patch", wanted["patch"] if is_custom else json.dumps({"input": wanted["patch"]}), is_custom)
    arguments = wanted["raw"] if "raw" in wanted else json.dumps(wanted.get("args", {}))
    return Call(wanted["name"], arguments, namespace=wanted.get("namespace", ""))
