"""The obedient agent with a memory: like the real CLI it knows what it was told before it was killed.

It writes down, in `ledger` in its working directory and before anyone hears of it, what it really does:

    began ID      it takes up a message
    did ID        the message's turn is over
    dropped ID    a queued message was cancelled before it began
    heard ID      an answer to a request came in
    withdrew ID   it takes a request back: an answer that came in is not heeded
    ran ID        the tool that the request was for did its work, in the turn of the message TURN
    again ID      it continues the turn of a message that it took up in an earlier life

A message that it took up in an earlier life is not run again: it is said to be completed. With
CLAUDE_CODE_RESUME_INTERRUPTED_TURN=1 the turn that was open when it died is run again by itself, first of all.

With BETCODE_MINDFUL_SPEECHLESS=NAME it is killed when it takes up its first message, before it says a word, unless the
file NAME exists, which it makes first.

Told to continue from where it left off, it does again what the turn that it was killed in was to do.

While the file `die-early` exists, an agent that is given a message removes it and is killed before it takes the
message up: nothing of the message is in its memory.

With BETCODE_MINDFUL_BEGINS=NAME it hears what it is told at once, but does nothing before the file NAME is there.

    falter        dies in the middle of the turn, but only once for each message
    vanish        does its work and dies before anyone hears of it
    linger        starts a program in a session of its own and leaves it running
"""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

from support.agents import obedient
from support.agents.compacting import Frame

LEDGER = Path("ledger")
DIE_EARLY = Path("die-early")
COMPACT = "/compact"
GO_ON = "Continue from where you left off."


def die_early() -> None:
    """Called when a message comes in, before anything is noted of it."""
    try:
        DIE_EARLY.unlink()
    except FileNotFoundError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


class Ledger:
    """What was done in one conversation; those of other sessions in the same directory are in the same file."""

    def __init__(self, session: str) -> None:
        self._session = session

    def note(self, what: str, name: str, **more: object) -> None:
        entry = {"what": what, "id": name, "session": self._session, "pid": os.getpid(), "at": time.monotonic(), **more}
        descriptor = os.open(LEDGER, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(descriptor, (json.dumps(entry) + "\n").encode())
        finally:
            os.close(descriptor)

    def entries(self) -> list[dict[str, str]]:
        lines = LEDGER.read_text().splitlines() if LEDGER.exists() else []
        return [entry for entry in map(json.loads, lines) if entry["session"] == self._session]


class Answers(queue.Queue[Frame]):
    """Notes every answer that arrives, whether somebody waits for it or not."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__()
        self._ledger = ledger

    def put(self, item: Frame, block: bool = True, timeout: float | None = None) -> None:
        self._ledger.note("heard", item["request_id"], behaviour=item.get("response", {}).get("behavior", ""))
        super().put(item, block, timeout)


class Mindful(obedient.Agent):
    _writing = threading.Lock()

    def __init__(self, arguments: list[str]) -> None:
        super().__init__(arguments)
        self._ledger = Ledger(self.session)
        self._answers = Answers(self._ledger)
        self._queued: list[str] = []  # ids, in the order of their coming
        self._lock = threading.Lock()
        self._current = self._origin = ""  # the message of the turn, and the one that the turn began with
        past = self._ledger.entries()
        self._origins = {entry["id"]: entry.get("origin", entry["id"]) for entry in past if entry["what"] == "began"}
        self._known = {entry["id"]: entry.get("text", "") for entry in past if entry["what"] == "began"}
        over = {entry["id"] for entry in past if entry["what"] == "did"}
        # Only the turn that comes last is continued, and a compaction that broke off never is.
        last = list(self._known)[-1:]
        self._open = [name for name in last if name not in over and self._known[name] != COMPACT]
        name = os.environ.get("BETCODE_MINDFUL_SPEECHLESS")
        self._speechless = Path(name) if name and not Path(name).exists() else None

    def run(self) -> None:
        with Path("agent.pids").open("a") as pids:
            pids.write(f"{os.getpid()}\n")
        own = str(uuid.uuid4())
        continues = os.environ.get("CLAUDE_CODE_RESUME_INTERRUPTED_TURN") == "1" and bool(self._open)
        if continues:  # it says so before it listens
            super()._lifecycle({"uuid": own}, "started")
        threading.Thread(target=self._listen, daemon=True).start()
        begins = os.environ.get("BETCODE_MINDFUL_BEGINS")
        while begins and not Path(begins).exists():
            time.sleep(0.01)
        if continues:
            name = self._open[-1]
            self._run({"uuid": name, "message": {"content": self._known[name]}, "own": own})
        while (message := self._messages.get()) is not None:
            with self._lock:
                if message.get("dropped"):
                    continue
                message["begun"] = True
            self._run(message)

    def _run(self, message: Frame) -> None:
        self._current = message["uuid"]
        content = message["message"]["content"]
        text = content if isinstance(content, str) else "\n".join(b["text"] for b in content if b["type"] == "text")
        self._origin = self._origins.get(self._current, self._current)
        if text == GO_ON and self._open:  # the turn that comes last, under another id
            self._origin = self._origins.get(self._open[-1], self._open[-1])
            text = self._known[self._open[-1]]
            message["message"]["content"] = text
        self._open = []
        if self._current not in self._known:
            self._ledger.note("began", self._current, text=text, origin=self._origin)
            self._known[self._current] = text
            if self._speechless is not None:
                self._speechless.touch()
                os.kill(os.getpid(), signal.SIGKILL)
        else:
            self._ledger.note("again", self._current)
        self._turn(message)
        if "own" in message:
            super()._lifecycle({"uuid": message["own"]}, "completed")

    def _listen(self) -> None:
        waiting: list[Frame] = []
        for line in sys.stdin:
            frame = json.loads(line)
            if frame["type"] == "user":
                die_early()
            if frame["type"] == "user" and frame["uuid"] in self._known:
                super()._lifecycle(frame, "completed")  # at once, whatever it is doing
            elif frame["type"] == "user":
                waiting.append(frame)
                self._lifecycle(frame, "queued")
                self._messages.put(frame)
            elif frame["type"] == "control_response":
                self._answers.put(frame["response"])
            elif frame["type"] == "control_request" and frame["request"]["subtype"] == "interrupt":
                self._interrupt(frame, waiting)
            elif frame["type"] == "control_request" and frame["request"]["subtype"] == "cancel_async_message":
                self._withdraw(frame, waiting)
        self._messages.put(None)

    def _drop(self, messages: list[Frame]) -> list[str]:
        """The ids of those that had not begun, which now never do."""
        dropped: list[str] = []
        with self._lock:
            for message in messages:
                if not message.get("begun") and not message.get("dropped"):
                    message["dropped"] = True
                    self._ledger.note("dropped", message["uuid"])
                    dropped.append(message["uuid"])
        return dropped

    def _withdraw(self, frame: Frame, waiting: list[Frame]) -> None:
        dropped = self._drop([message for message in waiting if message["uuid"] == frame["request"]["message_uuid"]])
        for name in dropped:
            self._lifecycle({"uuid": name}, "cancelled")
        ok = {"subtype": "success", "request_id": frame["request_id"], "response": {"cancelled": bool(dropped)}}
        self._write({"type": "control_response", "response": ok})

    def _interrupt(self, frame: Frame, waiting: list[Frame]) -> None:
        dropped = self._drop(waiting) if frame["request"].get("cancel_queued") else []
        self._interrupted.set()
        response = {"still_queued": [], "cancelled": dropped}
        ok = {"subtype": "success", "request_id": frame["request_id"], "response": response}
        self._write({"type": "control_response", "response": ok})
        for name in dropped:
            self._lifecycle({"uuid": name}, "cancelled")

    def _lifecycle(self, message: Frame, state: str) -> None:
        if state == "completed" and message["uuid"] == self._current:
            for name in dict.fromkeys((self._current, self._origin)):
                self._ledger.note("did", name)
            self._current = self._origin = ""
        if "own" not in message and self._speechless is None:
            super()._lifecycle(message, state)

    def _deeds(self, prompt: str) -> Iterator[str]:
        for line in prompt.splitlines():
            match line:
                case "falter":
                    yield from self._falter()
                case "vanish":
                    self._ledger.note("did", self._current)
                    os._exit(3)
                case "linger":
                    yield self._linger()
                case _:
                    yield from super()._deeds(line)

    def _falter(self) -> Iterator[str]:
        if not any(entry["what"] == "faltered" and entry["id"] == self._origin for entry in self._ledger.entries()):
            self._ledger.note("faltered", self._origin)
            yield "faltering"
            os._exit(3)
        yield "steady"

    def _linger(self) -> str:
        subprocess.Popen(["sleep", "1000"], start_new_session=True, stdin=-3, stdout=-3, stderr=-3)
        return "lingering"

    def _write(self, frame: Frame) -> None:
        if frame["type"] == "control_cancel_request":
            self._ledger.note("withdrew", frame["request_id"])
        with self._writing:  # the thread that listens speaks too
            super()._write(frame)

    def _request(self, name: str, given: Frame, tool: str) -> Frame:
        reply: Frame = super()._request(name, given, tool)
        if name != "AskUserQuestion" and reply.get("behavior") == "allow":
            self._ledger.note("ran", tool, turn=self._current)
        return reply


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if "--version" in sys.argv:
        sys.stdout.write("2.1.325 (Claude Code)\n")
    else:
        Mindful(sys.argv[1:]).run()
