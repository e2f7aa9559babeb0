"""The number of modules in a folder, so that a reader can see a folder's subject from its list of files."""

from collections import Counter
from pathlib import Path

import betcode

_ROOT = Path(betcode.__file__).parent
_GENERATED = {"v1", "v1alpha"}
_MOST_MODULES = 25


def _large(modules: Counter[str]) -> set[str]:
    return {folder for folder, count in modules.items() if count > _MOST_MODULES}


def _modules_per_folder(root: Path) -> Counter[str]:
    paths = (path.relative_to(root) for path in root.rglob("*.py"))
    return Counter(path.parent.as_posix() for path in paths if not _GENERATED & set(path.parts))


def test_no_folder_holds_more_modules_than_a_reader_can_scan() -> None:
    assert sorted(_large(_modules_per_folder(_ROOT))) == []
