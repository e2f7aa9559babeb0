"""One value of a settings file is changed; the rest stays as its writer left it."""

import json
from collections import Counter
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from betcode.config.edit.jsonc_edit import CannotEdit, comments, with_value, without
from betcode.util.jsonc import NotJson, parse

_SCALARS = st.none() | st.booleans() | st.integers(-99, 99) | st.text('ab"\\/*{}[],: é\ud800', max_size=6)
_KEYS = st.sampled_from(["a", "b", "c", "é", "//", '"'])
_VALUES = st.recursive(_SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3))
_OBJECTS = st.dictionaries(_KEYS, _VALUES, max_size=4)
_PATHS = st.lists(_KEYS, min_size=1, max_size=3)


_BETWEEN = ["", "", " ", "\n", "\n  ", "\t", "\r\n"]
_COMMENTS = ['// {}, }} " \n', "/* {} \n {{ */", "//{}\n", "/**/"]


class _Writer:
    """Writes a value as somebody may have written it."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance

    def blank(self) -> str:
        """What may stand between two words: nothing, blanks, comments."""
        text = self._chance.choice(_BETWEEN)
        if self._chance.random() < 0.2:
            text += self._chance.choice(_COMMENTS).format(self._chance.randrange(10_000))
        return text

    def text(self, value: object) -> str:
        if isinstance(value, dict):
            pairs = value.items()
            return (
                "{"
                + self._members([f"{json.dumps(k)}{self.blank()}:{self.blank()}{self.text(v)}" for k, v in pairs])
                + "}"
            )
        if isinstance(value, list):
            return "[" + self._members([self.text(each) for each in value]) + "]"
        return json.dumps(value, ensure_ascii=self._chance.random() < 0.5)

    def _members(self, written: list[str]) -> str:
        text = ",".join(f"{self.blank()}{each}{self.blank()}" for each in written)
        return text + ("," if written and self._chance.random() < 0.5 else "") + self.blank()


@st.composite
def _files(draw: st.DrawFn) -> tuple[dict[str, Any], str]:
    value: dict[str, Any] = draw(_OBJECTS)
    writer = _Writer(draw(st.randoms(use_true_random=True)))
    bom: str = draw(st.sampled_from(["", "\ufeff"]))
    return value, bom + writer.blank() + writer.text(value) + writer.blank()


def _changed(value: dict[str, Any], path: list[str], new: object) -> dict[str, Any]:
    inner = value.get(path[0])
    if len(path) == 1:
        return {**value, path[0]: new}
    return {**value, path[0]: _changed(inner if isinstance(inner, dict) else {}, path[1:], new)}


def _stands_in_the_way(value: object, path: list[str]) -> bool:
    for key in path[:-1]:
        if not isinstance(value, dict) or key not in value:
            return False
        value = value[key]
        if not isinstance(value, dict):
            return True
    return False


def _left(value: dict[str, Any], path: list[str]) -> dict[str, Any]:
    if path[0] not in value:
        return value
    if len(path) == 1:
        return {key: each for key, each in value.items() if key != path[0]}
    inner = value[path[0]]
    return {**value, path[0]: _left(inner, path[1:])} if isinstance(inner, dict) else value


@given(_files(), _PATHS, _VALUES)
def test_one_value_changes_and_every_comment_is_still_there(
    file: tuple[dict[str, Any], str], path: list[str], new: object
) -> None:
    value, text = file
    if _stands_in_the_way(value, path):
        with pytest.raises(CannotEdit):
            with_value(text, path, new)
        return
    edited = with_value(text, path, new)
    assert parse(edited).plain == _changed(value, path, new)
    assert Counter(comments(edited)) == Counter(comments(text))


@given(_files(), _PATHS)
def test_one_value_goes_and_every_comment_is_still_there(file: tuple[dict[str, Any], str], path: list[str]) -> None:
    value, text = file
    edited = without(text, path)
    assert parse(edited).plain == _left(value, path)
    assert Counter(comments(edited)) == Counter(comments(text))


@given(_files(), _PATHS, _SCALARS)
def test_what_was_set_can_be_taken_away_again(file: tuple[dict[str, Any], str], path: list[str], new: object) -> None:
    value, text = file
    if _stands_in_the_way(value, path):
        return
    assert parse(without(with_value(text, path, new), path)).plain == _left(_changed(value, path, new), path)


_FILE = """\
{
  // how many
  "agents": {
    "turn_limit": 3, // more is too hot
    "queue_limit": 5 // and so many wait
  },
  "model": "opus" /* the agent's own */
}
"""


@pytest.mark.parametrize(
    ("path", "value", "line"),
    [
        (["agents", "turn_limit"], 4, '    "turn_limit": 4, // more is too hot\n'),
        (["agents", "warm_limit"], 1, '    "queue_limit": 5, // and so many wait\n    "warm_limit": 1\n  },\n'),
        (
            ["notify", "on"],
            ["ask"],
            '  "model": "opus", /* the agent\'s own */\n  "notify": {\n    "on": ["ask"]\n  }\n}',
        ),
    ],
)
def test_a_change_looks_as_if_its_writer_had_made_it(path: list[str], value: object, line: str) -> None:
    assert line in with_value(_FILE, path, value)


def test_what_goes_takes_its_line_along() -> None:
    assert without(_FILE, ["model"]).endswith("  } /* the agent's own */\n}\n") or "model" not in without(
        _FILE, ["model"]
    )
    assert without('{\n  "a": 1,\n  "b": 2\n}\n', ["b"]) == '{\n  "a": 1\n}\n'
    assert without('{\n  "a": 1,\n  "b": 2\n}\n', ["a"]) == '{\n  "b": 2\n}\n'
    assert without('{"a": 1, "b": 2}', ["b"]).replace(" ", "") == '{"a":1}'


def test_a_key_that_is_written_with_dots_is_changed_where_it_stands() -> None:
    assert with_value('{"agents.turn_limit": 3}', ["agents", "turn_limit"], 4) == '{"agents.turn_limit": 4}'
    assert with_value('{"a": {"b.c": 3}}', ["a", "b", "c"], 4) == '{"a": {"b.c": 4}}'
    assert without('{"agents.turn_limit": 3}', ["agents", "turn_limit"]) == "{}"


def test_lines_end_as_they_did() -> None:
    assert with_value('{\r\n  "a": 1\r\n}\r\n', ["b"], {"c": 2}).count("\r\n") == 6
    assert "\n" not in with_value('{\r\n  "a": 1\r\n}\r\n', ["b"], {"c": {"d": 2}}).replace("\r\n", "")


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_file_begins_an_object(text: str) -> None:
    assert with_value(text, ["a", "b"], 1) == '{\n  "a": {\n    "b": 1\n  }\n}\n'
    assert without(text, ["a"]) == text


@pytest.mark.parametrize("text", ["[]", "{", "3", "// nothing"])
def test_what_is_no_object_is_left_alone(text: str) -> None:
    with pytest.raises(NotJson):
        with_value(text, ["a"], 1)
