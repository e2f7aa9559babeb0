"""Repair lines that a strict parser rejects; each function returns text that it accepts, or gives up."""

import json
import math
import re
from typing import Any

# Every escape is consumed, so that an escaped backslash before `ud800` is not mistaken for one. A pair is unchanged.
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)
_MARK = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{},:]', re.DOTALL)
_REPLACEMENT = rb"\ufffd"
_PATH = re.compile(r"at `(?:key in )?\$([^`]*)`")
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+)\]|(\[\.\.\.\])")


def whole_characters(line: bytes) -> bytes:
    """Return the line with lone surrogates and bytes that are not UTF-8 replaced by U+FFFD.

    An escaped surrogate and its replacement have the same length, so that positions in the line do not change.
    """
    try:
        line.decode()
    except UnicodeDecodeError:
        line = line.decode(errors="replace").encode()
    return _ESCAPE.sub(lambda hit: _REPLACEMENT if hit[1] else hit[0], line)


def plain_json(line: bytes) -> bytes:
    """The line as the standard library reads it, written again: NaN, infinities and endless numbers become null.

    Raises:
        ValueError: it is no JSON.
        RecursionError: it is nested too deeply.
    """
    text = whole_characters(line)
    value = json.loads(text, parse_constant=lambda _: None, parse_float=_number, parse_int=_integer)
    return json.dumps(value, ensure_ascii=False).encode()


def shallow(line: bytes, levels: int) -> bytes:
    """The line with everything below `levels` replaced by null."""
    kept: list[bytes] = []
    depth, done = 0, 0
    for token in _TOKEN.finditer(line):
        match token[0]:
            case b"{" | b"[":
                depth += 1
                if depth == levels + 1:
                    kept += (line[done : token.start()], b"null")
            case b"}" | b"]":
                if depth == levels + 1:
                    done = token.end()
                depth -= 1
            case _:
                pass
    if depth > levels:
        return line  # never closed: cut off in the middle
    kept.append(line[done:])
    return b"".join(kept)


def _number(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None


def _integer(text: str) -> int | float | None:
    # Python refuses to read an integer of thousands of digits, and no field here could hold it.
    return int(text) if len(text) < 300 else _number(text)


def input_of(line: bytes) -> bytes | None:
    """The text of `request.input` in a line that no reader takes whole; None where it is not found."""
    depth, in_request, start, found, name = 0, False, -1, b"", b""
    for token in _MARK.finditer(line):
        mark = token[0]
        if mark in (b"}", b"]", b",") and start >= 0 and depth == 2:
            found, start = line[start : token.start()].strip(), -1
        if mark in (b"{", b"["):
            depth += 1
        elif mark in (b"}", b"]"):
            depth -= 1
        elif mark == b":" and depth == 1:
            in_request = name == b'"request"'
        elif mark == b":" and depth == 2 and in_request and name == b'"input"':
            start = token.end()
        name = mark
    return found or None


def without(value: Any, refusal: str) -> bool:
    """Remove the rejected value."""
    path = _PATH.search(refusal)
    if path is None:
        return False
    steps: list[str | int] = []
    for name, index, anything in _STEP.findall(path[1]):
        if anything:
            break
        steps.append(name or int(index))
    if not steps:
        return False
    try:
        for step in steps[:-1]:
            value = value[step]
        del value[steps[-1]]
    except (LookupError, TypeError):
        return False  # a name with a dot or a bracket in it
    return True
