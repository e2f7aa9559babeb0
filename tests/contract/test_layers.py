"""Every package is listed in the import contracts, so that a new one cannot be forgotten."""

import re
import tomllib
from typing import Any

from proto_compat import ROOT

STANDALONE = {"agents"}  # separate programs; another contract isolates them


def contracts() -> dict[str, Any]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return {contract["id"]: contract for contract in project["tool"]["importlinter"]["contracts"]}


def packages() -> set[str]:
    return {path.parent.name for path in (ROOT / "src/betcode").glob("*/__init__.py")}


def test_every_package_has_a_layer() -> None:
    named = set(re.findall(r"betcode\.(\w+)", " ".join(contracts()["layers"]["layers"])))
    assert packages() - STANDALONE <= named


def test_only_server_and_client_packages_may_import_grpc() -> None:
    rpc = {"server", "client", "relay", "daemon", "v1"}
    named = {module.removeprefix("betcode.") for module in contracts()["grpc"]["source_modules"]}
    assert packages() - rpc <= named


def test_only_storage_may_import_sqlite() -> None:
    named = {module.removeprefix("betcode.") for module in contracts()["sql"]["source_modules"]}
    assert packages() - {"storage", "v1"} <= named
