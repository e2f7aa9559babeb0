"""A program that says something in a session and then stays: SOCKET SESSION CLIENT_ID."""

import sys

import grpc

from betcode.v1 import agent_pb2 as v1
from betcode.v1.agent_pb2_grpc import AgentServiceStub


def main(socket: str, session_id: str, client_id: str) -> None:
    with grpc.insecure_channel(f"unix:{socket}") as channel:
        agent = AgentServiceStub(channel)
        named = (("x-client-id", client_id),)
        stream = agent.Follow(v1.FollowRequest(session_id=session_id), metadata=named)
        next(stream)
        said = v1.AgentRequest(message=v1.UserMessage(content="say hello"))
        agent.Submit(v1.SubmitRequest(session_id=session_id, request=said), metadata=named)
        for _ in stream:
            pass


if __name__ == "__main__":
    main(*sys.argv[1:])
