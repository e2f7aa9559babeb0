"""Run by an agent as its tool: tries to answer the agent's own prompt, in the way its first argument says.

ticket SOCKET                   asks the ticket socket and prints what it says
answer SOCKET REQUEST           answers by AnswerPermission, without a ticket
borrowed SOCKET REQUEST TICKET  the same with a ticket
stay SOCKET FILE                connects by gRPC, writes to FILE and stays until it is killed
"""

import socket
import sys
import threading
from pathlib import Path

import grpc

from betcode.v1 import agent_pb2 as v1
from betcode.v1.agent_pb2_grpc import AgentServiceStub

PATIENCE_S = 60.0  # this is a program, and knows no other file of the tests


def ticket(path: str) -> str:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        return connection.makefile().readline().strip()


def answer(path: str, request_id: str, *metadata: tuple[str, str]) -> str:
    response = v1.PermissionResponse(request_id=request_id, decision=v1.ALLOW_ONCE)
    with grpc.insecure_channel(f"unix:{path}") as channel:
        try:
            AgentServiceStub(channel).AnswerPermission(
                v1.AnswerPermissionRequest(response=response), metadata=metadata, timeout=PATIENCE_S
            )
        except grpc.RpcError as error:
            return str(error.code().name)
        return "OK"


def stay(path: str, file: str) -> None:
    with grpc.insecure_channel(f"unix:{path}") as channel:
        AgentServiceStub(channel).ListSessions(v1.ListSessionsRequest(), timeout=PATIENCE_S)
        Path(file).write_text("here")  # a pipe: it lets the test go on
        threading.Event().wait()


def main(how: str, path: str, *rest: str) -> None:
    match how:
        case "ticket":
            print(ticket(path))
        case "answer":
            print(answer(path, rest[0]))
        case "borrowed":
            print(answer(path, rest[0], ("x-betcode-ticket", rest[1])))
        case "stay":
            stay(path, rest[0])
        case _:
            raise SystemExit(f"unknown: {how}")


if __name__ == "__main__":
    main(*sys.argv[1:])
