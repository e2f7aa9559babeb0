"""Finds the native Codex program, also behind npm's launcher."""

import os
import platform
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from betcode.domain.errors import AgentUnavailable

PROGRAM = "codex"
_INSTALL = "install it (npm install -g @openai/codex), or set agents.codex.path to its path"
_ARCHITECTURES = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}
_BELOW = ("vendor/*/bin/codex", "vendor/*/codex/codex")  # the second until the package was split by platforms


def find_binary(named: str, environment: Mapping[str, str]) -> Path:
    """Raises AgentUnavailable, with what to do."""
    if named:
        binary = Path(named).expanduser()
        if not _can_be_run(binary):
            raise AgentUnavailable(
                f"{binary} is not an executable file: set agents.codex.path to the path of codex",
                path=str(binary),
            )
    else:
        found = shutil.which(PROGRAM, path=environment.get("PATH")) or shutil.which(PROGRAM)
        if found is None:
            raise AgentUnavailable(f"Codex is not installed: {_INSTALL}")
        binary = Path(found)
    return _native(binary)


def _native(binary: Path) -> Path:
    """npm's launcher starts the program below its package and stays: with the program itself there is one process."""
    launcher = binary.resolve()
    if launcher.suffix != ".js":
        return binary
    return next((native for native in _below(launcher.parent.parent) if _can_be_run(native)), binary)


def _below(package: Path) -> Iterator[Path]:
    own = f"{PROGRAM}-{sys.platform}-{_ARCHITECTURES.get(platform.machine().lower(), platform.machine())}"
    for home in (package.parent / own, package / "node_modules" / "@openai" / own, package):
        for pattern in _BELOW:
            yield from sorted(home.glob(pattern))


def _can_be_run(binary: Path) -> bool:
    return binary.is_file() and os.access(binary, os.X_OK)
