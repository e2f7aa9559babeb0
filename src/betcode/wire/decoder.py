"""Decode one line to or from an agent as a frame."""

from collections.abc import Callable
from typing import Any, get_args

import msgspec
from msgspec import Raw

from betcode.wire import frames, repair
from betcode.wire.frames import Assistant, ControlRequest, Frame, System, SystemFrame, TopLevel
from betcode.wire.values import Malformed, Unknown

_DEEPEST = 200  # levels that are still read when a line is nested beyond measure
_READS = 12  # how many fields may be invalid before a frame is rejected
_KINDS = frozenset(str(kind.__struct_config__.tag) for kind in get_args(TopLevel))

_top_level: Callable[[bytes], TopLevel] = msgspec.json.Decoder(TopLevel).decode
_systems: dict[str, Callable[[bytes], SystemFrame]] = {
    kind.subtype: msgspec.json.Decoder(kind).decode for kind in get_args(SystemFrame)
}
_refused = (msgspec.DecodeError, UnicodeDecodeError)


def decode(line: bytes) -> Frame | Unknown | Malformed:
    """Decode the line. Never raises."""
    try:
        frame = _top_level(line)
        if type(frame) is System:
            return _system(line, frame.subtype)
        return frame
    except msgspec.ValidationError as refusal:
        return _by_parts(line, refusal)
    except (*_refused, RecursionError):
        return _repaired(line)


def _system(line: bytes, subtype: str) -> Frame | Unknown:
    read = _systems.get(subtype)
    return Unknown(f"system/{subtype}", line) if read is None else read(line)


def _repaired(line: bytes) -> Frame | Unknown | Malformed:
    """Try again with repaired text: a lost `result` is a turn that never ends."""
    stripped = line.strip()
    if not stripped.startswith((b"{", b"[")):
        return Malformed(line, "no JSON") if stripped else Unknown("", line)
    reason = "no JSON"
    for mend in (repair.whole_characters, repair.plain_json, lambda text: repair.shallow(text, _DEEPEST)):
        try:
            return _read_again(line, mend(line))
        except RecursionError:
            reason = "nested too deeply"
        except (*_refused, ValueError) as refusal:
            reason = str(refusal)
    return Malformed(line, reason)


def _read_again(line: bytes, mended: bytes) -> Frame | Unknown | Malformed:
    msgspec.json.decode(mended, type=Raw)  # a field's wrong type would hide that the line itself is still broken
    try:
        frame = _top_level(mended)
        if type(frame) is System:
            return _system(mended, frame.subtype)
    except msgspec.ValidationError as refusal:
        return _by_parts(mended, refusal)
    return _with_own_text(frame, line, mended)


def _by_parts(line: bytes, refusal: msgspec.ValidationError) -> Frame | Unknown | Malformed:
    """Decode a frame of a known kind with fields of unexpected types as far as possible."""
    try:
        value = msgspec.json.decode(line)
    except (*_refused, RecursionError):
        try:
            value = msgspec.json.decode(repair.plain_json(repair.shallow(line, _DEEPEST)))
        except (*_refused, ValueError, RecursionError):
            return Malformed(line, str(refusal))
    if not isinstance(value, dict):
        return Unknown("", line)
    kind = value.get("type")
    if not isinstance(kind, str) or kind not in _KINDS:
        return Unknown(kind if isinstance(kind, str) else "", line)
    request_id = value.get("request_id")
    if isinstance(request_id, int | float):
        value["request_id"] = str(request_id)  # a request that waits for an answer must not be skipped
    if kind == "system":
        return _salvaged(line, value, _system_kind(value), refusal)
    return _salvaged(line, value, TopLevel, refusal)


def _system_kind(value: dict[str, Any]) -> Any:
    return next((kind for kind in get_args(SystemFrame) if kind.subtype == value.get("subtype")), System)


def _salvaged(line: bytes, value: Any, kind: Any, refusal: msgspec.ValidationError) -> Frame | Unknown | Malformed:
    for _ in range(_READS):
        try:
            frame: Frame = msgspec.json.decode(msgspec.json.encode(value), type=kind, strict=False)
        except msgspec.ValidationError as again:
            refusal = again
            if not repair.without(value, str(again)):
                break
        except (msgspec.DecodeError, RecursionError):
            break
        else:
            if type(frame) is ControlRequest:
                _give_own_input(frame, line)
            return Unknown("system", line) if type(frame) is System else frame
    return Malformed(line, str(refusal))


def _with_own_text(frame: TopLevel, line: bytes, mended: bytes) -> TopLevel:
    """Restore the agent's own text of tool inputs, if the repair did not move any position in the line."""
    if len(line) != len(mended):
        if type(frame) is ControlRequest:
            _give_own_input(frame, line)
        return frame
    if type(frame) is ControlRequest:
        frame.request.input = _own_text(frame.request.input, line, mended)
    elif type(frame) is Assistant and not isinstance(frame.message.content, str):
        for block in frame.message.content:
            block.input = _own_text(block.input, line, mended)
    return frame


def _give_own_input(frame: ControlRequest, line: bytes) -> None:
    """Keep the original input, also if it is malformed, because a person is asked about it and it is stored."""
    text = repair.input_of(line)
    try:
        msgspec.json.decode(text or b"")
    except (*_refused, RecursionError):
        frame.request.is_exact = False
        frame.request.own_text = Raw(text or line)
    else:
        frame.request.input = Raw(text or b"")


def _own_text(value: Raw, line: bytes, mended: bytes) -> Raw:
    text = bytes(value)
    place = mended.find(text)
    return Raw(line[place : place + len(text)]) if place >= 0 else value


__all__ = ["decode", "frames"]
