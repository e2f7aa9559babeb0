"""The live conversation: the host's messages so far, those that wait, and their states."""

import json
import os
import time
import uuid
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from betcode.agents.demo import frames
from betcode.agents.demo.inbox import HostRequest, Inbox, PromptAnswer, UserLine
from betcode.agents.demo.repertoire import COMMANDS

_COMMANDS = [{"name": name, "description": what, "argumentHint": ""} for name, what in COMMANDS.items()]


@dataclass(frozen=True, slots=True)
class AgentIdentity:
    """The identity of the agent in this conversation."""

    session_id: str
    model: str = frames.MODEL
    cwd: str = "/"
    permission_mode: str = "default"
    allowed_tools: frozenset[str] = frozenset()
    speed: float = 1.0  # 0: as fast as possible


class Interrupted(Exception):
    """The host stops the turn; `asked` is its request, None where it needs no reply."""

    def __init__(self, asked: HostRequest | None) -> None:
        super().__init__()
        self.asked = asked


class Stage:
    """The agent's communication with the host; all its input and output goes through here."""

    def __init__(self, part: AgentIdentity, inbox: Inbox, descriptor: int) -> None:
        self.part = part
        self.turn: tuple[str, ...] = ()  # the messages that the open turn answers
        self.results = 0
        self.last_was_error = False
        self._inbox = inbox
        self._descriptor = descriptor
        self._waiting: deque[UserLine] = deque()
        self._seen: set[str] = set()
        self._answers: dict[str, PromptAnswer] = {}
        self._in_turn = False

    # ---------------------------------------------------------------- speaking

    def say(self, frame: Mapping[str, Any]) -> None:
        self.say_line(json.dumps(frame, separators=(",", ":"), ensure_ascii=False).encode())

    def say_line(self, line: bytes) -> None:
        view = memoryview(line + b"\n")
        while view:
            view = view[os.write(self._descriptor, view) :]

    def ids(self) -> frames.Ids:
        """The ids of the next frame."""
        return {"session_id": self.part.session_id, "uuid": str(uuid.uuid4())}

    def end_turn(self, result: Mapping[str, Any], *, cancelled: bool = False) -> None:
        """Say the turn's result, naming the messages it answered, and what became of them."""
        named = {"user_message_uuid": self.turn[-1], "user_message_uuids": list(self.turn)} if self.turn else {}
        self.say({**result, **named, "result_index": self.results, "queued_turn_count": len(self._waiting)})
        self.results += 1
        self.last_was_error = bool(result.get("is_error"))
        for message in self.turn:
            self._lifecycle(message, "cancelled" if cancelled else "completed")
        self.turn = ()
        self._in_turn = False

    # ---------------------------------------------------------------- listening

    def next_messages(self) -> list[UserLine]:
        """All that waits, as one turn; waits for the first. Empty once the host has closed its end."""
        while not self._waiting and not self._inbox.closed:
            self._listen(None)
        taken = list(self._waiting)
        self._waiting.clear()
        self.turn = tuple(message.uuid for message in taken if message.uuid)
        self._in_turn = bool(taken)
        for message in self.turn:
            self._lifecycle(message, "started")
        return taken

    def pause_until(self, monotonic_s: float) -> None:
        """Let time pass, listening. Raises Interrupted."""
        while (left := monotonic_s - time.monotonic()) > 0:
            if self._inbox.closed:
                time.sleep(left)
            else:
                self._listen(left)

    def glance(self) -> None:
        """Read pending input without waiting. Raises Interrupted."""
        self._listen(0)

    def answer_to(self, request_id: str) -> PromptAnswer:
        """Wait for it; a host that has closed its end denies. Raises Interrupted."""
        while request_id not in self._answers:
            if self._inbox.closed:
                return PromptAnswer(
                    request_id, allowed=False, message="Tool permission stream closed before response received"
                )
            self._listen(None)
        return self._answers.pop(request_id)

    def _listen(self, timeout_s: float | None) -> None:
        interrupt: HostRequest | None = None
        for line in self._inbox.take(timeout_s):
            match line:
                case UserLine():
                    self._queue(line)
                case PromptAnswer():
                    self._answers[line.request_id] = line
                case HostRequest(subtype="interrupt") if self._in_turn:
                    interrupt = line
                case HostRequest():
                    self._reply(line)
        if interrupt is not None:
            raise Interrupted(interrupt)

    def _queue(self, line: UserLine) -> None:
        if line.uuid:
            if line.uuid in self._seen:
                return  # a message is run once, however often it is sent
            self._seen.add(line.uuid)
            self._lifecycle(line.uuid, "queued")
        self._waiting.append(line)

    def _reply(self, asked: HostRequest) -> None:
        match asked.subtype:
            case "interrupt":
                self.reply_to_interrupt(asked)
            case "cancel_async_message":
                self._let_go(asked)
            case "initialize":
                self.say(frames.success(asked.request_id, {"commands": _COMMANDS, "agents": [], "models": []}))
            case "set_permission_mode" | "set_model" | "keep_alive":
                self.say(frames.success(asked.request_id, {}))
            case _:
                self.say(frames.refusal(asked.request_id, f"The demo agent does not support {asked.subtype!r}"))

    def _let_go(self, asked: HostRequest) -> None:
        kept = [line for line in self._waiting if line.uuid != asked.message_uuid]
        was_there = len(kept) < len(self._waiting)
        if was_there:
            self._waiting = deque(kept)
            self._lifecycle(asked.message_uuid, "cancelled")
        self.say(frames.success(asked.request_id, {"cancelled": was_there}))

    def reply_to_interrupt(self, asked: HostRequest) -> None:
        """Say what still waits, or that it no longer does."""
        queued = [message.uuid for message in self._waiting if message.uuid]
        if not asked.cancel_queued:
            self.say(frames.success(asked.request_id, {"still_queued": queued}))
            return
        self._waiting.clear()
        self.say(frames.success(asked.request_id, {"still_queued": [], "cancelled": queued}))
        for message in queued:
            self._lifecycle(message, "cancelled")

    def _lifecycle(self, message: str, state: str) -> None:
        self.say(frames.lifecycle(message, state, **self.ids()))
