"""The other files of betcode.v1 say what was published, number by number."""

import re
from types import ModuleType

import pytest
from proto_compat import ROOT

from betcode.v1 import (
    admin_pb2,
    agent_pb2,
    audit_pb2,
    config_pb2,
    gitlab_pb2,
    health_pb2,
    machine_pb2,
    policy_pb2,
    subagent_pb2,
    tunnel_pb2,
    version_pb2,
    worktree_pb2,
)
from support.published import config_gitlab as published_config_gitlab
from support.published import subagent as published_subagent
from support.published import version as published
from support.published import worktree as published_worktree
from support.published.descriptors import calls_of, fields_of, lines, values_of

FILES = {
    "admin": admin_pb2,
    "agent": agent_pb2,
    "audit": audit_pb2,
    "config": config_pb2,
    "gitlab": gitlab_pb2,
    "health": health_pb2,
    "machine": machine_pb2,
    "policy": policy_pb2,
    "subagent": subagent_pb2,
    "tunnel": tunnel_pb2,
    "version": version_pb2,
    "worktree": worktree_pb2,
}
TABLES = (published, published_config_gitlab, published_subagent, published_worktree)
CALLS = {file: table for tables in TABLES for file, table in tables.CALLS.items()}
MESSAGES = {file: table for tables in TABLES for file, table in tables.MESSAGES.items()}
ENUMS = {file: table for tables in TABLES for file, table in tables.ENUMS.items()}
every_file = pytest.mark.parametrize("file", sorted(MESSAGES))


@pytest.mark.behaviour("contract.package.v1")
@pytest.mark.parametrize("module", FILES.values(), ids=FILES.keys())
def test_every_file_declares_package_v1(module: ModuleType) -> None:
    assert module.DESCRIPTOR.package == "betcode.v1"


@pytest.mark.behaviour("contract.package.no-v2", "contract.package.v1")
def test_there_is_no_other_package_than_v1() -> None:
    packages = {
        match[1]
        for path in (ROOT / "proto").rglob("*.proto")
        if (match := re.search(r"^package ([\w.]+);", path.read_text(), re.MULTILINE))
    }
    assert packages == {"betcode.v1", "obey.local.v1"}
    assert {path.name for path in (ROOT / "proto/betcode").iterdir()} == {"v1"}


@pytest.mark.behaviour("contract.files")
def test_the_published_files_are_there() -> None:
    published = {f"{name}.proto" for name in FILES} - {"admin.proto", "audit.proto", "health.proto", "policy.proto"}
    assert published <= {path.name for path in (ROOT / "proto/betcode/v1").iterdir()}


@pytest.mark.behaviour(
    "contract.config.rpcs",
    "contract.gitlab.rpcs",
    "contract.health.messages",
    "contract.machine.messages",
    "contract.open-messages",
    "contract.tunnel.messages",
    "contract.version.messages",
    "contract.worktree.messages",
)
@pytest.mark.parametrize("file", sorted(CALLS))
def test_a_service_has_exactly_its_calls(file: str) -> None:
    (service,) = FILES[file].DESCRIPTOR.services_by_name.items()
    assert (service[0], calls_of(service[1])) == (CALLS[file][0], lines(CALLS[file][1]))


@pytest.mark.behaviour(
    "contract.deprecation.messages",
    "contract.feature.messages",
    "contract.health.messages",
    "contract.machine.messages",
    "contract.open-messages",
    "contract.tunnel.messages",
    "contract.version.messages",
    "contract.worktree.messages",
)
@every_file
def test_a_file_has_exactly_its_messages_and_fields(file: str) -> None:
    found = {name: fields_of(message) for name, message in FILES[file].DESCRIPTOR.message_types_by_name.items()}
    assert found == {name: lines(table) for name, table in MESSAGES[file].items()}


@pytest.mark.behaviour(
    "contract.enum.names",
    "contract.deprecation.messages",
    "contract.feature.messages",
    "contract.machine.messages",
    "contract.version.messages",
)
@every_file
def test_a_file_has_exactly_its_enums_and_values(file: str) -> None:
    found = {name: values_of(enum) for name, enum in FILES[file].DESCRIPTOR.enum_types_by_name.items()}
    assert found == {name: lines(table) for name, table in ENUMS.get(file, {}).items()}


@pytest.mark.behaviour("contract.enum.names")
def test_enums_that_were_not_published_with_bare_names_are_prefixed() -> None:
    bare = {
        "AgentStatus",
        "CompatibilityLevel",
        "FeatureStage",
        "MachineStatus",
        "PermissionDecision",
        "ServingStatus",
        "Severity",
        "TodoStatus",
    }
    for module in FILES.values():
        for name, enum in module.DESCRIPTOR.enum_types_by_name.items():
            if name not in bare:
                prefix = re.sub(r"(?<!^)(?=[A-Z])", "_", name).upper() + "_"
                assert all(value.name.startswith(prefix) for value in enum.values), name


@pytest.mark.behaviour("contract.tunnel.messages")
def test_a_tunnel_frame_carries_one_payload() -> None:
    payload = tunnel_pb2.TunnelFrame.DESCRIPTOR.oneofs_by_name["payload"]
    assert sorted(field.number for field in payload.fields) == [3, 4, 5, 6, 7]
