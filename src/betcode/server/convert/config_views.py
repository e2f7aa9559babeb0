"""Convert settings to and from the messages of ConfigService."""

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal

from betcode.config.load import Loaded
from betcode.config.origins import Layer
from betcode.config.paths import Paths
from betcode.config.schema import SETTINGS
from betcode.config.settings import Settings
from betcode.config.tcp_address import parse_address
from betcode.domain.errors import InvalidRequest
from betcode.v1 import config_pb2 as v1

_UINT32 = 2**32 - 1
_PARTS: tuple[Literal["daemon", "sessions", "permissions"], ...] = ("daemon", "sessions", "permissions")
_FLAGS = "feature_flags"
# Fields of the messages that are no settings: they are read-only or not supported.
_UNCHANGEABLE: Mapping[str, str] = {
    "daemon.socket_path": "the socket is chosen when the daemon is started (--socket)",
    "daemon.port": "it is part of daemon.listen: name that in `set`",
    "daemon.database_path": "the database is in the state directory (--state-dir)",
    "sessions.max_messages_per_session": "sessions have no such limit",
    "permissions.enable_auto_approve": "rules and grants define what needs no approval",
    "permissions.auto_approve_directories": "rules and grants define what needs no approval",
}


def message_of(settings: Settings, paths: Paths) -> v1.Settings:
    """Return the fields that clients of all releases know."""
    engine = settings.engine
    ttl_s = min(int(engine.permission_ttl_s), _UINT32)
    return v1.Settings(
        daemon=v1.DaemonSettings(
            max_subprocesses=engine.turn_limit,
            socket_path=str(paths.socket),
            port=_port_of(settings.listen.address),
            database_path=str(paths.database),
            log_level=settings.logs.level,
            max_payload_bytes=min(engine.message_limit_bytes, _UINT32),
        ),
        sessions=v1.SessionSettings(
            default_model=engine.default_model,
            auto_compact=engine.auto_compact_threshold > 0,
            auto_compact_threshold=min(engine.auto_compact_threshold, _UINT32),
        ),
        permissions=v1.PermissionSettings(
            connected_timeout_secs=ttl_s,
            disconnected_timeout_secs=ttl_s,
            activity_refresh_enabled=engine.extend_on_activity,
        ),
        feature_flags=settings.feature_flags,
    )


def add_entries(message: v1.Settings, loaded: Loaded, keys: Iterable[str], later: Collection[str]) -> None:
    """Add each of those settings, with its source."""
    for key in keys:
        setting = SETTINGS[key]
        origin = loaded.origin(key)
        value = setting.kind.write(setting.value_in(loaded.settings))
        message.entries.add(
            key=key,
            value_json="" if setting.is_private else json.dumps(value, ensure_ascii=False),
            layer=origin.layer.value,
            origin="" if origin.layer is Layer.DEFAULT else str(origin),
            is_private=setting.is_private,
            needs_restart=key in later,
        )


def changed_values(shown: v1.Settings, request: v1.UpdateSettingsRequest) -> dict[str, object]:
    """The keys that the request's messages change, with their new values as JSON has them.

    Raises:
        InvalidRequest: a name or a value that cannot be.
    """
    mask = tuple(request.update_mask.paths)
    _refuse_unknown(mask)
    requested = v1.Settings()
    requested.CopyFrom(shown)
    changed: set[str] = set()
    for part in _PARTS:
        if not request.settings.HasField(part) and not any(path.startswith(part) for path in mask):
            continue
        given, target = getattr(request.settings, part), getattr(requested, part)
        for field in given.DESCRIPTOR.fields:
            path = f"{part}.{field.name}"
            if mask and part not in mask and path not in mask:
                continue
            if _put(given, target, field.name):
                changed.add(path)
    for path in sorted(changed & _UNCHANGEABLE.keys()):
        raise InvalidRequest(f"{path} cannot be changed: {_UNCHANGEABLE[path]}", setting=path)
    values = _values(requested, changed)
    if (_FLAGS in mask or (not mask and request.settings.feature_flags)) and (
        flags := dict(request.settings.feature_flags)
    ) != dict(shown.feature_flags):
        values[_FLAGS] = flags
    return values


def _values(requested: v1.Settings, changed: set[str]) -> dict[str, object]:
    daemon, sessions, permissions = requested.daemon, requested.sessions, requested.permissions
    simple: Mapping[str, tuple[str, object]] = {
        "daemon.max_subprocesses": ("agents.turn_limit", daemon.max_subprocesses),
        "daemon.log_level": ("daemon.log_level", daemon.log_level),
        "daemon.max_payload_bytes": ("agents.message_limit", daemon.max_payload_bytes),
        "sessions.default_model": ("sessions.default_model", sessions.default_model),
        "permissions.activity_refresh_enabled": (
            "permissions.extend_on_activity",
            permissions.activity_refresh_enabled,
        ),
    }
    values = {key: value for path, (key, value) in simple.items() if path in changed}
    if changed & {"sessions.auto_compact", "sessions.auto_compact_threshold"}:
        values["sessions.auto_compact_threshold"] = _threshold(sessions, changed)
    if changed & {"permissions.connected_timeout_secs", "permissions.disconnected_timeout_secs"}:
        values["permissions.default_ttl"] = SETTINGS["permissions.default_ttl"].kind.write(
            float(_ttl_s(permissions, changed))
        )
    return values


def _threshold(sessions: v1.SessionSettings, changed: set[str]) -> int:
    is_off = not sessions.auto_compact and "sessions.auto_compact" in changed
    if sessions.auto_compact and not sessions.auto_compact_threshold:
        raise InvalidRequest("sessions.auto_compact needs a sessions.auto_compact_threshold of more than 0 tokens")
    return 0 if is_off else sessions.auto_compact_threshold


def _ttl_s(permissions: v1.PermissionSettings, changed: set[str]) -> int:
    """Return the timeout of prompts; it does not depend on whether a client is connected, so one field is enough."""
    one, other = permissions.connected_timeout_secs, permissions.disconnected_timeout_secs
    if {"permissions.connected_timeout_secs", "permissions.disconnected_timeout_secs"} <= changed and one != other:
        raise InvalidRequest(
            "permissions.connected_timeout_secs and disconnected_timeout_secs are one setting here: give one value"
        )
    return one if "permissions.connected_timeout_secs" in changed else other


def _put(given: Any, target: Any, name: str) -> bool:
    """Take one field over; whether it is another one now."""
    new, old = getattr(given, name), getattr(target, name)
    if new == old:
        return False
    if isinstance(old, str | bool | int):
        setattr(target, name, new)
    return True


def _refuse_unknown(mask: Iterable[str]) -> None:
    known = {_FLAGS, *_PARTS}
    for part in _PARTS:
        known |= {f"{part}.{field.name}" for field in getattr(v1.Settings(), part).DESCRIPTOR.fields}
    for path in mask:
        if path not in known:
            raise InvalidRequest(f"update_mask names {path[:80]!r}, which is not a field of the settings")


def _port_of(address: str) -> int:
    return parse_address(address).port if address else 0
