"""Decisions are committed in one place: other modules of the engine do not call the writer of a session."""

import ast
from collections.abc import Iterator

import pytest

from support.source_trees import source_trees

# Modules that write. Everyone else gives a decision to `LiveSession.perform` or `LiveSession.perform_locked`.
WRITERS = {
    "engine/shell/session.py",  # commits every decision, applies it and performs its effects
    "engine/shell/writer.py",  # the writer itself
}
# Flags, and the modules that may assign them. Everyone else uses an effect or a named method.
SETTERS = {
    "flags": {"engine/shell/run.py"},
    "is_starting": {"engine/operations/lifecycle/lifecycle.py"},
    "is_stopping": {"engine/operations/lifecycle/lifecycle.py"},
    "may_start": {"engine/shell/effects.py", "engine/shell/session.py"},
    "stop_request": {"engine/shell/session.py"},
    "was_started": {"engine/operations/lifecycle/lifecycle.py"},
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


def assigned(tree: ast.AST) -> Iterator[ast.Attribute]:
    """Yield the attributes that the code assigns, also several at once."""
    for node in ast.walk(tree):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign | ast.AugAssign):
            targets = [node.target]
        for target in targets:
            parts = target.elts if isinstance(target, ast.Tuple) else [target]
            yield from (part for part in parts if isinstance(part, ast.Attribute))


def applies(tree: ast.AST) -> bool:
    """Whether the code replaces a session's value: `writer.session = …`."""
    return any(each.attr == "session" and _is_writer(each.value) for each in assigned(tree))


def _engine() -> Iterator[tuple[str, ast.Module]]:
    yield from ((path, tree) for path, tree in source_trees().items() if path.startswith("engine/"))


def test_only_the_shell_writes() -> None:
    found = {name for name, tree in _engine() if writes(tree)} | {"engine/shell/writer.py"}
    assert found == WRITERS


def test_only_the_shell_replaces_the_value_of_a_session() -> None:
    assert {name for name, tree in _engine() if applies(tree)} == {"engine/shell/session.py"}


@pytest.mark.parametrize("flag", SETTERS)
def test_a_flag_is_set_where_it_belongs(flag: str) -> None:
    found = {name for name, tree in _engine() if any(each.attr == flag for each in assigned(tree))}
    assert found == SETTERS[flag]


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
