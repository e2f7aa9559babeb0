"""The settings of the daemon: frozen values with defaults, read once from settings.json."""

import difflib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast

from betcode.config.notifying import NotifySettings, command_line, occasions, place, web_address
from betcode.config.permission_times import durations, is_so, refuse_wrong_ttl
from betcode.config.plain_file import read_plain
from betcode.config.units import NotUnderstood, duration_s, size_bytes
from betcode.domain.jsonc import NotJson, parse

_MIB = 1024 * 1024
FILE_NAME = "settings.json"
_FILE_BYTES = 2 * _MIB

Durability = Literal["normal", "full"]
ExtendOnSetting = Literal["activity", "human"]
ScreenAll = Literal["auto", "always", "never"]

# Rules stand in the same file; `betcode.rules` reads them, anew whenever the file changes.
RULE_LISTS = frozenset({"permissions.allow", "permissions.ask", "permissions.deny"})


def _half_of_memory() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (ValueError, OSError):
        return 4 * 1024 * _MIB


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """What the engine is bounded by."""

    turn_limit: int = 5  # turns at work at once
    queue_limit: int = 50  # turns that wait for a slot; 0: refuse at once
    idle_retire_s: float = 600.0  # an agent idle for so long is ended
    hang_after_s: float = 300.0  # an agent in a turn that gives no sign of life for so long is ended and started again
    warm_limit: int = 8  # idle agents kept for the next message; past it the longest idle is ended
    agent_memory_limit_bytes: int = field(default_factory=_half_of_memory)  # of all live agents together
    frame_limit_bytes: int = 64 * _MIB  # the longest line an agent may write
    message_limit_bytes: int = 16 * _MIB
    attachment_limit_bytes: int = 10 * _MIB
    cancel_interrupt_s: float = 5.0  # after an interrupt, before SIGINT
    cancel_sigint_s: float = 2.0  # after SIGINT, before SIGTERM
    cancel_term_s: float = 5.0  # after SIGTERM, before everything is killed
    cancel_insist_s: float = 1.0  # a cancel so long after the last step goes on to the next; sooner, it is the same one
    journal_keep_s: float = 7 * 86400.0  # journals of ended agents are kept for so long
    journal_limit_bytes: int = 2048 * _MIB  # and no more of them than this
    lock_answer_s: float = 10.0  # for the holder of an input lock to answer who asks for it
    lock_idle_s: float = 300.0  # without input, after which the lock goes to who waits for it
    durability: Durability = "normal"  # "full": not even a power cut takes the last second
    auto_compact_threshold: int = 0  # a session whose context has more tokens is compacted after its turn; 0: never
    memory_limit_bytes: int = 512 * _MIB  # of the daemon itself; past 80 % of it the longest idle agent compacts
    screen_all: ScreenAll = "auto"  # whether every use of a tool is screened; auto: where any rule denies or asks
    permission_ttl_s: float = 7 * 86400.0  # for a prompt without any activity; then it is denied softly
    permission_min_ttl_s: float = 3600.0  # what that may be set to
    permission_max_ttl_s: float = 30 * 86400.0
    extend_on_activity: bool = True  # somebody who is there, or comes, gives a session's prompts all their time again
    extend_on: ExtendOnSetting = "activity"  # "human": only messages and answers do, and no open window
    reminder_intervals_s: tuple[float, ...] = (3600.0, 86400.0)  # after it was asked
    default_provider: str = ""  # empty: claude where it is found, otherwise demo


@dataclass(frozen=True, slots=True)
class Settings:
    engine: EngineSettings = field(default_factory=EngineSettings)
    log_level: str = "info"
    log_limit_bytes: int = 10 * _MIB  # of daemon.log; one older file is kept beside it
    environment_allow: tuple[str, ...] = ()  # names that sessions inherit beside the usual ones
    notify_desktop: bool = False
    notify_command: tuple[str, ...] = ()
    notify_webhook_url: str = field(default="", repr=False)  # it may carry a secret itself
    notify_webhook_secret_file: str = ""
    notify_on: tuple[str, ...] = ("ask", "reminder", "expired")

    @property
    def notify(self) -> NotifySettings:
        """Who is told of prompts, and when."""
        return NotifySettings(
            self.notify_desktop,
            self.notify_command,
            self.notify_webhook_url,
            self.notify_webhook_secret_file,
            self.notify_on,
        )


class WrongSetting(Exception):
    """The file cannot be used; the message is one sentence that says where and what would be right."""


@dataclass(frozen=True, slots=True)
class Loaded:
    settings: Settings
    warnings: tuple[str, ...] = ()


def load_settings(config_dir: Path) -> Loaded:
    """What settings.json says over the defaults; no file is no settings.

    Raises:
        WrongSetting: it is not JSON, or a value is not of its kind.
    """
    path = config_dir / FILE_NAME
    try:
        data = read_plain(path, _FILE_BYTES + 1)
        text = data.decode()
    except FileNotFoundError:
        return Loaded(Settings())
    except (OSError, UnicodeDecodeError) as error:
        raise WrongSetting(f"{path} cannot be read: {error}") from error
    if len(data) > _FILE_BYTES:
        raise WrongSetting(f"{path} is longer than {_FILE_BYTES} bytes")
    try:
        values = parse(text).plain if text.strip() else {}
    except NotJson as error:
        raise WrongSetting(f"{path} is not JSON: {error}") from error
    if not isinstance(values, dict):
        raise WrongSetting(f"{path} must hold one JSON object")
    return _applied(path, _flat(values))


def _flat(values: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """{"agents": {"turn_limit": 3}} as {"agents.turn_limit": 3}."""
    flat: dict[str, object] = {}
    for name, value in values.items():
        key = prefix + name
        if isinstance(value, dict) and key not in KEYS:
            flat.update(_flat(value, key + "."))
        else:
            flat[key] = value
    return flat


def _applied(path: Path, flat: Mapping[str, object]) -> Loaded:
    engine: dict[str, object] = {}
    rest: dict[str, object] = {}
    warnings: list[str] = []
    for key, value in flat.items():
        if key in RULE_LISTS:
            continue
        known = KEYS.get(key)
        if known is None:
            inside = f"permissions.{key}"
            near = [inside] if inside in RULE_LISTS else difflib.get_close_matches(key, [*KEYS, *RULE_LISTS], n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            warnings.append(f"{path}: unknown setting {key}{hint}")
            continue
        try:
            (engine if known.of_engine else rest)[known.name] = known.read(value)
        except NotUnderstood as error:
            shown = "what it is" if known.is_private else json.dumps(value)
            raise WrongSetting(f"{path}: {key} must be {error}, not {shown}") from None
    defaults = Settings()
    # The readers in the table give each field its own type.
    settings = replace(defaults, engine=replace(defaults.engine, **cast("dict[str, Any]", engine)))
    settings = replace(settings, **cast("dict[str, Any]", rest))
    try:
        refuse_wrong_ttl(
            settings.engine.permission_ttl_s, settings.engine.permission_min_ttl_s, settings.engine.permission_max_ttl_s
        )
        settings.notify.refuse_unsigned()
    except NotUnderstood as error:
        raise WrongSetting(f"{path}: {error}") from None
    return Loaded(settings, tuple(warnings))


@dataclass(frozen=True, slots=True)
class Renewed:
    """What a running daemon goes on with, and the keys that changed: now, or only for the next daemon."""

    settings: Settings
    now: tuple[str, ...]
    later: tuple[str, ...]


def renewed(running: Settings, read: Settings) -> Renewed:
    """The settings of a running daemon after its file was read again."""
    changed = [key for key in KEYS if _value(running, key) != _value(read, key)]
    engine: dict[str, object] = {}
    rest: dict[str, object] = {}
    for key in changed:
        if KEYS[key].at_once:
            (engine if KEYS[key].of_engine else rest)[KEYS[key].name] = _value(read, key)
    settings = replace(running, engine=replace(running.engine, **cast("dict[str, Any]", engine)))
    return Renewed(
        settings=replace(settings, **cast("dict[str, Any]", rest)),
        now=tuple(key for key in changed if KEYS[key].at_once),
        later=tuple(key for key in changed if not KEYS[key].at_once),
    )


def _value(settings: Settings, key: str) -> object:
    return getattr(settings.engine if KEYS[key].of_engine else settings, KEYS[key].name)


@dataclass(frozen=True, slots=True)
class _Key:
    name: str
    read: Callable[[object], object]
    of_engine: bool = True
    at_once: bool = True  # a running daemon that reads the file again uses it; otherwise the next one does
    is_private: bool = False  # its value is not repeated anywhere


def _whole(least: int) -> Callable[[object], int]:
    def read(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise NotUnderstood(f"a whole number of at least {least}")
        return value

    return read


def _duration_up_to(most_s: float) -> Callable[[object], float]:
    def read(value: object) -> float:
        duration = duration_s(value)
        if duration > most_s:
            raise NotUnderstood(f"a duration of at most {most_s:g} seconds")
        return duration

    return read


def _one_of(*choices: str) -> Callable[[object], str]:
    def read(value: object) -> str:
        if not isinstance(value, str) or value not in choices:
            raise NotUnderstood(" or ".join(json.dumps(choice) for choice in choices))
        return value

    return read


def _size_from(least: int) -> Callable[[object], int]:
    def read(value: object) -> int:
        size = size_bytes(value)
        if size < least:
            raise NotUnderstood(f"a size of at least {least} bytes")
        return size

    return read


def _duration_from(least_s: float) -> Callable[[object], float]:
    def read(value: object) -> float:
        seconds = duration_s(value)
        if seconds < least_s:
            raise NotUnderstood(f"a duration of at least {least_s:g} s")
        return seconds

    return read


def _names(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(name, str) and name for name in value):
        raise NotUnderstood('a list of names such as ["GH_TOKEN"]')
    return tuple(value)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise NotUnderstood("a text")
    return value


KEYS: Mapping[str, _Key] = {
    "agents.turn_limit": _Key("turn_limit", _whole(1)),
    "agents.queue_limit": _Key("queue_limit", _whole(0)),
    "agents.idle_retire": _Key("idle_retire_s", duration_s),
    "agents.hang_after": _Key("hang_after_s", _duration_from(1.0)),
    "agents.warm_limit": _Key("warm_limit", _whole(0)),
    "agents.memory_limit": _Key("agent_memory_limit_bytes", _size_from(_MIB)),
    "agents.frame_limit": _Key("frame_limit_bytes", _size_from(64 * 1024), at_once=False),
    "agents.message_limit": _Key("message_limit_bytes", _size_from(1024), at_once=False),
    "agents.attachment_limit": _Key("attachment_limit_bytes", _size_from(0), at_once=False),
    "agents.default_provider": _Key("default_provider", _text, at_once=False),
    "cancel.interrupt": _Key("cancel_interrupt_s", _duration_up_to(600)),
    "cancel.sigint": _Key("cancel_sigint_s", _duration_up_to(600)),
    "cancel.term": _Key("cancel_term_s", _duration_up_to(600)),
    "cancel.insist": _Key("cancel_insist_s", _duration_up_to(600)),
    "sessions.lock_answer": _Key("lock_answer_s", duration_s),
    "sessions.lock_idle": _Key("lock_idle_s", duration_s),
    "permissions.screen_all": _Key("screen_all", _one_of("auto", "always", "never")),
    "permissions.default_ttl": _Key("permission_ttl_s", duration_s),
    "permissions.min_ttl": _Key("permission_min_ttl_s", duration_s),
    "permissions.max_ttl": _Key("permission_max_ttl_s", duration_s),
    "permissions.extend_on_activity": _Key("extend_on_activity", is_so),
    "permissions.extend_on": _Key("extend_on", _one_of("activity", "human")),
    "permissions.reminder_intervals": _Key("reminder_intervals_s", durations),
    "notify.desktop": _Key("notify_desktop", is_so, of_engine=False),
    "notify.command": _Key("notify_command", command_line, of_engine=False),
    "notify.webhook.url": _Key("notify_webhook_url", web_address, of_engine=False, is_private=True),
    "notify.webhook.secret_file": _Key("notify_webhook_secret_file", place, of_engine=False),
    "notify.on": _Key("notify_on", occasions, of_engine=False),
    "journals.keep": _Key("journal_keep_s", duration_s),
    "journals.limit": _Key("journal_limit_bytes", _size_from(0)),
    "sessions.auto_compact_threshold": _Key("auto_compact_threshold", _whole(0)),
    "daemon.memory_limit": _Key("memory_limit_bytes", _size_from(_MIB)),
    "daemon.durability": _Key("durability", _one_of("normal", "full"), at_once=False),
    "daemon.log_level": _Key("log_level", _one_of("error", "warn", "info", "debug", "trace"), of_engine=False),
    "daemon.log_limit": _Key("log_limit_bytes", _size_from(64 * 1024), of_engine=False, at_once=False),
    "environment.allow": _Key("environment_allow", _names, of_engine=False),
}
