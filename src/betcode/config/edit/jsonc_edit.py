"""Changes one value in a text of JSON with comments, and leaves everything else as people wrote it."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from betcode.util.jsonc import NotJson, Reader, parse

_BLANKS = " \t\r\n"
_UNIT = "  "
_WORDS = re.compile(r'"(?:[^"\\]|\\.)*"|(//[^\n]*|/\*.*?\*/)', re.DOTALL)


class CannotEdit(Exception):
    """The value cannot be inserted; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class _Member:
    key: str
    key_at: int
    value_at: int
    value_end: int
    comma_at: int | None


@dataclass(frozen=True, slots=True)
class _Object:
    begin: int  # of its brace
    end: int  # of the other one
    members: tuple[_Member, ...]

    def member(self, key: str) -> _Member | None:
        return next((each for each in self.members if each.key == key), None)


def comments(text: str) -> list[str]:
    """Every comment, in order, without the blanks at its end."""
    return [found[1].rstrip(_BLANKS) for found in _WORDS.finditer(text) if found[1]]


def with_value(text: str, path: Sequence[str], value: object) -> str:
    """Return the text with another value at that path; keys that are written with dots are found too.

    Raises:
        NotJson: it was none before.
        CannotEdit: the existing structure prevents it.
    """
    if not text.strip():
        text = "{\n}\n"
    root = _root(text)
    found = _find(text, root, path)
    if found is not None:
        _, member = found
        return _replaced(text, member, value)
    place, rest = _deepest(text, root, path)
    for key in reversed(rest[1:]):
        value = {key: value}
    return _inserted(text, place, rest[0], value)


def without(text: str, path: Sequence[str]) -> str:
    """The text without the value at that path; the same text where there is none.

    Raises:
        NotJson: it was none before.
    """
    if not text.strip():
        return text
    found = _find(text, _root(text), path)
    return text if found is None else _removed(text, *found)


def _root(text: str) -> _Object:
    if not isinstance(parse(text).value, dict):
        raise NotJson("it must hold one JSON object", 1)
    reader = Reader(text)
    reader.at = len(text) - len(text.removeprefix("\ufeff"))
    reader.blank()
    return _object_at(text, reader.at)


def _object_at(text: str, begin: int) -> _Object:
    """Return the object at that brace; the text is known to be JSON."""
    reader = Reader(text)
    reader.at = begin + 1
    members: list[_Member] = []
    while reader.peek() != "}":
        key_at = reader.at
        key = reader.string()
        reader.take(":")
        reader.blank()
        value_at = reader.at
        reader.value(0)
        value_end = reader.at
        comma_at = reader.at - 1 if reader.take(",") else None
        members.append(_Member(key, key_at, value_at, value_end, comma_at))
    return _Object(begin, reader.at, tuple(members))


def _find(text: str, place: _Object, path: Sequence[str]) -> tuple[_Object, _Member] | None:
    for length in range(1, len(path) + 1):
        member = place.member(".".join(path[:length]))
        if member is None:
            continue
        if length == len(path):
            return place, member
        if text[member.value_at] == "{":
            found = _find(text, _object_at(text, member.value_at), path[length:])
            if found is not None:
                return found
    return None


def _deepest(text: str, place: _Object, path: Sequence[str]) -> tuple[_Object, Sequence[str]]:
    """Return the object that a new value belongs to, and the rest of the path."""
    while len(path) > 1 and (member := place.member(path[0])) is not None:
        if text[member.value_at] != "{":
            raise CannotEdit(f'"{path[0]}" is not an object, so nothing can be set in it')
        place, path = _object_at(text, member.value_at), path[1:]
    return place, path


def _replaced(text: str, member: _Member, value: object) -> str:
    indent = _indent_of_line(text, member.key_at)
    newline = _newline(text)
    kept = comments(text[member.value_at : member.value_end])
    before = "".join(f"{comment}{newline}{indent}{_UNIT}" for comment in kept)
    return text[: member.value_at] + before + _written(value, indent, newline) + text[member.value_end :]


def _inserted(text: str, place: _Object, key: str, value: object) -> str:
    newline = _newline(text)
    inside = text[place.begin + 1 : place.end]
    last = place.members[-1] if place.members else None
    end = place.begin + 1 + len(inside.rstrip(_BLANKS))  # after the last token, even a comment
    is_one_line = "\n" not in inside and (last is not None or bool(inside.strip()))
    indent = _indent_of_line(text, place.end if last is None or is_one_line else last.key_at)
    if is_one_line:
        member = f" {_key(key)}: {_written(value, indent, newline, one_line=True)}"
    else:
        if last is None or not _begins_its_line(text, last.key_at):
            indent = _indent_of_line(text, place.begin) + _UNIT
        member = f"{newline}{indent}{_key(key)}: {_written(value, indent, newline)}"
    rest = text[end:]
    if not is_one_line and "\n" not in text[end : place.end]:
        rest = newline + _indent_of_line(text, place.begin) + rest.lstrip(" \t")
    head = text[:end]
    if last is not None and last.comma_at is None:
        head = text[: last.value_end] + "," + text[last.value_end : end]
    return head + member + rest


def _removed(text: str, place: _Object, member: _Member) -> str:
    begin, end = member.key_at, member.value_end if member.comma_at is None else member.comma_at + 1
    newline = _newline(text)
    indent = _indent_of_line(text, begin)
    kept = (newline + indent).join(comments(text[begin:end]))
    before, after = text[:begin], text[end:]
    if kept and not after.lstrip(" \t").startswith(("\n", "\r")):
        kept += newline + indent  # nothing may follow a comment on its line
    elif not kept and _begins_its_line(text, begin):
        rest = after.lstrip(" \t")
        if rest.startswith(("\n", "\r\n")):
            before, after = before.rstrip(" \t"), rest.removeprefix("\r").removeprefix("\n")
    if member.comma_at is None:
        index = place.members.index(member)
        if index and (comma := place.members[index - 1].comma_at) is not None:
            before = before[:comma] + before[comma + 1 :]
    return before + kept + after


def _begins_its_line(text: str, at: int) -> bool:
    return not text[text.rfind("\n", 0, at) + 1 : at].strip(" \t")


def _indent_of_line(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at].removeprefix("\ufeff")
    return line[: len(line) - len(line.lstrip(" \t"))]


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _key(key: str) -> str:
    return _dumped(key)


def _written(value: object, indent: str, newline: str, *, one_line: bool = False) -> str:
    """Objects over several lines, everything else on one."""
    if one_line or not isinstance(value, dict) or not value:
        return _dumped(value)
    return newline.join(_lines(value, indent, newline))


def _lines(value: dict[str, object], indent: str, newline: str) -> Iterator[str]:
    yield "{"
    members = list(value.items())
    for index, (key, inner) in enumerate(members):
        comma = "," if index < len(members) - 1 else ""
        yield f"{indent}{_UNIT}{_key(key)}: {_written(inner, indent + _UNIT, newline)}{comma}"
    yield indent + "}"


def _dumped(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # half a character, which no file can hold as it is
        return json.dumps(value, allow_nan=False)
    return text
