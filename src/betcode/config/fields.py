"""Read and replace one value inside the settings by its dotted path."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from betcode.config.settings import Settings


def value_at(settings: Settings, path: str) -> object:
    """The value at a path such as `engine.turn_limit`; each name is an attribute, or a key of a mapping."""
    part: Any = settings
    for name in path.split("."):
        part = _child(part, name)
    return part


def with_value(settings: Settings, path: str, value: object) -> Settings:
    """The settings with another value at a path; the setting's type has converted the value."""
    return cast("Settings", _with(settings, path.split("."), value))


def _child(part: Any, name: str) -> Any:
    return part[name] if isinstance(part, Mapping) else getattr(part, name)


def _with(part: Any, names: list[str], value: object) -> Any:
    first, *rest = names
    changed = {first: _with(_child(part, first), rest, value) if rest else value}
    if isinstance(part, Mapping):
        return {**part, **changed}
    if isinstance(part, tuple):  # the settings of a provider are a named tuple
        return part._replace(**changed)  # type: ignore[attr-defined]
    return replace(part, **changed)
