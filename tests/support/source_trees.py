"""The syntax trees of betcode's own modules, parsed once per test process."""

import ast
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

import betcode

ROOT = Path(betcode.__file__).parent
GENERATED = {"v1", "v1alpha"}


@cache
def source_trees() -> Mapping[str, ast.Module]:
    """Each hand-written module by its path below src/betcode."""
    paths = (path.relative_to(ROOT) for path in sorted(ROOT.rglob("*.py")))
    own = (path for path in paths if not GENERATED & set(path.parts))
    return MappingProxyType({path.as_posix(): ast.parse((ROOT / path).read_text(encoding="utf-8")) for path in own})
