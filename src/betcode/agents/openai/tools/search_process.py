"""`python -m betcode.agents.openai.tools.search_process Grep|Glob`: runs a search that it reads as JSON from stdin.

Standard library only, because it is started for every search.
"""

import json
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from fnmatch import translate
from pathlib import Path

_MOST = 200
_LONGEST_LINE = 400
_MOST_BYTES = 2 * 1024 * 1024
_SKIPPED = frozenset({".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv"})


def main(name: str, wanted: dict[str, str]) -> int:
    root = Path(wanted["path"])
    if not root.exists():
        sys.stdout.write(f"{root} does not exist\n")
        return 1
    found = _lines(root, wanted) if name == "Grep" else _names(root, wanted["pattern"])
    for number, line in enumerate(found):
        if number == _MOST:
            sys.stdout.write(f"(more than {_MOST}: narrow the search)\n")
            break
        sys.stdout.write(line + "\n")
    return 0


def _names(root: Path, pattern: str) -> Iterator[str]:
    matches = _matcher(pattern)
    return (str(path) for path in _files(root) if matches(path, root))


def _lines(root: Path, wanted: dict[str, str]) -> Iterator[str]:
    expression = re.compile(wanted["pattern"])
    matches = _matcher(wanted["glob"]) if "glob" in wanted else None
    for path in [root] if root.is_file() else _files(root):
        if matches is not None and not matches(path, root):
            continue
        for number, line in enumerate(_text(path).splitlines(), 1):
            if expression.search(line):
                yield f"{path}:{number}:{line[:_LONGEST_LINE]}"


def _matcher(pattern: str) -> Callable[[Path, Path], bool]:
    """Return whether a path below a root matches that pattern; one without a slash matches names at any depth."""
    # `**/` may match no directory at all, which fnmatch does not support.
    patterns = [re.compile(translate(each)) for each in {pattern, pattern.replace("**/", "")}]

    def matches(path: Path, root: Path) -> bool:
        is_name = "/" not in pattern or path == root
        return any(each.match(path.name if is_name else str(path.relative_to(root))) for each in patterns)

    return matches


def _files(root: Path) -> Iterator[Path]:
    """Links are not followed: they may lead out of the project, or around in it."""
    for directory, names, files in os.walk(root, followlinks=False):
        names[:] = sorted(name for name in names if name not in _SKIPPED)
        yield from (Path(directory, name) for name in sorted(files))


def _text(path: Path) -> str:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return ""
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ""
        data = file.read(_MOST_BYTES)
    return "" if b"\0" in data[:8192] else data.decode(errors="replace")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], json.loads(sys.stdin.buffer.read())))
