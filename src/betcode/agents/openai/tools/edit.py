"""Edits files atomically: the whole file, or a part of it."""

import os
from collections.abc import Callable
from pathlib import Path

import anyio.to_thread

from betcode.agents.openai.tools.paths import open_file, resolved, unmoved
from betcode.agents.openai.tools.plans import Arguments, Diff, Plan, Result, Unfit, Workspace
from betcode.util.atomic_files import replacing

_MOST_BYTES = 8 * 1024 * 1024
_WHOLE_DIFF = 32 * 1024  # characters up to which both sides are shown whole


def plan_write(workspace: Workspace, arguments: Arguments) -> Plan:
    path, content = arguments.text("path"), arguments.text("content")
    place = resolved(workspace, path)

    def write() -> Result:
        before = _content(place) if place.exists() else None
        _replace(place, content)
        words = "Written" if before is None else "Overwritten"
        return Result(f"{words}: {place}", diff=_diff(place, before, content))

    async def run() -> Result:
        return await anyio.to_thread.run_sync(_trying, write, place)

    shown = {"file_path": str(place), "content": content}
    return Plan("Write", shown, f"Write {path}", "edit", True, run, str(place))


def plan_edit(workspace: Workspace, arguments: Arguments) -> Plan:
    path, old, new = arguments.text("path"), arguments.text("old_string"), arguments.text("new_string")
    everywhere = arguments.flag("replace_all")
    place = resolved(workspace, path)
    if not old:
        raise Unfit("old_string is empty: use write to create a file")
    if old == new:
        raise Unfit("old_string and new_string are the same")

    def edit() -> Result:
        before = _content(place)
        found = before.count(old)
        if found == 0:
            raise Unfit("old_string is not in the file: it must match exactly, including spaces and line ends")
        if found > 1 and not everywhere:
            raise Unfit(
                f"old_string is in the file {found} times: give more of the surrounding text, or set replace_all"
            )
        after = before.replace(old, new)
        _replace(place, after)
        times = f" ({found} places)" if found > 1 else ""
        diff = _diff(place, before, after)
        return Result(f"Edited: {place}{times}", diff=diff or Diff(str(place), old, new))

    async def run() -> Result:
        return await anyio.to_thread.run_sync(_trying, edit, place)

    shown = {"file_path": str(place), "old_string": old, "new_string": new, "replace_all": everywhere}
    return Plan("Edit", shown, f"Edit {path}", "edit", True, run, str(place))


def _trying(change: Callable[[], Result], place: Path) -> Result:
    try:
        return change()
    except OSError as error:
        raise Unfit(f"{place}: {error.strerror or error}") from None
    except RecursionError:
        raise Unfit("The path has too many directories in it") from None


def _content(place: Path) -> str:
    with os.fdopen(open_file(place), "rb") as file:
        data = file.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise Unfit(f"The file is larger than {_MOST_BYTES // 1024 // 1024} MiB")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise Unfit("The file is not UTF-8 text") from None


def _replace(place: Path, content: str) -> None:
    """Replace the file atomically; the new one has the old one's mode."""
    unmoved(place).parent.mkdir(parents=True, exist_ok=True)
    unmoved(place)
    directory = os.open(place.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        # The paths below are relative to the open directory, which cannot be replaced now.
        mode = _mode(place.name, directory)
        with replacing(Path(place.name), mode=0o666 if mode is None else mode, directory=directory) as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.write(content.encode())
    finally:
        os.close(directory)


def _mode(name: str, directory: int) -> int | None:
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode & 0o777
    except FileNotFoundError:
        return None


def _diff(place: Path, before: str | None, after: str) -> Diff | None:
    if len(before or "") > _WHOLE_DIFF or len(after) > _WHOLE_DIFF:
        return None
    return Diff(str(place), before, after)
