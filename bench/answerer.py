"""An agent that answers every message with one word, at once, on any of the wires that providers speak.

Which wire it is, its arguments tell: `app-server` is Codex', `--input-format` that of the claude CLI, else it is ACP.
A message `collect NUMBER` on the wire of the claude CLI makes it read so many more before it answers any.
Standard library only.
"""

import json
import sys
import uuid
from collections.abc import Iterator
from typing import Any

Frame = dict[str, Any]


def claude(said: Frame) -> Iterator[Frame]:
    if said["type"] == "control_request":
        answer = {"subtype": "success", "request_id": said["request_id"], "response": {}}
        yield {"type": "control_response", "response": answer}
    if said["type"] != "user":
        return
    session, message = "0197f3a0-0000-7000-8000-00000000beef", {"role": "assistant", "model": "bench", "id": "m"}
    block = {"type": "text", "text": "done"}
    common: Frame = {"session_id": session, "uuid": str(uuid.uuid4()), "parent_tool_use_id": None}
    yield {"type": "system", "subtype": "init", "model": "bench", "tools": [], "cwd": "/", **common}
    yield said | {"isReplay": True, "session_id": session, "parent_tool_use_id": None}
    for event in (
        {"type": "message_start", "message": message | {"content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "done"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_stop"},
    ):
        yield {"type": "stream_event", "event": event, **common}
    yield {"type": "assistant", "message": message | {"content": [block]}, **common}
    yield {"type": "result", "subtype": "success", "is_error": False, "result": "done", "num_turns": 1, **common}


def codex(said: Frame) -> Iterator[Frame]:
    thread, turn, item = "0197f3a0-0000-7000-8000-00000000c0de", str(uuid.uuid4()), str(uuid.uuid4())
    place = {"threadId": thread, "turnId": turn}
    match said.get("method"):
        case "thread/start" | "thread/resume":
            yield {"id": said["id"], "result": {"thread": {"id": thread}, "model": "bench"}}
        case "turn/start":
            yield {"id": said["id"], "result": {"turn": {"id": turn, "status": "inProgress"}}}
            yield {"method": "turn/started", "params": {**place, "turn": {"id": turn, "status": "inProgress"}}}
            text: Frame = {"type": "agentMessage", "id": item, "text": ""}
            yield {"method": "item/started", "params": {**place, "item": text}}
            yield {"method": "item/agentMessage/delta", "params": {**place, "itemId": item, "delta": "done"}}
            yield {"method": "item/completed", "params": {**place, "item": text | {"text": "done"}}}
            ended: Frame = {"id": turn, "status": "completed", "error": None, "items": []}
            yield {"method": "turn/completed", "params": {**place, "turn": ended}}
        case _ if "id" in said and "method" in said:
            yield {"id": said["id"], "result": {"userAgent": "bench"}}
        case _:
            pass


def acp(said: Frame) -> Iterator[Frame]:
    session = "0197f3a0-0000-7000-8000-00000000ac90"
    result: Frame = {}
    match said.get("method"):
        case "initialize":
            result = {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}, "authMethods": []}
        case "session/new":
            result = {"sessionId": session}
        case "session/prompt":
            chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "done"}}
            told = {"sessionId": session, "update": chunk}
            yield {"jsonrpc": "2.0", "method": "session/update", "params": told}
            result = {"stopReason": "end_turn"}
        case _:
            pass
    if "id" in said and "method" in said:
        yield {"jsonrpc": "2.0", "id": said["id"], "result": result}


def main() -> None:
    """Until its stdin ends."""
    if "--version" in sys.argv:
        print("999.0.0")
        return
    wire = codex if "app-server" in sys.argv else claude if "--input-format" in sys.argv else acp
    collected: list[Frame] = []
    missing = 0
    for line in sys.stdin:
        said = json.loads(line)
        collected.append(said)
        if wire is claude and said["type"] == "user":
            _, _, number = said["message"]["content"].rpartition("collect ")
            missing = int(number) if number.isdigit() else missing - 1
        if missing > 0:
            continue
        for each in collected:
            for frame in wire(each):
                sys.stdout.write(json.dumps(frame, separators=(",", ":")) + "\n")
        sys.stdout.flush()
        collected.clear()


if __name__ == "__main__":
    main()
