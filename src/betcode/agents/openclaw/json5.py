"""Parses openclaw.json: JSON with comments, bare names, single quotes and trailing commas."""

import json
import re
from typing import Any

_LIMIT = 1_000_000  # characters
_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/)
    |(?P<double>"(?:[^"\\]|\\.)*")
    |(?P<single>'(?:[^'\\]|\\.)*')
    |(?P<name>[A-Za-z_$][\w$]*)
    |(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)
    |(?P<mark>[{}\[\]:,])""",
    re.VERBOSE | re.DOTALL,
)
_CLOSING = ("}", "]")
_WORDS = frozenset({"true", "false", "null"})


def read_json5(text: str) -> Any:
    """Raises ValueError."""
    if len(text) > _LIMIT:
        raise ValueError("the file is too long")
    said: list[str] = []
    position = 0
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise ValueError(f"not understood at character {position}")
        position = found.end()
        kind, token = found.lastgroup, found.group()
        if kind == "space":
            continue
        if kind == "mark" and token in _CLOSING and said and said[-1] == ",":
            said.pop()
        said.append(_as_json(kind or "", token))
    try:
        return json.loads(" ".join(said))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _as_json(kind: str, token: str) -> str:
    match kind:
        case "single":
            return json.dumps(json.loads('"' + token[1:-1].replace("\\'", "'").replace('"', '\\"') + '"'))
        case "name" if token not in _WORDS:
            return json.dumps(token)
        case "number":
            number = token.lstrip("+")
            return (
                f"{number}0" if number.endswith(".") else number.replace(".", "0.", 1) if number[0] == "." else number
            )
        case _:
            return token
