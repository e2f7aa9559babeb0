"""settings.json, read: what it says over the defaults, and what is wrong with it, in one sentence."""

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from betcode.config.permission_times import refuse_wrong_ttl
from betcode.config.plain_file import read_plain
from betcode.config.schema import RULE_LISTS, SETTINGS
from betcode.config.settings import Settings
from betcode.config.units import NotUnderstood
from betcode.domain.jsonc import Located, NotJson, parse

FILE_NAME = "settings.json"
_FILE_BYTES = 2 * 1024 * 1024


class WrongSetting(Exception):
    """The file cannot be used; the message is one sentence that says where and what would be right."""


@dataclass(frozen=True, slots=True)
class Loaded:
    settings: Settings
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Renewed:
    """What a running daemon goes on with, and the keys that changed: now, or only for the next daemon."""

    settings: Settings
    now: tuple[str, ...]
    later: tuple[str, ...]


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
        values = parse(text) if text.strip() else Located({}, 1)
    except NotJson as error:
        raise WrongSetting(f"{path} is not JSON: {error}") from error
    if not isinstance(values.value, dict):
        raise WrongSetting(f"{path} must hold one JSON object")
    return _applied(path, flat(values.value))


def flat(values: Mapping[str, Located], prefix: str = "") -> dict[str, Located]:
    """{"agents": {"turn_limit": 3}} as {"agents.turn_limit": 3}."""
    found: dict[str, Located] = {}
    for name, value in values.items():
        key = prefix + name
        if isinstance(value.value, dict) and key not in SETTINGS:
            found.update(flat(value.value, key + "."))
        else:
            found[key] = value
    return found


def _applied(path: Path, values: Mapping[str, Located]) -> Loaded:
    settings = Settings()
    warnings: list[str] = []
    for key, value in values.items():
        if key in RULE_LISTS:
            continue
        setting = SETTINGS.get(key)
        if setting is None:
            warnings.append(f"{path}, line {value.line}: unknown setting {key}{_suggestion(key)}")
            continue
        try:
            settings = with_value(settings, setting.field, setting.kind.read(value.plain))
        except NotUnderstood as error:
            shown = "what it is" if setting.is_private else json.dumps(value.plain)
            raise WrongSetting(f"{path}, line {value.line}: {key} must be {error}, not {shown}") from None
    try:
        refuse_wrong_together(settings)
    except NotUnderstood as error:
        raise WrongSetting(f"{path}: {error}") from None
    return Loaded(settings, tuple(warnings))


def refuse_wrong_together(settings: Settings) -> None:
    """Raises NotUnderstood where values that are right by themselves do not go together."""
    engine = settings.engine
    refuse_wrong_ttl(engine.permission_ttl_s, engine.permission_min_ttl_s, engine.permission_max_ttl_s)
    settings.notify.refuse_unsigned()
    settings.listen.refuse_in_clear()


def with_value(settings: Settings, field: str, value: object) -> Settings:
    """The settings with another value; the kinds give each field its own type."""
    part, _, name = field.rpartition(".")
    if not part:
        return replace(settings, **cast("dict[str, Any]", {name: value}))
    changed = replace(getattr(settings, part), **{name: value})
    return replace(settings, **cast("dict[str, Any]", {part: changed}))


def renewed(running: Settings, read: Settings) -> Renewed:
    """The settings of a running daemon after its file was read again."""
    changed = [each for each in SETTINGS.values() if each.value_in(running) != each.value_in(read)]
    settings = running
    for setting in changed:
        if setting.at_once:
            settings = with_value(settings, setting.field, setting.value_in(read))
    return Renewed(
        settings=settings,
        now=tuple(setting.key for setting in changed if setting.at_once),
        later=tuple(setting.key for setting in changed if not setting.at_once),
    )


def _suggestion(key: str) -> str:
    inside = f"permissions.{key}"
    near = [inside] if inside in RULE_LISTS else difflib.get_close_matches(key, [*SETTINGS, *RULE_LISTS], n=1)
    return f"; did you mean {near[0]}?" if near else ""
