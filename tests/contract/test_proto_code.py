"""The committed generated code is what proto/ gives, and can be imported."""

import importlib
from pathlib import Path

import pytest
from proto_code import PROTO, SRC, generate, generated


def test_regenerating_changes_nothing(tmp_path: Path) -> None:
    generate(tmp_path)
    fresh, committed = generated(tmp_path), generated(SRC)
    assert fresh.keys() == committed.keys()
    assert [name for name in fresh if fresh[name] != committed[name]] == []


@pytest.mark.parametrize("file", sorted(str(path.relative_to(PROTO)) for path in PROTO.rglob("*.proto")))
def test_every_file_has_messages_services_and_stubs(file: str) -> None:
    module = file.removesuffix(".proto").replace("/", ".")
    assert importlib.import_module(f"{module}_pb2").DESCRIPTOR.name == file
    importlib.import_module(f"{module}_pb2_grpc")
    for suffix in ("_pb2.pyi", "_pb2_grpc.pyi"):
        assert (SRC / file.replace(".proto", suffix)).is_file()
