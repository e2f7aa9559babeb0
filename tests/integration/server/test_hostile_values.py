"""Values that a message can carry and no call can use: every method of both services refuses them in one sentence."""

import math
import random
from collections.abc import AsyncIterator, Iterator
from itertools import product
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.struct_pb2 import ListValue, Struct, Value
from google.protobuf.timestamp_pb2 import Timestamp
from grpc import aio

from betcode.client.address import grpc_target
from betcode.client.ticket import fetch_ticket
from betcode.server.rpc import TICKET
from betcode.server.server import contract_services
from betcode.server.unimplemented_methods import feature_of
from betcode.v1 import agent_pb2 as v1
from betcode.v1 import audit_pb2 as audit
from betcode.v1 import policy_pb2 as policy
from obey.local.v1 import local_pb2
from support.daemon.process import Agent, Daemon
from support.daemon.raw_calls import RawCalls, outcome
from support.daemon.stream import finished_session

pytestmark = pytest.mark.anyio

_ENDS_THE_DAEMON = {"StopDaemon", "Shutdown"}  # they take no value that matters, and the tests go on
OBEY = list(local_pb2.DESCRIPTOR.services_by_name["LocalDaemonService"].methods)
METHODS = [
    method
    for method in [*(each for service in contract_services() for each in service.methods), *OBEY]
    if feature_of(method) is None and method.name not in _ENDS_THE_DAEMON
]
_INTS = {
    FieldDescriptor.CPPTYPE_INT32: (-(2**31), -1, 2**31 - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(2**63), -1, 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT32: (2**32 - 1,),
    FieldDescriptor.CPPTYPE_UINT64: (2**63, 2**64 - 1),
    FieldDescriptor.CPPTYPE_ENUM: (-(2**31), 2**31 - 1, 77),
}
_FLOATS = (math.nan, math.inf, -math.inf, 1.7e308, -1.0, 5e-324)
_TEXTS = ("\x00", "../../../..", "\u202e\ufffe\U0010ffff", "a" * 70_000, "9" * 5_000, "%s{}\\\r\n", "-1", "null")
_MOMENTS = ((2**63 - 1, 0), (-(2**63), 0), (0, 2**31 - 1), (0, -(2**31)), (253402300800, 0), (-62135596801, 0), (1, -1))


_INFINITE = Value(number_value=math.inf)


def _deep(levels: int) -> Struct:
    inner = Value(number_value=math.inf)
    for _ in range(levels):
        inner = Value(list_value=ListValue(values=[inner]))
    return Struct(fields={"deep": inner})


def _special(kind: Descriptor) -> Iterator[Message]:
    """Hostile values of the messages that everybody knows."""
    if kind.full_name in ("google.protobuf.Timestamp", "google.protobuf.Duration"):
        for seconds, nanos in _MOMENTS:
            yield GetMessageClass(kind)(seconds=seconds, nanos=nanos)
    elif kind.full_name == "google.protobuf.Struct":
        for number in _FLOATS:
            yield Struct(fields={"a": Value(number_value=number), "": Value()})
        yield _deep(1)
        yield _deep(20)


def _values(field: FieldDescriptor) -> Iterator[Any]:
    if field.message_type is not None:
        return
    if field.cpp_type in _INTS:
        yield from _INTS[field.cpp_type]
    elif field.cpp_type in (FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT):
        yield from _FLOATS if field.cpp_type == FieldDescriptor.CPPTYPE_DOUBLE else (math.nan, math.inf, -1.0)
    elif field.type == FieldDescriptor.TYPE_STRING:
        yield from _TEXTS
    elif field.type == FieldDescriptor.TYPE_BYTES:
        yield from (b"\x00", b"\xff\xfe", b"x" * 70_000)


def _known(message: Message, session_id: str, directory: str) -> None:
    """What a call needs so that it gets further than its first check."""
    for field in message.DESCRIPTOR.fields:
        if field.type == FieldDescriptor.TYPE_STRING and not field.is_repeated:
            if field.name == "session_id":
                setattr(message, field.name, session_id)
            elif field.name in ("working_directory", "directory", "path"):
                setattr(message, field.name, directory)
            elif field.name in ("request_id", "question_id", "idempotency_key", "message_id", "campaign_id"):
                setattr(message, field.name, "00000000-0000-7000-8000-000000000000")


def _set(message: Message, field: FieldDescriptor, value: Any) -> None:
    held = getattr(message, field.name)
    if field.is_repeated:
        held.append(value) if not isinstance(value, Message) else held.add().CopyFrom(value)
    elif isinstance(value, Message):
        held.CopyFrom(value)
    else:
        setattr(message, field.name, value)


def _hostile(kind: Descriptor, depth: int = 0) -> Iterator[Message]:
    """Messages of this kind with one hostile value each, in any field of any message inside."""
    made = GetMessageClass(kind)
    for field in kind.fields:
        inner = field.message_type
        if inner is not None and inner.GetOptions().map_entry:
            for key, value in product(*(_values(inner.fields_by_name[name]) for name in ("key", "value"))):
                message = made()
                getattr(message, field.name)[key] = value
                yield message
            continue
        candidates = [*_values(field)] if inner is None else [*_special(inner)]
        if inner is not None and not candidates and depth < 3:
            candidates = [*_hostile(inner, depth + 1)]
        for value in candidates:
            message = made()
            _set(message, field, value)
            yield message


@pytest.fixture(scope="module")
async def session_id(daemon: Daemon, agent: Agent) -> str:
    return await finished_session(agent, str(daemon.work))


@pytest.fixture(scope="module")
async def obey(daemon: Daemon) -> AsyncIterator[aio.Channel]:
    async with aio.insecure_channel(grpc_target(daemon.paths.obey_socket)) as channel:
        yield channel


@pytest.mark.parametrize(
    ("method", "request_", "field"),
    [
        ("AuditService/ListAudit", audit.ListAuditRequest(since=Timestamp(seconds=2**62)), "since"),
        ("PolicyService/TryPolicy", policy.TryPolicyRequest(since=Timestamp(nanos=-1)), "since"),
        (
            "AgentService/AnswerPermission",
            v1.AnswerPermissionRequest(
                response=v1.PermissionResponse(
                    request_id="a", decision=v1.ALLOW_WITH_EDIT, updated_input=Struct(fields={"a": _INFINITE})
                )
            ),
            "response.updated_input",
        ),
    ],
    ids=lambda value: str(value)[:20],
)
async def test_the_field_with_a_value_out_of_range_is_named(
    daemon: Daemon, method: str, request_: Message, field: str
) -> None:
    async with daemon.channel() as channel:
        raw = RawCalls(channel, [(TICKET, await fetch_ticket(daemon.paths.ticket_socket))])
        call = raw.unary if "Answer" in method else raw.first
        with pytest.raises(aio.AioRpcError) as error:
            await call(f"/betcode.v1.{method}", request_.SerializeToString())
    assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert (error.value.details() or "").startswith(f"{field}: ")


@pytest.mark.parametrize("method", METHODS, ids=lambda method: f"{method.containing_service.name}.{method.name}")
async def test_no_value_of_a_field_makes_a_call_fail_inside(
    daemon: Daemon, obey: aio.Channel, session_id: str, method: MethodDescriptor
) -> None:
    requests = [*_hostile(method.input_type)]
    dice = random.Random(method.full_name)
    if len(requests) > 250:
        requests = dice.sample(requests, 250)
    failed = []
    async with daemon.channel() as channel:
        ticket = await fetch_ticket(daemon.paths.ticket_socket)  # the gate is passed, and what is behind it is met
        raw = RawCalls(obey if method in OBEY else channel, [(TICKET, ticket)])
        for request in requests:
            for is_known in (False, True):
                if is_known:
                    filled = type(request)()
                    _known(filled, session_id, str(daemon.work))
                    filled.MergeFrom(request)
                    request = filled  # noqa: PLW2901
                error = await outcome(raw, method, request.SerializeToString())
                if error is not None and error.code() in (grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN):
                    failed.append((str(request)[:300], error.code().name))
    assert not failed, failed[:5]
    assert daemon.exit_code is None
