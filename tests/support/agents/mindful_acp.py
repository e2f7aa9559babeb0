"""The agent with a memory, as one that speaks the Agent Client Protocol; standard library only.

It does what `obedient` and `mindful` say, and keeps the same ledger; an answer is noted by the tool call it is for. It
asks no questions and cannot compact. Like most of its kind it mixes up nothing only as long as nobody sends it a prompt
during a turn: one that comes is noted as `crowded`.
"""

import json
import os
import queue
import signal
import sys
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path

from support.agents import obedient
from support.agents.compacting import Frame, Interrupted
from support.agents.mindful import Ledger, Mindful, die_early

_OPTIONS = [
    {"optionId": "yes", "kind": "allow_once", "name": "Allow"},
    {"optionId": "no", "kind": "reject_once", "name": "Reject"},
]


class AcpAgent(Mindful):
    def __init__(self, arguments: list[str]) -> None:
        super().__init__(arguments)
        self._asked: queue.Queue[Frame] = queue.Queue()
        self._requests = 0
        self._prompts: set[str] = set()  # that are not answered

    def run(self) -> None:
        with Path("agent.pids").open("a") as pids:
            pids.write(f"{os.getpid()}\n")
        threading.Thread(target=self._listen, daemon=True).start()
        while (message := self._messages.get()) is not None:
            self._run(message)

    # ------------------------------------------------------------ hearing

    def _listen(self) -> None:
        for line in sys.stdin:
            frame = json.loads(line)
            if "method" not in frame:
                self._asked.put(frame)
                continue
            method = frame["method"].removeprefix("session/")
            heard = {"initialize": self._greet, "new": self._begin, "load": self._resume, "resume": self._resume}
            if method in heard:
                heard[method](frame)
            elif method == "prompt":
                self._prompt(frame)
            elif method == "cancel":
                self._interrupted.set()
            elif "id" in frame:
                self._say_line({"id": frame["id"], "error": {"code": -32601, "message": "Method not found"}})
        self._messages.put(None)

    def _greet(self, frame: Frame) -> None:
        can = {"loadSession": True, "sessionCapabilities": {"resume": {}}, "promptCapabilities": {}}
        self._reply(frame, {"protocolVersion": 1, "agentCapabilities": can, "authMethods": []})

    def _begin(self, frame: Frame) -> None:
        self._take_up(str(uuid.uuid4()))
        self._reply(frame, {"sessionId": self.session})

    def _resume(self, frame: Frame) -> None:
        self._take_up(frame["params"]["sessionId"])
        if not self._ledger.entries():
            self._say_line({"id": frame["id"], "error": {"code": -32002, "message": "Resource not found"}})
            return
        self._reply(frame, {})

    def _take_up(self, session: str) -> None:
        self.session = session
        self._ledger = Ledger(session)

    def _prompt(self, frame: Frame) -> None:
        die_early()
        params = frame["params"]
        name = params.get("_meta", {}).get("betcode", {}).get("messageId") or str(frame["id"])
        text = "\n".join(block["text"] for block in params["prompt"] if block["type"] == "text")
        with self._lock:
            if self._prompts:
                self._ledger.note("crowded", name)
            self._prompts.add(name)
        self._messages.put({"uuid": name, "message": {"content": text}, "rpc": frame["id"]})

    # ------------------------------------------------------------ doing

    def _turn(self, message: Frame) -> None:
        self._interrupted.clear()
        reason = "end_turn"
        try:
            self._begin_message()
            for text in self._deeds(message["message"]["content"]):
                self._texts.append(text)
                said = {"messageId": self._said, "content": {"type": "text", "text": text}}
                self._update("agent_message_chunk", said)
                if self._interrupted.is_set():
                    raise Interrupted
        except Interrupted:
            reason = "cancelled"
        self._lifecycle(message, "completed")
        with self._lock:
            self._prompts.discard(message["uuid"])
        usage = {"inputTokens": 100, "outputTokens": 20, "totalTokens": 120}
        self._say_line({"id": message["rpc"], "result": {"stopReason": reason, "usage": usage}})

    def _deeds(self, prompt: str) -> Iterator[str]:
        unknown = ("ask", "compact", "beat", "play", "peek")
        for line in prompt.splitlines():
            yield from iter([f"cannot {line}"]) if line.split(" ")[0] in unknown else super()._deeds(line)

    def _begin_message(self) -> None:
        self._said, self._texts = f"msg_{uuid.uuid4().hex}", []

    def _end_message(self, stop_reason: str, *uses: Frame, aborted: bool = False) -> None:  # noqa: ARG002
        for use in uses:
            self._update("tool_call", self._call(use["id"], use["name"], use["input"]))

    def _call(self, tool: str, name: str, given: Frame) -> Frame:
        shown = given if name == "Bash" else {"file_path": str(Path.cwd() / "ran.txt"), "content": "ran\n"}
        kind = "execute" if name == "Bash" else "edit"
        return {"toolCallId": tool, "title": name, "kind": kind, "status": "pending", "rawInput": shown}

    def _request(self, name: str, given: Frame, tool: str) -> Frame:
        call = self._call(tool, name, given)
        with self._lock:
            number = self._requests
            self._requests += 1
        params = {"sessionId": self.session, "toolCall": call, "options": _OPTIONS}
        self._say_line({"id": number, "method": "session/request_permission", "params": params})
        while True:
            try:
                answer = self._asked.get(timeout=0.01)
            except queue.Empty:
                if self._interrupted.is_set():
                    self._ledger.note("withdrew", tool)
                    raise Interrupted from None
                continue
            if answer.get("id") == number:
                break
        outcome = answer.get("result", {}).get("outcome", {})
        if outcome.get("outcome") != "selected":
            raise Interrupted
        allowed = outcome["optionId"] == "yes"
        self._ledger.note("heard", tool, behaviour="allow" if allowed else "deny")
        if allowed:
            self._ledger.note("ran", tool, turn=self._current)
        return {"behavior": "allow" if allowed else "deny", "updatedInput": given, "message": "denied"}

    def _tool_result(self, tool: str, text: str, *, is_error: bool, denied_by: str = "") -> None:  # noqa: ARG002
        status = "failed" if is_error else "completed"
        content = [{"type": "content", "content": {"type": "text", "text": text}}]
        self._update("tool_call_update", {"toolCallId": tool, "status": status, "content": content})

    def _lifecycle(self, message: Frame, state: str) -> None:
        if state == "completed" and message["uuid"] == self._current:
            self._ledger.note("did", self._current)
            self._current = ""

    # ------------------------------------------------------------ saying

    def _reply(self, frame: Frame, result: Frame) -> None:
        self._say_line({"id": frame["id"], "result": result})

    def _update(self, kind: str, what: Frame) -> None:
        self._notify("session/update", {"sessionId": self.session, "update": {"sessionUpdate": kind, **what}})

    def _notify(self, method: str, params: Frame) -> None:
        self._say_line({"method": method, "params": params})

    def _say_line(self, frame: Frame) -> None:
        with self._writing:
            sys.stdout.write(json.dumps({"jsonrpc": "2.0"} | frame, separators=(",", ":")) + "\n")
            sys.stdout.flush()


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if "--version" in sys.argv:
        sys.stdout.write(f"{obedient.MODEL} 1.0.0\n")
    else:
        AcpAgent(sys.argv[1:]).run()
