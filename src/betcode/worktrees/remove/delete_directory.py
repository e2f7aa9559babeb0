"""Deletes directories: renames them first, then deletes, with retries."""

import os
import re
import stat
from contextlib import suppress
from pathlib import Path

import anyio
import anyio.to_thread

from betcode.domain.errors import WorktreeUnusable
from betcode.domain.values.phrases import placed
from betcode.proc import run

_OCTAL = re.compile(r"\\([0-7]{3})")  # the system's escapes for spaces and such in a list of mounts


def aside_of(path: str, identifier: str) -> str:
    """Return where a directory is moved before it is deleted: next to it, so that the move is atomic."""
    return str(Path(path).parent / f".betcode-removing-{identifier}")


def move(source: str, target: str) -> None:
    """Move it; raises WorktreeUnusable if it cannot be moved, and then nothing has changed. It may block."""
    if os.path.lexists(target):
        raise WorktreeUnusable(f"{placed(target)} is in the way: check its content, and move it elsewhere")
    try:
        os.rename(source, target)  # noqa: PTH104 - atomic, and never over something
    except OSError as trouble:
        raise WorktreeUnusable(
            f"{placed(source)} cannot be moved, so it cannot be deleted: {trouble.strerror}; "
            "check that the directory above it is writable, and that nothing is mounted there"
        ) from None


def mounted_in(path: str) -> list[str]:
    """Return where file systems or directories are mounted in a directory; none if that is unknown.

    Such a directory can be moved, and the mounted content would then be deleted with it. It may block.
    """
    try:
        lines = Path("/proc/self/mountinfo").read_text(errors="surrogateescape").splitlines()
    except OSError:
        return []
    points = [_OCTAL.sub(lambda found: chr(int(found[1], 8)), line.split(" ")[4]) for line in lines]
    return [point for point in points if point == path or point.startswith(path + os.sep)]


async def delete(path: str) -> None:
    """Delete all of it; links are not followed. Directories that are read-only, as some tools make them, are made
    writable.

    Raises:
        WorktreeUnusable: some of it could not be deleted.
    """
    for try_again in (True, False):
        done = await run(["rm", "-rf", "--", path], os.environ, limit_s=None)
        if not done.code and not await anyio.to_thread.run_sync(os.path.lexists, path):
            return
        if try_again:
            await anyio.to_thread.run_sync(_make_writable, path)
        else:
            words = done.err.decode(errors="replace").strip().splitlines()
            why = placed(words[0].removeprefix("rm: ")) if words else "some files still exist"
            raise WorktreeUnusable(
                f"The rest of it at {placed(path)} cannot be deleted ({why}): fix that, and remove it again"
            )


def _make_writable(path: str) -> None:
    waiting = [path]
    while waiting:
        directory = waiting.pop()
        with suppress(OSError):
            mode = os.lstat(directory).st_mode
            if mode & stat.S_IRWXU != stat.S_IRWXU:
                os.chmod(directory, stat.S_IMODE(mode) | stat.S_IRWXU)  # noqa: PTH101
            with os.scandir(directory) as entries:
                waiting += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
