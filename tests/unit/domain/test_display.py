"""JSON for people to look at: bounded, and never an error."""

import json
import tracemalloc

import pytest
from google.protobuf.json_format import MessageToDict
from google.protobuf.struct_pb2 import Struct
from hypothesis import given
from hypothesis import strategies as st

from betcode.domain.events.display import DEEPEST, struct_of
from betcode.v1.agent_pb2 import AgentEvent, PermissionRequest

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner, max_size=5),
    max_leaves=30,
)


def depth(message: Struct) -> int:
    def of(value: object) -> int:
        if isinstance(value, dict):
            return 1 + max((of(item) for item in value.values()), default=0)
        if isinstance(value, list):
            return 1 + max((of(item) for item in value), default=0)
        return 0

    return of(MessageToDict(message))


@given(st.dictionaries(st.text(max_size=8), JSON, max_size=5))
def test_small_objects_are_shown_whole(value: dict[str, object]) -> None:
    assert MessageToDict(struct_of(json.dumps(value))) == value
    assert MessageToDict(struct_of(value)) == value


@given(st.text(max_size=60) | st.binary(max_size=60))
def test_anything_can_be_given(source: str | bytes) -> None:
    struct_of(source).SerializeToString()


def test_what_is_no_object_comes_under_one_key() -> None:
    assert MessageToDict(struct_of("[1, null]")) == {"value": [1, None]}
    assert "cannot be shown" in struct_of("{").fields["…"].string_value


def test_numbers_that_a_double_would_change_are_shown_as_text() -> None:
    shown = struct_of('{"id": 9007199254740993, "inf": Infinity, "n": 10, "long": %s}' % ("9" * 5000))
    assert shown.fields["id"].string_value == "9007199254740993"
    assert shown.fields["inf"].string_value == "inf"
    assert shown.fields["n"].number_value == 10
    assert shown.fields["long"].string_value


def test_half_a_surrogate_pair_is_replaced() -> None:
    assert struct_of('{"a\\ud800": "\\udfff"}').fields["a\ufffd"].string_value == "\ufffd"


@pytest.mark.parametrize("levels", [DEEPEST - 1, 200, 100_000])
@pytest.mark.parametrize(("opening", "closing"), [('{"a":', "}"), ("[", "]"), ('[{"a":', "}]")])
def test_deep_nesting_is_cut_and_can_be_parsed_again(levels: int, opening: str, closing: str) -> None:
    shown = struct_of(opening * levels + "1" + closing * levels)
    assert depth(shown) <= DEEPEST + 1
    event = AgentEvent(permission_request=PermissionRequest(input=shown))
    assert AgentEvent.FromString(event.SerializeToString()) == event


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"command": "x" * 20_000_000, "description": "seen"}),
        '{"description": "seen", "a": [' + "1," * 150_000 + "1]}",
        json.dumps({"description": "seen", **{str(n): n for n in range(50_000)}}),
    ],
)
def test_big_inputs_are_shown_in_part(text: str) -> None:
    shown = struct_of(text)
    assert shown.ByteSize() < 100_000
    assert shown.fields["description"].string_value == "seen"


def test_what_has_too_many_values_is_not_read_at_all() -> None:
    text = "[" + "{}," * 7_000_000 + "{}]"
    tracemalloc.start()
    try:
        assert "too many values" in struct_of(text).fields["…"].string_value
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 1_000_000, "and neither copied"
