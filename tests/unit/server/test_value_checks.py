"""Which values of a request are out of range."""

import math

import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.protobuf.struct_pb2 import ListValue, Struct, Value
from google.protobuf.timestamp_pb2 import Timestamp

from betcode.domain.errors import InvalidRequest
from betcode.server.value_checks import check_values, may_be_out_of_range
from betcode.v1 import agent_pb2 as v1
from betcode.v1 import audit_pb2 as audit

FIRST_S, LAST_S = -62_135_596_800, 253_402_300_799


@pytest.mark.parametrize(
    "fine",
    [
        Timestamp(),
        Timestamp(seconds=FIRST_S),
        Timestamp(seconds=LAST_S, nanos=999_999_999),
        Duration(seconds=-315_576_000_000, nanos=-5),
        Duration(nanos=5),
        Struct(fields={"a": Value(number_value=1.7e308), "b": Value(bool_value=False)}),
        audit.ListAuditRequest(until=Timestamp(seconds=1)),
    ],
    ids=str,
)
def test_values_in_range(fine: Message) -> None:
    check_values(fine)


@pytest.mark.parametrize(
    "wrong",
    [
        Timestamp(seconds=FIRST_S - 1),
        Timestamp(seconds=LAST_S + 1),
        Timestamp(nanos=-1),
        Timestamp(nanos=1_000_000_000),
        Duration(seconds=315_576_000_001),
        Duration(nanos=-1_000_000_000),
        Duration(seconds=1, nanos=-1),
        Value(number_value=math.nan),
        Struct(fields={"a": Value()}),
        ListValue(values=[Value(string_value="a"), Value(number_value=-math.inf)]),
        Struct(fields={"a": Value(struct_value=Struct(fields={"b": Value(number_value=math.inf)}))}),
        Struct(fields={"a": Value(list_value=ListValue(values=[Value(number_value=math.inf)]))}),
    ],
    ids=str,
)
def test_values_out_of_range(wrong: Message) -> None:
    with pytest.raises(InvalidRequest):
        check_values(wrong)


def test_the_field_is_named_however_deep_it_is() -> None:
    response = v1.PermissionResponse(updated_input=Struct(fields={"a": Value(number_value=math.nan)}))
    request = v1.SubmitRequest(request=v1.AgentRequest(permission=response))
    with pytest.raises(InvalidRequest) as refused:
        check_values(request)
    assert str(refused.value).startswith("request.permission.updated_input: ")


def test_every_entry_of_a_list_is_checked() -> None:
    wrong = v1.SessionSummary(created_at=Timestamp(nanos=-1))
    with pytest.raises(InvalidRequest, match=r"^sessions\.created_at: "):
        check_values(v1.ListSessionsResponse(sessions=[v1.SessionSummary(), wrong]))


def test_most_messages_need_not_be_read() -> None:
    assert not may_be_out_of_range(v1.UserMessage.DESCRIPTOR)
    assert may_be_out_of_range(v1.SubmitRequest.DESCRIPTOR)
