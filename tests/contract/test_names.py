"""Names of modules and classes that a reader can search for, and the size of modules."""

import ast
import re
from collections import defaultdict
from pathlib import PurePosixPath

from support.source_trees import ROOT, source_trees

_IRREGULAR = "told|kept|left|said|given|made|taken|gone|seen|done|held|sent|begun|known"
_PARTICIPLE = re.compile(rf"[a-z]+(ing|ed)|{_IRREGULAR}")  # one word: `copy_untracked` says what is copied
_BARE = re.compile(rf"_?({_IRREGULAR})", re.IGNORECASE)
_ACCEPTED = {
    "binding",  # nouns
    "finding",
    "housekeeping",
    "rendering",
    "screening",
    "setting",
    "wording",
    "sed",  # a program
    "malformed",  # adjectives of lines, directories and prompts
    "nested",
    "oversized",
    "pending",
}
_MOST_MODULES_PER_CLASS = 3
_MOST_LINES = 400


def _module_names() -> set[str]:
    return {part for path in source_trees() for part in PurePosixPath(path).with_suffix("").parts}


def test_no_module_or_package_is_named_by_a_bare_participle() -> None:
    assert sorted(name for name in _module_names() if _PARTICIPLE.fullmatch(name) and name not in _ACCEPTED) == []


def test_every_accepted_name_is_in_use() -> None:
    assert sorted(_ACCEPTED - _module_names()) == []


def test_no_class_or_public_function_is_named_by_a_bare_irregular_participle() -> None:
    """Only names that other modules import: a method is read together with the name of its object."""
    found = []
    for path, tree in source_trees().items():
        for node in tree.body:
            if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if isinstance(node, ast.ClassDef) or not node.name.startswith("_"):
                found += [f"{path}: {node.name}"] if _BARE.fullmatch(node.name) else []
    assert found == []


def test_no_class_name_is_used_in_four_modules() -> None:
    modules: dict[str, set[str]] = defaultdict(set)
    for path, tree in source_trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                modules[node.name].add(path)
    assert {name: sorted(where) for name, where in modules.items() if len(where) > _MOST_MODULES_PER_CLASS} == {}


def test_no_file_has_more_than_400_lines() -> None:
    checkout = ROOT.parent.parent
    files = [path for folder in ("tests", "bench", "scripts") for path in (checkout / folder).rglob("*.py")]
    files += [ROOT / path for path in source_trees()]
    lengths = {path.relative_to(checkout): len(path.read_text().splitlines()) for path in files}
    assert {str(path): length for path, length in lengths.items() if length > _MOST_LINES} == {}
