"""What betcode imports is declared in pyproject.toml, and what is declared is imported."""

import ast
import os
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import metadata, util
from pathlib import Path

from betcode.util.extras import EXTRAS

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OWN = {"betcode", "obey"}
# The only modules that may import the packages of an extra: they load when its feature is used.
OF_EXTRAS = {
    "openai": ("betcode/agents/openai/",),
    "openclaw": ("betcode/agents/openclaw/",),
    "otel": ("betcode/telemetry/otlp.py", "betcode/telemetry/spans.py", "betcode/telemetry/prometheus.py"),
}


def names(requirements: list[str]) -> set[str]:
    return {normal(re.split(r"[^\w.-]", each, maxsplit=1)[0]) for each in requirements}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@cache
def owners() -> dict[str, str]:
    """The distribution of each installed file."""
    found: dict[str, str] = {}
    for each in metadata.distributions():
        name, root = normal(each.metadata["Name"]), os.path.normpath(str(each.locate_file("")))
        lines = (each.read_text("RECORD") or "").splitlines()  # quicker than `each.files`
        found.update((f"{root}/{line.partition(',')[0]}", name) for line in lines)
    return found


@cache
def owner(module: str) -> str | None:
    """The distribution that a module comes from; None if it is part of Python or does not exist."""
    try:
        spec = util.find_spec(module)
    except ImportError:
        return None
    return owners().get(spec.origin) if spec is not None and spec.origin else None


def imported(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def uses() -> Iterator[tuple[str, str]]:
    """Each file below src/ with a distribution that it imports."""
    for path in sorted((ROOT / "src").rglob("*.py")):
        if path.stem.endswith(("_pb2", "_pb2_grpc")):
            continue  # generated, large, and with the imports of the runtime that others import too
        for module in set(imported(path.read_text(encoding="utf-8"))):
            if module.split(".")[0] not in OWN | sys.stdlib_module_names and (name := owner(module)):
                yield path.relative_to(ROOT / "src").as_posix(), name


def faults(found: set[tuple[str, str]], default: set[str], extras: dict[str, set[str]]) -> list[str]:
    wrong = []
    for path, name in sorted(found):
        homes = [home for extra, packages in extras.items() if name in packages for home in OF_EXTRAS[extra]]
        if name not in default and not path.startswith(tuple(homes)):
            wrong.append(f"{path} imports {name}, which " + ("is in an extra" if homes else "is not declared"))
    wrong += [f"{name} is declared and not imported" for name in sorted(default - {name for _, name in found})]
    return wrong


def test_every_import_is_declared_and_extras_stay_in_their_features() -> None:
    default = names(PROJECT["dependencies"])
    extras = {extra: names(each) for extra, each in PROJECT["optional-dependencies"].items()}
    assert set(extras) == set(OF_EXTRAS) == set(EXTRAS)
    assert faults(set(uses()), default, extras) == []


def test_an_import_that_is_not_declared_is_found() -> None:
    found = {("betcode/x.py", "grpcio"), ("betcode/x.py", "requests"), ("betcode/x.py", "attrs")}
    assert faults(found, {"grpcio", "anyio"}, {"otel": {"requests"}}) == [
        "betcode/x.py imports attrs, which is not declared",
        "betcode/x.py imports requests, which is in an extra",
        "anyio is declared and not imported",
    ]
