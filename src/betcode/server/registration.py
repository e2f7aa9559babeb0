"""Handlers of a service, found by its descriptor: method `ListSessions` is implemented by `list_sessions` of an object.

The descriptor also names the request type and which sides stream. All services register in this way.
"""

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message_factory import GetMessageClass

from betcode.domain.errors import FeatureNotAvailable
from betcode.server.rpc import Handler, RpcAdapter, with_method_name
from betcode.server.unimplemented_methods import unimplemented_handler

FunctionT = TypeVar("FunctionT", bound=Callable[..., Awaitable[Any]])
_LONG = "_betcode_long_call"
_WORD_START = re.compile(r"(?<!^)(?=[A-Z])")


class HandlerMissing(Exception):
    """A method of a service has no handler, or several; the server must not start."""


def long_call(function: FunctionT) -> FunctionT:
    """Mark a unary call that may take long: at shutdown it ends as streams do."""
    setattr(function, _LONG, True)
    return function


def _every_method_is_implemented(_: MethodDescriptor) -> FeatureNotAvailable | None:
    return None


def handlers_of(
    service: ServiceDescriptor,
    rpc: RpcAdapter,
    implementations: Sequence[object],
    unimplemented: Callable[[MethodDescriptor], FeatureNotAvailable | None] = _every_method_is_implemented,
) -> dict[str, Handler]:
    """Return a handler for each method of the service, by method name.

    Raises:
        HandlerMissing: a method that is not declared as unimplemented does not have exactly one implementation.
    """
    handlers: dict[str, Handler] = {}
    for method in service.methods:
        error = unimplemented(method)
        if error is not None:
            handlers[method.name] = unimplemented_handler(method, error)
        else:
            handlers[method.name] = with_method_name(method, _adapted(rpc, method, _function(method, implementations)))
    return handlers


def _function(method: MethodDescriptor, implementations: Sequence[object]) -> Callable[..., Awaitable[Any]]:
    name = _WORD_START.sub("_", method.name).lower()
    found = [each for each in implementations if hasattr(each, name)]
    if len(found) != 1:
        owners = ", ".join(type(each).__name__ for each in found) or "none"
        raise HandlerMissing(f"{method.full_name} needs one object with a method `{name}`; found: {owners}")
    function: Callable[..., Awaitable[Any]] = getattr(found[0], name)
    return function


def _adapted(rpc: RpcAdapter, method: MethodDescriptor, function: Callable[..., Awaitable[Any]]) -> Handler:
    request = GetMessageClass(method.input_type)
    match method.client_streaming, method.server_streaming:
        case False, False:
            return rpc.long_unary(request, function) if hasattr(function, _LONG) else rpc.unary(request, function)
        case False, True:
            return rpc.stream(request, function)
        case True, False:
            return rpc.client_stream(f"call.{method.name}", function)
        case _:
            return rpc.bidirectional(function)
