"""A stand-in for the claude CLI that asks for what the prompt says; standard library only.

    use TOOL JSON      asks for this use of a tool, and goes on when it is answered
    and TOOL JSON      asks for this one together with the line before
    say WORDS          says them

What a person decided stands in answers.jsonl afterwards, one line for each use: {"tool", "input", "behavior", ...}.
A denial with `interrupt` ends the turn, as the real one's does, and takes back what is open beside it.
"""

import json
import queue
import sys
import threading
import uuid
from pathlib import Path
from typing import Any

Frame = dict[str, Any]
SUGGESTED = [{"toolName": "Bash", "ruleContent": "git:*"}]


class Stopped(Exception):
    """The turn is over: `how` is the reason that its result gives."""

    def __init__(self, how: str) -> None:
        super().__init__(how)
        self.how = how


class Agent:
    def __init__(self, arguments: list[str]) -> None:
        named = [a for flag in ("--session-id=", "--resume=") for a in arguments if a.startswith(flag)]
        self._session = named[0].split("=", 1)[1] if named else str(uuid.uuid4())
        self._messages: queue.Queue[Frame | None] = queue.Queue()
        self._answers: queue.Queue[Frame | None] = queue.Queue()  # None: an interrupt

    def run(self) -> None:
        threading.Thread(target=self._listen, daemon=True).start()
        while (message := self._messages.get()) is not None:
            self._turn(message)

    def _listen(self) -> None:
        for line in sys.stdin:
            frame = json.loads(line)
            if frame["type"] == "user":
                self._messages.put(frame)
            elif frame["type"] == "control_response":
                self._answers.put(frame["response"])
            elif frame["type"] == "control_request":
                answer = {"subtype": "success", "request_id": frame["request_id"], "response": {"still_queued": []}}
                self._write({"type": "control_response", "response": answer})
                if frame["request"]["subtype"] == "interrupt":
                    self._answers.put(None)
        self._messages.put(None)

    def _turn(self, message: Frame) -> None:
        self._write(
            {"type": "system", "subtype": "init", "cwd": str(Path.cwd()), "tools": ["Bash"], "mcp_servers": []}
            | {"model": "asker-1", "permissionMode": "default", "slash_commands": [], "claude_code_version": "2.1.325"}
        )
        self._write({"type": "command_lifecycle", "command_uuid": message["uuid"], "state": "started"})
        ending: Frame = {"subtype": "success", "is_error": False, "terminal_reason": "completed"}
        try:
            for group in _groups(message["message"]["content"]):
                if isinstance(group, str):
                    self._assistant({"type": "text", "text": group})
                else:
                    self._ask(group)
            self._assistant({"type": "text", "text": "done"})
        except Stopped as stopped:
            ending = {"subtype": "error_during_execution", "is_error": True, "terminal_reason": stopped.how}
        self._write({"type": "command_lifecycle", "command_uuid": message["uuid"], "state": "completed"})
        self._write(
            {"type": "result", "duration_ms": 5, "num_turns": 1, "total_cost_usd": 0.25, "modelUsage": {}}
            | {"usage": {"input_tokens": 100, "output_tokens": 20}, "result": "", "permission_denials": []}
            | {"user_message_uuids": [message["uuid"]]}
            | ending
        )

    def _ask(self, uses: list[tuple[str, Frame]]) -> None:
        asked: dict[str, tuple[str, str, Frame]] = {}
        for name, given in uses:
            tool = f"toolu_{uuid.uuid4().hex}"
            self._assistant({"type": "tool_use", "id": tool, "name": name, "input": given})
            request_id = str(uuid.uuid4())
            request: Frame = {"subtype": "can_use_tool", "tool_name": name, "input": given, "tool_use_id": tool}
            if name == "Bash":
                suggestion = {"type": "addRules", "rules": SUGGESTED, "behavior": "allow", "destination": "session"}
                request["permission_suggestions"] = [suggestion]
            asked[request_id] = (tool, name, given)
            self._write({"type": "control_request", "request_id": request_id, "request": request})
        while asked:
            answer = self._answers.get()
            if answer is None:
                self._stop(asked, "aborted_streaming")
            elif answer["request_id"] in asked:
                tool, name, given = asked.pop(answer["request_id"])
                reply = answer["response"]
                with Path("answers.jsonl").open("a") as answers:
                    answers.write(json.dumps({"tool": name, "input": given} | reply) + "\n")
                allowed = reply["behavior"] == "allow"
                result = {"tool_use_id": tool, "type": "tool_result", "is_error": not allowed}
                result |= {"content": "it ran" if allowed else reply["message"]}
                self._write({"type": "user", "message": {"role": "user", "content": [result]}})
                if reply.get("interrupt"):
                    self._stop(asked, "aborted_tools")

    def _stop(self, asked: dict[str, tuple[str, str, Frame]], how: str) -> None:
        for request_id in asked:
            self._write({"type": "control_cancel_request", "request_id": request_id})
        raise Stopped(how)

    def _assistant(self, block: Frame) -> None:
        message: Frame = {"id": f"msg_{uuid.uuid4().hex}", "type": "message", "role": "assistant", "model": "asker-1"}
        message |= {"content": [block], "stop_reason": None, "usage": {"input_tokens": 100, "output_tokens": 1}}
        self._write({"type": "assistant", "message": message, "parent_tool_use_id": None})

    def _write(self, frame: Frame) -> None:
        frame = frame | {"session_id": self._session, "uuid": str(uuid.uuid4())}
        sys.stdout.write(json.dumps(frame, separators=(",", ":")) + "\n")
        sys.stdout.flush()


def _groups(prompt: str) -> list[str | list[tuple[str, Frame]]]:
    groups: list[str | list[tuple[str, Frame]]] = []
    for line in prompt.splitlines():
        verb, _, rest = line.partition(" ")
        if verb not in ("use", "and"):  # any other text is answered with itself
            groups.append(rest if verb == "say" else line)
            continue
        name, _, given = rest.partition(" ")
        use = (name, json.loads(given))
        if verb == "and" and groups and isinstance(last := groups[-1], list):
            last.append(use)
        else:
            groups.append([use])
    return groups


if __name__ == "__main__":
    if "--version" in sys.argv:
        sys.stdout.write("2.1.325 (Claude Code)\n")
    else:
        Agent(sys.argv[1:]).run()
