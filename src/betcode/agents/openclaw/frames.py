"""Frames of the gateway's protocol 4: requests, responses and events. No I/O."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]
PROTOCOL = 4
NO_SUCH_SESSION = "NO_SUCH_SESSION"  # ours: the gateway has no error for it
# Without `tool-events` no tool is shown, and without the approvals' names every command is refused; both silently.
CAPS = ("tool-events", "approvals", "exec-approvals", "session-scoped-events")
# A session's directory and its permission mode are an administrator's to choose.
SCOPES = ("operator.read", "operator.write", "operator.approvals", "operator.admin")


@dataclass(frozen=True, slots=True)
class GatewayError:
    code: str
    message: str
    reason: str = ""  # the name in the details
    is_retryable: bool = False

    def __str__(self) -> str:
        return f"{self.message} ({self.code})" if self.code else self.message


@dataclass(frozen=True, slots=True)
class GatewayAnswer:
    request_id: str
    payload: Any = None
    error: GatewayError | None = None


@dataclass(frozen=True, slots=True)
class Event:
    name: str
    payload: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Unreadable:
    reason: str


def decode(text: str | bytes) -> GatewayAnswer | Event | Unreadable:
    """Decode one frame; a malformed one is a value as well, since it is no reason to lose the others."""
    try:
        frame = json.loads(text)
    except (ValueError, RecursionError) as error:
        return Unreadable(f"not JSON: {str(error)[:80]}")
    match frame:
        case {"type": "res", "id": str(request_id), "ok": True}:
            return GatewayAnswer(request_id, frame.get("payload"))
        case {"type": "res", "id": str(request_id)}:
            return GatewayAnswer(request_id, error=_error(frame.get("error")))
        case {"type": "event", "event": str(name)}:
            payload = frame.get("payload")
            return Event(name, payload if isinstance(payload, dict) else {})
        case _:
            return Unreadable("neither an answer nor an event")


def request(request_id: str, method: str, params: Mapping[str, Any]) -> str:
    return json.dumps({"type": "req", "id": request_id, "method": method, "params": params})


def connect_params(token: str, version: str, platform: str) -> Json:
    """Return the parameters of a local back end, for which the gateway requires no device key."""
    params: Json = {
        "minProtocol": PROTOCOL,
        "maxProtocol": PROTOCOL,
        "client": {"id": "gateway-client", "version": version, "platform": platform, "mode": "backend"},
        "role": "operator",
        "scopes": list(SCOPES),
        "caps": list(CAPS),
    }
    return {**params, "auth": {"token": token}} if token else params


def _error(told: object) -> GatewayError:
    if not isinstance(told, dict):
        return GatewayError("", "the gateway refused and gave no reason")
    details = told.get("details")
    reason = details.get("code") or details.get("reason") or "" if isinstance(details, dict) else ""
    message = str(told.get("message") or "the gateway refused")[:2000]
    return GatewayError(str(told.get("code") or ""), message, str(reason), told.get("retryable") is True)
