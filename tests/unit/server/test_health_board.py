"""The standard health service towards strangers, who may begin calls and send nothing."""

import gc
import tracemalloc
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import anyio
import grpc
import pytest
from grpc import aio

from betcode.server.health.grpc_health import SERVING, HealthBoard
from support.daemon.raw_calls import RawCalls
from support.patience import PATIENCE_S

pytestmark = pytest.mark.anyio
CHECK = "/grpc.health.v1.Health/Check"
OPTIONS = (("grpc.use_local_subchannel_pool", 1), ("grpc.enable_http_proxy", 0))


class Arrivals(aio.ServerInterceptor):
    def __init__(self) -> None:
        self.count = 0

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable["grpc.RpcMethodHandler[Any, Any] | None"]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> "grpc.RpcMethodHandler[Any, Any] | None":
        self.count += 1
        return await continuation(handler_call_details)


@pytest.mark.parametrize("is_probe_port", [False, True])
async def test_calls_that_send_nothing_do_not_keep_a_probe_waiting(
    monkeypatch: pytest.MonkeyPatch, is_probe_port: bool
) -> None:
    monkeypatch.setattr("betcode.server.health.grpc_health._UNAUTHENTICATED_S", 3600.0)
    board, arrivals = HealthBoard(), Arrivals()
    board.show({"": SERVING})
    server = aio.server(interceptors=(arrivals,))
    server.add_generic_rpc_handlers((board.probe_handlers() if is_probe_port else board.limited_handlers(),))
    port = server.add_insecure_port("127.0.0.1:0")
    # Where few are read at once, each address waits for itself alone; a probe's own port reads everybody.
    probed = f"127.0.0.1:{port}"
    if not is_probe_port:
        try:
            probed = f"[::1]:{server.add_insecure_port('[::1]:0')}"
        except RuntimeError:
            pytest.skip("there is no second address here: no IPv6")
    await server.start()
    async with AsyncExitStack() as stack:
        stack.push_async_callback(server.stop, None)
        silent = await stack.enter_async_context(aio.insecure_channel(f"127.0.0.1:{port}", options=OPTIONS))
        probe = await stack.enter_async_context(aio.insecure_channel(probed, options=OPTIONS))
        begin: aio.StreamUnaryMultiCallable[bytes, bytes] = silent.stream_unary(CHECK)
        for _ in range(20):
            stack.callback(begin().cancel)
        with anyio.fail_after(PATIENCE_S):
            while arrivals.count < 20 and not is_probe_port:  # noqa: ASYNC110
                await anyio.sleep(0.01)
        assert await RawCalls(probe).unary(CHECK, b"") == b"\x08\x01"


@pytest.mark.parametrize("is_careful", [False, True])
async def test_what_is_no_name_is_not_kept(is_careful: bool) -> None:
    board = HealthBoard()
    server = aio.server()
    server.add_generic_rpc_handlers((board.limited_handlers() if is_careful else board.handlers(),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    size = 2 * 1024 * 1024
    tracemalloc.start()
    gc.disable()  # what only garbage holds would hide here otherwise
    try:
        async with aio.insecure_channel(f"127.0.0.1:{port}", options=OPTIONS) as channel:
            for _ in range(8):
                with pytest.raises(aio.AioRpcError) as refused:
                    await RawCalls(channel).unary(CHECK, bytes(size))
                assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
                refused.value.__traceback__ = None  # which has the request that was sent
        assert tracemalloc.get_traced_memory()[0] < 4 * size
    finally:
        gc.enable()
        tracemalloc.stop()
        await server.stop(None)
