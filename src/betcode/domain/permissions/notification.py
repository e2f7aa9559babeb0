"""A notification about a prompt."""

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from betcode.domain.values.times import rfc3339, rfc3339_past


class NotificationReason(StrEnum):
    ASK = "ask"  # a prompt opened, and no client is attached
    REMINDER = "reminder"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class Notification:
    """A notification without secrets: the description is redacted, and the tool's input is omitted."""

    notification_id: str
    occasion: NotificationReason
    request_id: str
    session_id: str
    session_name: str
    working_directory: str
    tool_name: str
    description: str
    asked_ns: int
    expires_ns: int
    number: int = 0  # of a reminder, from 1

    @property
    def title(self) -> str:
        name = self.session_name or self.session_id[:8]
        match self.occasion:
            case NotificationReason.ASK:
                return f"betcode: {name} waits for you"
            case NotificationReason.REMINDER:
                return f"betcode: {name} still waits for you"
            case NotificationReason.EXPIRED:
                return f"betcode: {name} got no answer in time"

    @property
    def body(self) -> str:
        return f"{self.tool_name}: {self.description}" if self.description else self.tool_name

    def as_json(self) -> bytes:
        """One object; names as docs/api.md has them."""
        told: dict[str, str | int] = {
            "id": self.notification_id,
            "occasion": self.occasion.value,
            "request_id": self.request_id,
            "session_id": self.session_id,
            "session_name": self.session_name,
            "working_directory": self.working_directory,
            "tool_name": self.tool_name,
            "description": self.description,
            "asked_at": rfc3339_past(self.asked_ns),
            "expires_at": rfc3339(self.expires_ns),
        }
        if self.number:
            told["number"] = self.number
        return json.dumps(told, ensure_ascii=False).encode("utf-8", "replace")


class Notifier(Protocol):
    def wants(self, occasion: NotificationReason) -> bool:
        """Return whether any channel is enabled."""
        ...

    def notify(self, notification: Notification) -> None:
        """Queue a notification; never waits, never fails."""
        ...
