"""Parses the gateway's history of a session (`chat.history`). Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from betcode.agents.openclaw.fields import number
from betcode.agents.openclaw.frames import Event

Json = dict[str, Any]
LIMIT = 200  # messages, from the end
_OF_THE_USER = ":user"


@dataclass(frozen=True, slots=True)
class History:
    """Messages in order, and the active run."""

    messages: tuple[Json, ...]
    is_active: bool
    active_run: str  # empty: none, or one without a known name
    flight: tuple[Event, ...]  # the active run's text since the last stored message
    last_run: str  # the one that ended last
    status: str  # "running" without an active run: broken off by the gateway's end, which it will take up by itself
    last_error: str
    was_aborted: bool

    @property
    def last_seq(self) -> int:
        return max((_seq(each) for each in self.messages), default=0)

    @property
    def last_moment_ms(self) -> int:
        """Return when the last message was stored; it contains all earlier text of its run."""
        return max((number(_meta(each), "recordTimestampMs") for each in self.messages), default=0)

    @property
    def is_to_be_resumed(self) -> bool:
        return not self.is_active and self.status == "running"

    def has(self, message_id: str) -> bool:
        return any(each.get("idempotencyKey") == message_id + _OF_THE_USER for each in self.messages)

    def seq_of(self, message_id: str) -> int:
        found = [_seq(each) for each in self.messages if each.get("idempotencyKey") == message_id + _OF_THE_USER]
        return found[-1] if found else 0

    def behind(self, seq: int) -> Iterator[tuple[str, Json]]:
        """Return the agent's texts after the message of that number, each with its run."""
        run_id = ""
        for each in self.messages:
            key = each.get("idempotencyKey")
            if each.get("role") == "user" and isinstance(key, str) and key.endswith(_OF_THE_USER):
                run_id = key.removesuffix(_OF_THE_USER)
            if _seq(each) > seq and each.get("role") in ("assistant", "toolResult"):
                yield str(_meta(each).get("runId") or run_id or "earlier"), each


def read_history(payload: Any) -> History:
    told = payload if isinstance(payload, dict) else {}
    info = told.get("sessionInfo")
    info = info if isinstance(info, dict) else {}
    flight = told.get("inFlightRun")
    flight = flight if isinstance(flight, dict) else {}
    runs = info.get("activeRunIds")
    named = flight.get("runId") or (runs[0] if isinstance(runs, list) and runs else "")
    messages = told.get("messages")
    return History(
        messages=tuple(each for each in messages if isinstance(each, dict)) if isinstance(messages, list) else (),
        is_active=info.get("hasActiveRun") is True or bool(named),
        active_run=named if isinstance(named, str) else "",
        flight=tuple(Event("agent", each) for each in flight.get("events") or () if isinstance(each, dict)),
        last_run=str(info.get("lastRunId") or ""),
        status=str(info.get("status") or ""),
        last_error=str(info.get("lastRunError") or ""),
        was_aborted=info.get("abortedLastRun") is True,
    )


def _meta(entry: Mapping[str, Any]) -> Json:
    kept = entry.get("__openclaw")
    return kept if isinstance(kept, dict) else {}


def _seq(entry: Mapping[str, Any]) -> int:
    seq = _meta(entry).get("seq")
    return seq if isinstance(seq, int) else 0
