"""Every room has its place in the layers, so that a new one cannot be forgotten."""

import re
import tomllib
from typing import Any

from proto_compat import ROOT

STANDALONE = {"agents"}  # programs of their own; another contract keeps them apart


def contracts() -> dict[str, Any]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return {contract["id"]: contract for contract in project["tool"]["importlinter"]["contracts"]}


def rooms() -> set[str]:
    return {path.parent.name for path in (ROOT / "src/betcode").glob("*/__init__.py")}


def test_every_room_has_a_step() -> None:
    named = set(re.findall(r"betcode\.(\w+)", " ".join(contracts()["layers"]["layers"])))
    assert rooms() - STANDALONE <= named


def test_every_room_but_the_rim_may_not_import_grpc() -> None:
    rpc = {"server", "client", "relay", "daemon", "v1"}
    named = {module.removeprefix("betcode.") for module in contracts()["grpc"]["source_modules"]}
    assert rooms() - rpc <= named


def test_every_room_but_storage_may_not_import_sqlite() -> None:
    named = {module.removeprefix("betcode.") for module in contracts()["sql"]["source_modules"]}
    assert rooms() - {"storage", "v1"} <= named
