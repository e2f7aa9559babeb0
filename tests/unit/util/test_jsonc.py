"""JSON with comments, and the line of everything."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from betcode.util.jsonc import Located, NotJson, parse

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def plain(found: Located) -> object:
    if isinstance(found.value, dict):
        return {key: plain(value) for key, value in found.value.items()}
    if isinstance(found.value, list):
        return [plain(value) for value in found.value]
    return found.value


@given(JSON, st.sampled_from([None, 2]))
def test_json_is_read_as_json(value: object, indent: int | None) -> None:
    assert plain(parse(json.dumps(value, indent=indent))) == value


def read(text: str) -> tuple[object, int]:
    """What a text is, and 0; or None and the line where it is not."""
    try:
        return plain(parse(text)), 0
    except NotJson as error:
        return None, error.line


@given(st.text(alphabet='{}[]",:/*\\ \n1atruefalsn-.', max_size=40))
def test_no_text_does_anything_but_be_json_or_not(text: str) -> None:
    found, line = read(text)
    assert 0 <= line <= text.count("\n") + 1
    try:
        value = json.loads(text)
    except ValueError:
        assert line or "," in text or "/" in text  # a trailing comma or a comment
    else:
        assert line or found == value  # what stands twice is refused here


def test_comments_and_trailing_commas_are_passed_over() -> None:
    text = '// a\n{"x": /* b\n */ [1, // c\n "http://d", ], }\n// e'
    assert plain(parse(text)) == {"x": [1, "http://d"]}


def test_every_value_knows_its_line() -> None:
    found = parse('{\n"a": [\n1,\n2]}')
    assert isinstance(found.value, dict)
    numbers = found.value["a"].value
    assert isinstance(numbers, list)
    assert [number.line for number in numbers] == [3, 4]


def test_a_key_that_stands_twice_is_refused_so_that_none_is_lost() -> None:
    with pytest.raises(NotJson, match='line 2: duplicate key "a"'):
        parse('{"a": 1,\n"a": 2}')
