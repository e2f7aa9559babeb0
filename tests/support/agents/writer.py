"""A stand-in for the claude CLI that writes what it is told to, at one stroke; standard library only.

A message names a file with a JSON list of frames. Those that stand together come out in one write;
`{"heard": N}` among them waits until it has heard N answers in all. The turn ends behind the last.
What it hears stands in heard.jsonl.
"""

import json
import sys
import threading
import uuid
from pathlib import Path
from typing import Any

Frame = dict[str, Any]


class Agent:
    def __init__(self, arguments: list[str]) -> None:
        named = [a for flag in ("--session-id=", "--resume=") for a in arguments if a.startswith(flag)]
        self._session = named[0].split("=", 1)[1] if named else str(uuid.uuid4())
        self._count = 0
        self._more = threading.Condition()

    def run(self) -> None:
        for line in sys.stdin:
            frame = json.loads(line)
            if frame["type"] == "user":
                threading.Thread(target=self._turn, args=(frame,), daemon=True).start()
            elif frame["type"] == "control_response":
                with Path("heard.jsonl").open("a") as heard:
                    heard.write(json.dumps(frame["response"]) + "\n")
                with self._more:
                    self._count += 1
                    self._more.notify_all()
            elif frame["type"] == "control_request":
                answer = {"subtype": "success", "request_id": frame["request_id"], "response": {"still_queued": []}}
                self._write([{"type": "control_response", "response": answer}])

    def _turn(self, message: Frame) -> None:
        named = message["uuid"]
        begin: list[Frame] = [
            {"type": "system", "subtype": "init", "cwd": str(Path.cwd()), "tools": ["Bash"], "mcp_servers": []}
            | {
                "model": "writer-1",
                "permissionMode": "default",
                "slash_commands": [],
                "claude_code_version": "2.1.325",
            },
            {"type": "command_lifecycle", "command_uuid": named, "state": "started"},
        ]
        self._write(begin)
        together: list[Frame] = []
        for frame in json.loads(Path(message["message"]["content"]).read_text()):
            if "heard" not in frame:
                together.append(frame)
                continue
            self._write(together)
            together = []
            with self._more:
                while self._count < frame["heard"]:
                    self._more.wait()
        end: list[Frame] = [
            {"type": "command_lifecycle", "command_uuid": named, "state": "completed"},
            {"type": "result", "subtype": "success", "is_error": False, "terminal_reason": "completed", "num_turns": 1}
            | {"duration_ms": 5, "total_cost_usd": 0.25, "modelUsage": {}, "result": "", "permission_denials": []}
            | {"usage": {"input_tokens": 100, "output_tokens": 20}, "user_message_uuids": [named]},
        ]
        self._write([*together, *end])

    def _write(self, frames: list[Frame]) -> None:
        own = {"session_id": self._session}
        text = "".join(
            json.dumps(frame | own | {"uuid": str(uuid.uuid4())}, separators=(",", ":")) + "\n" for frame in frames
        )
        sys.stdout.write(text)
        sys.stdout.flush()


if __name__ == "__main__":
    if "--version" in sys.argv:
        sys.stdout.write("2.1.325 (Claude Code)\n")
    else:
        Agent(sys.argv[1:]).run()
