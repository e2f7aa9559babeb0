"""Parses the host's lines on stdin."""

import json
import os
import select
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_CHUNK_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class UserLine:
    """A person's message."""

    uuid: str
    text: str


@dataclass(frozen=True, slots=True)
class PromptAnswer:
    """The host's answer to one of our requests."""

    request_id: str
    allowed: bool
    message: str = ""
    interrupt: bool = False
    updated_input: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class HostRequest:
    """A request of the host."""

    request_id: str
    subtype: str
    cancel_queued: bool = False
    message_uuid: str = ""


Line = UserLine | PromptAnswer | HostRequest


class BadLine(Exception):
    """The host wrote a line that is no JSON object; the CLI that we imitate exits then, and so do we."""


class Inbox:
    """Reads whole lines from a descriptor, without ever blocking longer than it was asked to."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._rest = b""
        self.closed = False

    def take(self, timeout_s: float | None) -> list[Line]:
        """Return what arrived, waiting at most `timeout_s` (None: without limit) if there is nothing.

        Raises:
            BadLine: a line is no JSON object.
        """
        if self.closed:
            return []
        ready, _, _ = select.select([self._descriptor], [], [], timeout_s)
        if not ready:
            return []
        chunk = os.read(self._descriptor, _CHUNK_BYTES)
        if not chunk:
            self.closed = True
            return []
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        return [line for raw in lines if raw.strip() if (line := _parse(raw)) is not None]


def _parse(raw: bytes) -> Line | None:
    try:
        frame = json.loads(raw)
    except ValueError as error:
        raise BadLine(f"Error parsing streaming input line: {error}") from None
    if not isinstance(frame, dict):
        return None
    match frame.get("type"):
        case "user":
            return UserLine(uuid=str(frame.get("uuid") or ""), text=_text(frame.get("message")))
        case "control_response":
            return _answer(frame.get("response") or {})
        case "control_request":
            request = frame.get("request") or {}
            return HostRequest(
                request_id=str(frame.get("request_id", "")),
                subtype=str(request.get("subtype", "")),
                cancel_queued=bool(request.get("cancel_queued")),
                message_uuid=str(request.get("message_uuid") or ""),
            )
        case _:
            return None


def _text(message: Any) -> str:
    if not isinstance(message, dict):
        raise BadLine("Error: Expected a message with role 'user'")
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(str(block.get("text", "")) for block in content or () if block.get("type") == "text")


def _answer(response: Mapping[str, Any]) -> PromptAnswer:
    verdict = response.get("response") or {}
    return PromptAnswer(
        request_id=str(response.get("request_id", "")),
        allowed=response.get("subtype") == "success" and verdict.get("behavior") == "allow",
        message=str(verdict.get("message") or response.get("error") or ""),
        interrupt=bool(verdict.get("interrupt")),
        updated_input=verdict.get("updatedInput"),
    )
