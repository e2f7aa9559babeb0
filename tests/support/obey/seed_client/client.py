"""A client of the obey API that knows its published text alone: no module of this project is loaded.

As a program, isolated (`python -I`): the directory with the stubs, the socket, and what to ask for as JSON. It makes a
session, talks to it, restarts it, talks again and stops it, watching all the while; and prints what it saw as JSON.
"""

import importlib
import json
import sys
import threading
from collections.abc import Iterable
from typing import Any

import grpc
from google.protobuf.json_format import MessageToDict

PATIENCE_S = 60


def seen(message: Any) -> Any:
    return MessageToDict(message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True)


def gather(stream: Iterable[Any], found: list[Any], stopped: threading.Event | None = None) -> threading.Thread:
    """What a stream tells, until it ends or is cancelled; `stopped` is set when a session has stopped."""

    def read() -> None:
        try:
            for each in stream:
                found.append(seen(each))
                if stopped is not None and found[-1]["new_status"] == "SESSION_STATUS_STOPPED":
                    stopped.set()
        except grpc.RpcError as error:
            if error.code() is not grpc.StatusCode.CANCELLED:
                found.append(str(error))

    thread = threading.Thread(target=read)
    thread.start()
    return thread


def main(stubs: str, socket: str, asked: dict[str, Any]) -> None:
    sys.path.insert(0, stubs)
    v1: Any = importlib.import_module("local_pb2")
    daemon: Any = importlib.import_module("local_pb2_grpc").LocalDaemonServiceStub(
        grpc.insecure_channel(f"unix:{socket}")
    )
    wait = {"timeout": PATIENCE_S}
    told: dict[str, Any] = {"of_all": [], "statuses": []}

    every = daemon.WatchAllSessions(v1.WatchAllSessionsRequest(campaign_id=asked["campaign"]))
    all_stopped = threading.Event()
    of_all = gather(every, told["of_all"], all_stopped)
    request = v1.CreateSessionRequest(
        campaign_id=asked["campaign"],
        provider=asked["provider"],
        agent_name="outsider",
        festival_id="hedera-foundation-HF0001",
        task_id="001_IMPLEMENT/01_link/01_write.md",
        model=asked["model"],
        provider_config=asked["config"],
        environment=asked["environment"],
        max_tokens=1_000_000,
    )
    created = daemon.CreateSession(request, **wait).session
    told["created"] = seen(created)
    watching = daemon.WatchSession(v1.WatchSessionRequest(session_id=created.id))
    of_one = gather(watching, told["statuses"])

    def send() -> list[Any]:
        request = v1.SendMessageRequest(session_id=created.id, message=asked["message"])
        return [seen(one) for one in daemon.SendMessage(request, **wait)]

    def listed() -> list[str]:
        return [one.id for one in daemon.ListSessions(v1.ListSessionsRequest(), **wait).sessions]

    told["sent"] = send()
    told["known"] = seen(daemon.GetSession(v1.GetSessionRequest(session_id=created.id), **wait))
    told["listed"] = listed()
    told["state"] = seen(daemon.GetState(v1.StateRequest(), **wait))
    told["restarted"] = seen(daemon.RestartSession(v1.RestartSessionRequest(session_id=created.id), **wait).session)
    told["sent_again"] = send()
    stop = v1.StopSessionRequest(session_id=created.id, graceful=True)
    told["stopped"] = seen(daemon.StopSession(stop, **wait).session)
    of_one.join(PATIENCE_S)
    all_stopped.wait(PATIENCE_S)
    every.cancel()
    of_all.join(PATIENCE_S)
    told["listed_afterwards"] = listed()
    try:
        daemon.StopSession(stop, **wait)
    except grpc.RpcError as error:
        code = [each.value for each in error.trailing_metadata() if each.key == "obey-error-code"]
        told["refused"] = [error.code().name, error.details(), *code]
    told["modules"] = sorted(name for name in sys.modules if name.partition(".")[0] in ("betcode", "obey", "support"))
    print(json.dumps(told))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))
