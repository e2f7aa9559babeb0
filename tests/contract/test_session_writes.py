"""Decisions are committed in one place: other modules of the engine do not call the writer of a session."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import betcode

_ROOT = Path(betcode.__file__).parent

# Modules that write. Everyone else gives a decision to `LiveSession.perform` or `LiveSession.perform_locked`.
WRITERS = {
    "engine/shell/session.py",  # commits every decision, applies it and performs its effects
    "engine/shell/writer.py",  # the writer itself
    # These still commit by hand and act afterwards. None may be added.
    "engine/operations/compact.py",  # its decision has no function in the core yet
    "engine/operations/submit.py",  # it commits while the input lock notes who types
    "engine/shell/budget_gate.py",  # its answers and questions have no functions in the core yet
}
_WRITES = {"write", "write_surely", "prepare"}
_OWNERS = {"writer", "_writer"}


def _is_writer(owner: ast.expr) -> bool:
    name = owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else ""
    return name in _OWNERS


def writes(tree: ast.AST) -> bool:
    """Whether the code uses a method of a session's writer that commits, or prepares a commit."""
    return any(
        isinstance(node, ast.Attribute) and node.attr in _WRITES and _is_writer(node.value) for node in ast.walk(tree)
    )


def applies(tree: ast.AST) -> bool:
    """Whether the code replaces a session's value: `writer.session = …`."""
    targets = [target for node in ast.walk(tree) if isinstance(node, ast.Assign) for target in node.targets]
    return any(
        isinstance(each, ast.Attribute) and each.attr == "session" and _is_writer(each.value) for each in targets
    )


def _engine() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted((_ROOT / "engine").rglob("*.py")):
        yield str(path.relative_to(_ROOT)), ast.parse(path.read_text(encoding="utf-8"))


def test_only_the_shell_writes() -> None:
    found = {name for name, tree in _engine() if writes(tree)} | {"engine/shell/writer.py"}
    assert found == WRITERS


def test_only_the_shell_replaces_the_value_of_a_session() -> None:
    assert {name for name, tree in _engine() if applies(tree)} == {"engine/shell/session.py"}


@pytest.mark.parametrize(
    "code", ["session.writer.write((), [])", "await writer.write_surely(said)", "w = self._writer.prepare"]
)
def test_a_write_is_found(code: str) -> None:
    assert writes(ast.parse(f"async def f():\n    {code}"))


@pytest.mark.parametrize("code", ["file.write(data)", "writer.writelines(x)", "rules.prepare()"])
def test_other_writes_are_not_meant(code: str) -> None:
    assert not writes(ast.parse(code))


def test_a_replaced_value_is_found() -> None:
    assert applies(ast.parse("live.writer.session = other"))
    assert not applies(ast.parse("self.session = other"))
