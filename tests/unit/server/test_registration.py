"""Handlers are registered from the descriptors of the services."""

from typing import Any

import pytest

from betcode.domain.errors import FeatureNotAvailable
from betcode.server.obey.create_session import CreateSessionCalls
from betcode.server.obey.daemon_calls import DaemonCalls
from betcode.server.obey.messages import MessageCalls
from betcode.server.obey.server import SERVICE as OBEY
from betcode.server.obey.session_queries import SessionQueryCalls
from betcode.server.obey.watch import WatchCalls
from betcode.server.registration import HandlerMissing, handlers_of, long_call
from betcode.server.rpc import Caller, Handler, RpcAdapter
from betcode.v1 import admin_pb2
from betcode.v1 import audit_pb2 as v1

AUDIT = v1.DESCRIPTOR.services_by_name["AuditService"]


class _List:
    async def list_audit(self, caller: Caller, request: v1.ListAuditRequest, context: object) -> None: ...


class _Verify:
    async def verify_audit(self, caller: Caller, request: v1.VerifyAuditRequest, context: object) -> None: ...


def test_each_method_is_found_in_one_of_the_objects_and_has_the_shape_of_its_descriptor() -> None:
    handlers = handlers_of(AUDIT, RpcAdapter(), (_List(), _Verify()))
    assert {name: (each.request_streaming, each.response_streaming) for name, each in handlers.items()} == {
        method.name: (method.client_streaming, method.server_streaming) for method in AUDIT.methods
    }


def test_a_method_without_a_handler_is_an_error() -> None:
    with pytest.raises(HandlerMissing, match=r"AuditService\.VerifyAudit needs .*`verify_audit`; found: none"):
        handlers_of(AUDIT, RpcAdapter(), (_List(),))


def test_a_method_with_two_handlers_is_an_error() -> None:
    with pytest.raises(HandlerMissing, match="found: _List, _List"):
        handlers_of(AUDIT, RpcAdapter(), (_List(), _Verify(), _List()))


def test_a_method_that_is_declared_as_unimplemented_needs_no_handler() -> None:
    handlers = handlers_of(AUDIT, RpcAdapter(), (), lambda method: FeatureNotAvailable(method.name))
    assert sorted(handlers) == ["ListAudit", "VerifyAudit"]


class _Recorder(RpcAdapter):
    def __init__(self) -> None:
        super().__init__()
        self.registered: list[str] = []

    def unary(self, kind: Any, handle: Any) -> Handler:
        self.registered.append("unary")
        return super().unary(kind, handle)

    def long_unary(self, kind: Any, handle: Any) -> Handler:
        self.registered.append("long")
        return super().long_unary(kind, handle)


def test_a_unary_call_that_is_marked_as_long_is_registered_as_long() -> None:
    rpc = _Recorder()

    class Stop:
        @long_call
        async def stop_daemon(self, caller: Caller, request: object) -> None: ...

    class Stops:
        async def stop_daemon(self, caller: Caller, request: object) -> None: ...

    admin = admin_pb2.DESCRIPTOR.services_by_name["AdminService"]
    handlers_of(admin, rpc, (Stop(),))
    handlers_of(admin, rpc, (Stops(),))
    assert rpc.registered == ["long", "unary"]


def test_every_method_of_the_obey_service_has_a_handler() -> None:
    """Its handlers are created with the first call, so that a start would not show a missing one."""
    classes = (CreateSessionCalls, SessionQueryCalls, MessageCalls, WatchCalls, DaemonCalls)
    handlers = handlers_of(OBEY, RpcAdapter(), [each.__new__(each) for each in classes])
    assert sorted(handlers) == sorted(OBEY.methods_by_name)
