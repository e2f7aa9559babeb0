"""A grpc.aio server that does nothing else: `python -m bench.empty_server SOCKET COUNT BYTES`.

It streams COUNT messages of BYTES bytes to whoever calls, and answers health checks: what the daemon is compared with.
"""

import asyncio
import sys
from typing import TYPE_CHECKING, Any

import grpc
from grpc import aio

from bench.batches import FOLLOW

if TYPE_CHECKING:
    Context = aio.ServicerContext[bytes, bytes]


async def main(socket: str, count: int, size_bytes: int) -> None:
    message = b"." * size_bytes

    async def stream(_request: bytes, context: "Context") -> None:
        write = context.write
        for _ in range(count):
            await write(message)

    async def check(_request: bytes, _context: "Context") -> bytes:
        return b"\x08\x01"

    server = aio.server()
    _, service, method = FOLLOW.split("/")
    streaming: grpc.RpcMethodHandler[Any, Any] = grpc.unary_stream_rpc_method_handler(stream)
    checking: grpc.RpcMethodHandler[Any, Any] = grpc.unary_unary_rpc_method_handler(check)
    health = grpc.method_handlers_generic_handler("grpc.health.v1.Health", {"Check": checking})
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {method: streaming}), health))
    server.add_insecure_port(f"unix:{socket}")
    await server.start()
    await server.wait_for_termination()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
