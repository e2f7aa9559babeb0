"""A daemon of the obey API that says what a test wants, for what a real one says seldom."""

import threading
from collections.abc import Iterator
from concurrent import futures
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import ErrorInfo  # type: ignore[import-untyped]
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]

from obey.local.v1 import local_pb2 as v1

SESSION = "sess_01JMXYZ0000000000000000001"
OTHER = "sess_01JMXYZ0000000000000000002"


class ScriptedObey:
    """Two sessions. A message is a script: `fail NNNN`, `say TEXT`, `ask`, `err TEXT`, `hold`."""

    def __init__(self) -> None:
        self.is_held = threading.Event()
        self.was_left = threading.Event()

    def list_sessions(self, _: v1.ListSessionsRequest, __: grpc.ServicerContext) -> v1.ListSessionsResponse:
        return v1.ListSessionsResponse(sessions=[_info(SESSION), _info(OTHER)])

    def get_session(self, request: v1.GetSessionRequest, context: grpc.ServicerContext) -> v1.SessionInfo:
        if request.session_id not in (SESSION, OTHER):
            fail(context, 2010, "No session has that id")
        return _info(request.session_id)

    def send_message(
        self, request: v1.SendMessageRequest, context: grpc.ServicerContext
    ) -> Iterator[v1.SessionActivityEvent]:
        for line in request.message.splitlines():
            verb, _, rest = line.partition(" ")
            yield from self._act(verb, rest, context)

    def _act(self, verb: str, rest: str, context: grpc.ServicerContext) -> Iterator[v1.SessionActivityEvent]:
        match verb:
            case "fail":
                fail(context, int(rest), "Nothing is left")
            case "say":
                yield _activity(v1.ACTIVITY_TYPE_COMPLETION, rest, tokens_output=3)
            case "err":
                yield _activity(v1.ACTIVITY_TYPE_ERROR, rest)
            case "run":
                yield _activity(v1.ACTIVITY_TYPE_TOOL_CALL, rest, tool_name="Bash", tool_call_id="tc_1")
            case "ask":
                words = "permission_requested 5f0c: Bash: make tea"
                yield _activity(v1.ACTIVITY_TYPE_STATUS, words, tool_name="Bash", tool_call_id="5f0c")
            case _:
                yield _activity(v1.ACTIVITY_TYPE_THINKING, "holding")
                context.add_callback(self.was_left.set)
                self.is_held.set()
                self.was_left.wait(60)

    def execute(self, request: v1.ExecuteRequest, _: grpc.ServicerContext) -> Iterator[v1.ExecuteResponse]:
        yield v1.ExecuteResponse(stdout=b"\xff\x1b[2Jout\n")
        yield v1.ExecuteResponse(stderr=b"err\n")
        yield v1.ExecuteResponse(exit=v1.ExecuteExit(exit_code=len(request.args)))


def fail(context: grpc.ServicerContext, number: int, words: str) -> None:
    """As the daemon does: in the message, in ErrorInfo and in a trailer."""
    code = f"OBEY-{number}"
    details = Status(code=grpc.StatusCode.NOT_FOUND.value[0], message=f"{code}: {words}")
    details.details.add().Pack(ErrorInfo(reason=code, domain="obey.local.v1"))
    context.set_trailing_metadata((("grpc-status-details-bin", details.SerializeToString()), ("obey-error-code", code)))
    context.abort(grpc.StatusCode.NOT_FOUND, f"{code}: {words}")


def _info(session_id: str) -> v1.SessionInfo:
    return v1.SessionInfo(
        id=session_id,
        campaign_id="camp",
        provider=v1.SESSION_PROVIDER_CLAUDE_CODE,
        model="opus",
        agent_name="scout" if session_id == SESSION else "cook",
        status=v1.SESSION_STATUS_RUNNING,
    )


def _activity(kind: "v1.ActivityType.ValueType", content: str, **more: object) -> v1.SessionActivityEvent:
    return v1.SessionActivityEvent(session_id=SESSION, type=kind, content=content, **more)  # type: ignore[arg-type]


def _bytes(message: Message) -> bytes:
    return message.SerializeToString()


def _handlers(service: ScriptedObey) -> grpc.GenericRpcHandler:
    def one(method: Any, request: type[Message]) -> Any:
        return grpc.unary_unary_rpc_method_handler(method, request.FromString, _bytes)

    def many(method: Any, request: type[Message]) -> Any:
        return grpc.unary_stream_rpc_method_handler(method, request.FromString, _bytes)

    return grpc.method_handlers_generic_handler(
        "obey.local.v1.LocalDaemonService",
        {
            "ListSessions": one(service.list_sessions, v1.ListSessionsRequest),
            "GetSession": one(service.get_session, v1.GetSessionRequest),
            "SendMessage": many(service.send_message, v1.SendMessageRequest),
            "Execute": many(service.execute, v1.ExecuteRequest),
        },
    )


@contextmanager
def scripted_obey(socket: Path) -> Iterator[ScriptedObey]:
    service = ScriptedObey()
    server = grpc.server(futures.ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers((_handlers(service),))
    server.add_insecure_port(f"unix:{socket}")
    server.start()
    try:
        yield service
    finally:
        service.was_left.set()
        server.stop(0).wait()
