"""Packages that only some users need: which features need them, and how to install them."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import util
from pathlib import Path

from betcode.providers.specs import SPECS


@dataclass(frozen=True, slots=True)
class Extra:
    name: str  # in pyproject.toml
    feature: str  # at the beginning of a sentence
    modules: tuple[str, ...]  # that must be importable


_OF_PROVIDERS = [
    Extra(spec.name, f"The provider {spec.name}", spec.extra_modules) for spec in SPECS.values() if spec.extra_modules
]
OTEL = Extra("otel", "Telemetry", ("opentelemetry.sdk", "opentelemetry.exporter.otlp", "prometheus_client", "requests"))
EXTRAS: Mapping[str, Extra] = {extra.name: extra for extra in (*_OF_PROVIDERS, OTEL)}


def missing_extra(extra: Extra) -> str:
    """A sentence with the command that installs the extra; empty if its packages are there."""
    if all(_is_there(module) for module in extra.modules):
        return ""
    command = install_command(extra.name, Path(sys.prefix), _origin(), has_pip=_is_there("pip"))
    return f"{extra.feature} needs packages that are not installed: {command}"


def install_command(extra: str, prefix: Path, origin: str, *, has_pip: bool) -> str:
    """The shell command that adds an extra to the environment at `prefix`; `origin`: the URL betcode came from."""
    import shlex

    wanted = f"betcode[{extra}] @ {origin}" if origin else f"betcode[{extra}]"
    if (prefix / "uv-receipt.toml").exists():
        return shlex.join(["uv", "tool", "install", "--force", wanted])
    if (prefix / "pipx_metadata.json").exists():
        return shlex.join(["pipx", "install", "--force", wanted])
    python = str(prefix / "bin" / "python")
    with_pip, with_uv = [python, "-m", "pip", "install"], ["uv", "pip", "install", "--python", python]
    return shlex.join([*(with_pip if has_pip else with_uv), wanted])


def _is_there(module: str) -> bool:
    try:
        return util.find_spec(module) is not None
    except ImportError:  # a parent package is missing
        return False


def _origin() -> str:
    """The URL of the wheel or folder that betcode was installed from; empty if it came from an index."""
    # Imported here: the daemon imports this module at its start, and it is rarely needed.
    import json
    from importlib import metadata

    try:
        text = metadata.distribution("betcode").read_text("direct_url.json")
        return str(json.loads(text)["url"]) if text else ""
    except (metadata.PackageNotFoundError, KeyError, ValueError):
        return ""
