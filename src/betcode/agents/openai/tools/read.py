"""Reads files and directories."""

import os
import stat
from pathlib import Path

import anyio.to_thread

from betcode.agents.openai.tools.paths import is_inside, open_file, resolved, unmoved
from betcode.agents.openai.tools.plans import Arguments, Plan, Result, Unfit, Workspace

_MOST_LINES = 2000
_MOST_BYTES = 128 * 1024
_MOST_NAMES = 1000


def plan_read(workspace: Workspace, arguments: Arguments) -> Plan:
    path = arguments.text("path")
    first, count = arguments.number("offset", 1, 10**9), arguments.number("limit", _MOST_LINES, _MOST_LINES)
    place = resolved(workspace, path)

    async def run() -> Result:
        return await anyio.to_thread.run_sync(_read, place, first, count)

    shown: dict[str, object] = {"file_path": str(place)}
    if first > 1 or count < _MOST_LINES:
        shown |= {"offset": first, "limit": count}
    asked = workspace.asks_reads or not is_inside(workspace, place)
    return Plan("Read", shown, f"Read {path}", "read", asked, run, str(place))


def _read(place: Path, first: int, count: int) -> Result:
    try:
        if place.is_dir():
            return _list(unmoved(place))
        with os.fdopen(open_file(place), "rb") as file:
            return Result(_lines(file.read(_MOST_BYTES * 64), first, count))
    except OSError as error:
        raise Unfit(f"{place}: {error.strerror or error}") from None


def _lines(data: bytes, first: int, count: int) -> str:
    """Return numbered lines, so that the model can refer to them."""
    if b"\0" in data[:8192]:
        raise Unfit("This is not a text file")
    lines = data.decode(errors="replace").splitlines()
    if not lines:
        return "(the file is empty)"
    if first > len(lines):
        raise Unfit(f"The file has {len(lines)} lines")
    chosen: list[str] = []
    size = 0
    for number, line in enumerate(lines[first - 1 : first - 1 + count], first):
        room = max(0, _MOST_BYTES - size)
        cut = f" ({len(line) - room} characters omitted)" if len(line) > room else ""
        chosen.append(f"{number}\t{line[:room]}{cut}")
        size += len(chosen[-1])
        if size > _MOST_BYTES:
            break
    last = first + len(chosen) - 1
    rest = f"\n(lines {first} to {last} of {len(lines)})" if last < len(lines) else ""
    return "\n".join(chosen) + rest


def _list(place: Path) -> Result:
    names = sorted(path.name for path in place.iterdir())
    shown = [f"{_printable(name)}{_mark(place / name)}" for name in names[:_MOST_NAMES]]
    rest = f"\n(and {len(names) - _MOST_NAMES} others)" if len(names) > _MOST_NAMES else ""
    return Result(("\n".join(shown) or "(the directory is empty)") + rest)


def _printable(name: str) -> str:
    """One line, and text: a name may be any bytes."""
    return os.fsencode(name).decode(errors="replace").replace("\n", "\\n")


def _mark(place: Path) -> str:
    try:
        mode = place.lstat().st_mode
    except OSError:
        return ""
    return "/" if stat.S_ISDIR(mode) else "@" if stat.S_ISLNK(mode) else ""
