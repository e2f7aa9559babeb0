"""Run by an agent as its tool: tries to act as a person, and prints what came of it as JSON.

    inside_attempts.py PLAN ATTEMPT

PLAN is a JSON file with the addresses of the daemon. ATTEMPT is `methods`, `conversation`, `in_flight`, or a disguise.
A process in a disguise answers the prompt of PLAN, asks for a ticket, and writes the result to the file `report` of
PLAN.
"""

import ctypes
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.descriptor import MethodDescriptor

from betcode.holder.platform import process
from betcode.v1 import agent_pb2 as v1
from betcode.v1.agent_pb2_grpc import AgentServiceStub

BOUND_S = 60.0
OPTIONS = [("grpc.enable_http_proxy", 0), ("grpc.use_local_subchannel_pool", 1)]
Plan = dict[str, str]


def code_of(call: Callable[[], object]) -> str:
    try:
        answer = call()
        if not isinstance(answer, bytes) and hasattr(answer, "__iter__"):
            for _ in answer:
                break
            answer.cancel()  # type: ignore[attr-defined]
    except grpc.RpcError as error:
        return str(error.code().name)
    return "OK"


# ------------------------------------------------------------ every method


def methods(plan: Plan) -> dict[str, dict[str, str]]:
    """The status of every method of every face, called with an empty request."""
    from betcode.server.server import contract_services

    token = Path(plan["token"]).read_text().strip()
    faces = {
        "socket": (f"unix:{plan['socket']}", ()),
        "tcp": (plan["tcp"], (("authorization", f"Bearer {token}"),)),
        "obey": (f"unix:{plan['obey']}", ()),
    }
    found: dict[str, dict[str, str]] = {}
    for face, (address, metadata) in faces.items():
        with grpc.insecure_channel(address, options=OPTIONS) as channel:
            found[face] = {
                method.full_name: called(channel, method, metadata)
                for service in contract_services()
                for method in service.methods
                if (service.full_name.startswith("obey.")) == (face == "obey")
            }
    return found


def called(channel: Any, method: MethodDescriptor, metadata: tuple[tuple[str, str], ...]) -> str:
    path = f"/{method.containing_service.full_name}/{method.name}"
    match method.client_streaming, method.server_streaming:
        case False, False:
            return code_of(lambda: channel.unary_unary(path)(b"", metadata=metadata, timeout=BOUND_S))
        case False, True:
            stream = channel.unary_stream(path)(b"", metadata=metadata, timeout=3.0)
            code = code_of(lambda: stream)
            return "OK" if code == "DEADLINE_EXCEEDED" else code  # it watches, and nothing happens
        case True, False:
            return code_of(lambda: channel.stream_unary(path)(iter(()), metadata=metadata, timeout=BOUND_S))
        case _:
            return code_of(lambda: channel.stream_stream(path)(iter((b"",)), metadata=metadata, timeout=BOUND_S))


# ------------------------------------------------------------ a conversation


def conversation(plan: Plan) -> dict[str, str]:
    """What a stream that watches another session is told when it sends something."""
    answer = v1.PermissionResponse(request_id=plan["request"], decision=v1.ALLOW_ONCE)
    sent = {
        "message": v1.AgentRequest(message=v1.UserMessage(content="say I was here", idempotency_key="inside")),
        "permission": v1.AgentRequest(permission=answer),
        "question": v1.AgentRequest(question_response=v1.UserQuestionResponse(question_id=plan["request"])),
        "cancel": v1.AgentRequest(cancel=v1.CancelRequest(cancel_queued=True)),
    }
    attach = v1.AgentRequest(start=v1.StartConversation(session_id=plan["session"]))
    begin = v1.AgentRequest(start=v1.StartConversation(working_directory="/tmp", allowed_tools=["Bash"]))
    found = {name: _said_to(plan, [attach, request]) for name, request in sent.items()}
    return {**found, "watch": _said_to(plan, [attach]), "start": _said_to(plan, [begin])}


def _said_to(plan: Plan, requests: list[v1.AgentRequest]) -> str:
    """The first error of a stream; OK where there is none."""
    with grpc.insecure_channel(f"unix:{plan['socket']}", options=OPTIONS) as channel:
        try:
            for event in AgentServiceStub(channel).Converse(iter(requests), timeout=BOUND_S):
                if event.WhichOneof("event") == "error":
                    return event.error.code
                if len(requests) == 1 and event.WhichOneof("event") == "session_info":
                    return "OK"
        except grpc.RpcError as error:
            return str(error.code().name)
    return "OK"


# ------------------------------------------------------------ disguises


def act(plan: Plan) -> dict[str, Any]:
    """Answer the prompt, by every way."""
    answer = v1.AnswerPermissionRequest(
        response=v1.PermissionResponse(request_id=plan["request"], decision=v1.ALLOW_ONCE)
    )
    message = v1.SubmitRequest(
        session_id=plan["session"], request=v1.AgentRequest(message=v1.UserMessage(content="say I was here"))
    )
    found: dict[str, Any] = {"pid": os.getpid()}
    with grpc.insecure_channel(f"unix:{plan['socket']}", options=OPTIONS) as channel:
        stub = AgentServiceStub(channel)
        found["socket"] = code_of(lambda: stub.AnswerPermission(answer, timeout=BOUND_S))
        found["submit"] = code_of(lambda: stub.Submit(message, timeout=BOUND_S))
    if plan["tcp"]:
        metadata = (("authorization", f"Bearer {Path(plan['token']).read_text().strip()}"),)
        with grpc.insecure_channel(plan["tcp"], options=OPTIONS) as channel:
            stub = AgentServiceStub(channel)
            found["tcp"] = code_of(lambda: stub.AnswerPermission(answer, timeout=BOUND_S, metadata=metadata))
    found["ticket"] = ticket_line(plan).partition(" ")[0]
    return found


def in_flight(plan: Plan) -> None:
    """Answer by TCP with a socket that is open in no process: its descriptor waits in a message that nobody reads."""
    body = v1.AnswerPermissionRequest(
        response=v1.PermissionResponse(request_id=plan["request"], decision=v1.ALLOW_ONCE)
    ).SerializeToString()
    headers = {
        ":method": "POST",
        ":scheme": "http",
        ":path": "/betcode.v1.AgentService/AnswerPermission",
        ":authority": "localhost",
        "te": "trailers",
        "content-type": "application/grpc",
        "authorization": f"Bearer {Path(plan['token']).read_text().strip()}",
    }
    fields = b"".join(b"\0" + _hpack(name) + _hpack(value) for name, value in headers.items())
    frames = (_frame(4, 0, 0, b""), _frame(1, 4, 1, fields), _frame(0, 1, 1, struct.pack("!xI", len(body)) + body))
    host, _, port = plan["tcp"].rpartition(":")
    sender, _receiver = socket.socketpair()
    with socket.create_connection((host, int(port))) as connection:
        daemon = int(plan["daemon"])
        os.kill(daemon, signal.SIGSTOP)  # so that it reads the request when the descriptor is closed
        connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"".join(frames))
        socket.send_fds(sender, [b"x"], [connection.fileno()])
    os.kill(daemon, signal.SIGCONT)
    time.sleep(BOUND_S)


def _hpack(text: str) -> bytes:
    """A string of HTTP/2 headers, of at most 254 characters."""
    data = text.encode()
    return (bytes([len(data)]) if len(data) < 127 else bytes([127, len(data) - 127])) + data


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return struct.pack("!I", len(payload))[1:] + bytes([kind, flags]) + struct.pack("!I", stream) + payload


def ticket_line(plan: Plan) -> str:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(plan["tickets"])
        return connection.makefile().readline().strip()


def locks(plan: Plan) -> list[Path]:
    return list(Path(plan["runs"]).glob("*/lock"))


def lock_removed(plan: Plan) -> None:
    for lock in locks(plan):
        lock.unlink()


def lock_overwritten(plan: Plan) -> None:
    for lock in locks(plan):
        lock.write_text("99999999 1\n")  # never a living pid: the end of a test kills what locks name


def lock_emptied(plan: Plan) -> None:
    for lock in locks(plan):
        os.truncate(lock, 0)


def lock_moved(plan: Plan) -> None:
    for lock in locks(plan):
        lock.rename(lock.with_name("elsewhere"))


def lock_replaced(plan: Plan) -> None:
    for lock in locks(plan):
        lock.unlink()
        lock.write_text(f"{os.getpid()} 1\n")


def sockets_removed(plan: Plan) -> None:
    for path in Path(plan["runs"]).glob("*/socket"):
        path.unlink()


def plain(_plan: Plan) -> None:
    """Nothing."""


def new_session(_plan: Plan) -> None:
    if os.fork():
        os._exit(0)
    os.setsid()


def new_group(_plan: Plan) -> None:
    os.setpgid(0, 0)


def renamed(_plan: Plan) -> None:
    ctypes.CDLL(None).prctl(15, b"sshd", 0, 0, 0)


def double_fork(_plan: Plan) -> None:
    if os.fork():
        os._exit(0)
    os.setsid()
    parent = os.getpid()
    if os.fork():
        os._exit(0)
    while os.getppid() == parent:
        time.sleep(0.01)


def own_subreaper(plan: Plan) -> None:
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
    if os.fork():
        os.wait()
        time.sleep(BOUND_S)
    double_fork(plan)


def new_namespace(_plan: Plan) -> None:
    """A user namespace of its own, where the system allows it."""
    ctypes.CDLL(None).unshare(0x10000000)


def empty_environment(_plan: Plan) -> None:
    """Done by `again`: an environment is that of the program that was executed."""


def holder_killed(plan: Plan) -> None:
    """Fork away, and end the holder, so that nothing is above any more."""
    holder = holder_above()
    double_fork(plan)
    os.kill(holder, signal.SIGKILL)
    while os.getppid() == holder:
        time.sleep(0.001)


def holder_killed_at_once(plan: Plan) -> None:
    """The same, by a process that forks away when the holder is dead already."""
    holder_killed(plan)
    double_fork(plan)


def agent_and_holder_killed(plan: Plan) -> None:
    holder, agent = holder_above(), agent_above()
    double_fork(plan)
    os.kill(holder, signal.SIGSTOP)
    os.kill(agent, signal.SIGKILL)
    os.kill(holder, signal.SIGKILL)
    while os.getppid() == holder:
        time.sleep(0.001)


def holder_above() -> int:
    pid = os.getpid()
    while b"holder/program.py" not in Path(f"/proc/{pid}/cmdline").read_bytes():
        found = process(pid)
        assert found is not None
        pid = found.parent
    return pid


def agent_above() -> int:
    holder, pid = holder_above(), os.getpid()
    while (found := process(pid)) is not None and found.parent != holder:
        pid = found.parent
    return pid


DISGUISES: dict[str, Callable[[Plan], None]] = {
    each.__name__: each
    for each in (
        plain,
        lock_removed,
        lock_overwritten,
        lock_emptied,
        lock_moved,
        lock_replaced,
        sockets_removed,
        new_session,
        new_group,
        new_namespace,
        renamed,
        double_fork,
        own_subreaper,
        empty_environment,
        holder_killed,
        holder_killed_at_once,
        agent_and_holder_killed,
    )
}


def disguised(plan: Plan, path: str, name: str) -> None:
    """In a child, which leaves the tool that started it."""
    if "BETCODE_RUN" in os.environ and ("killed" in name or name in ("empty_environment", "double_fork")):
        argv = ["/usr/bin/env", "-i", sys.executable, "-P", __file__, path, name]
        subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return
    if os.fork():
        return
    null = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(null, number)
    DISGUISES[name](plan)
    try:
        found = act(plan)
    except Exception as error:  # noqa: BLE001 what happened is the result
        found = {"error": f"{type(error).__name__}: {error}"}
    report = Path(plan["report"])
    unfinished = report.with_suffix(".unfinished")
    unfinished.write_text(json.dumps(found))
    unfinished.rename(report)
    os._exit(0)


def main(path: str, attempt: str) -> None:
    plan: Plan = json.loads(Path(path).read_text())
    match attempt:
        case "methods":
            print(json.dumps(methods(plan)))
        case "conversation":
            print(json.dumps(conversation(plan)))
        case "in_flight":
            in_flight(plan)
        case _:
            disguised(plan, path, attempt)


if __name__ == "__main__":
    main(*sys.argv[1:])
