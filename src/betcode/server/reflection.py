"""Server reflection, loaded with its first call, because loading it slows every start."""

from collections.abc import Sequence
from typing import Any

import grpc
from google.protobuf.message import DecodeError

_SERVICES = ("grpc.reflection.v1alpha.ServerReflection", "grpc.reflection.v1.ServerReflection")
_METHODS = tuple(f"/{service}/ServerReflectionInfo" for service in _SERVICES)  # on the wire they are the same


def lazy_reflection(names: Sequence[str]) -> grpc.GenericRpcHandler:
    """Tells reflecting clients about the services called `names`."""
    return _LazyReflection((*names, _SERVICES[0]))


class _LazyReflection(grpc.GenericRpcHandler):
    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._servicer: Any = None

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> "grpc.RpcMethodHandler[Any, Any] | None":
        if handler_call_details.method not in _METHODS:
            return None
        from grpc_reflection.v1alpha import reflection_pb2
        from grpc_reflection.v1alpha._async import ReflectionServicer

        def read(data: bytes) -> Any:
            """Parse a request; an invalid one becomes empty and is refused without a traceback in the log."""
            try:
                return reflection_pb2.ServerReflectionRequest.FromString(data)
            except DecodeError:
                return reflection_pb2.ServerReflectionRequest()

        if self._servicer is None:
            self._servicer = ReflectionServicer(self._names)
        return grpc.stream_stream_rpc_method_handler(
            self._servicer.ServerReflectionInfo,
            request_deserializer=read,
            response_serializer=reflection_pb2.ServerReflectionResponse.SerializeToString,
        )
