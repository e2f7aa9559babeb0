"""`betcode session diff` and `betcode worktree diff`: print changes as a patch or as counts."""

import base64
import os
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

from betcode.cli.core.connect import connected
from betcode.cli.core.exit_codes import ExitCode
from betcode.cli.core.options import CommandOptions
from betcode.cli.session.lookup import find_session
from betcode.cli.terminal.console import Screen, standard_screen
from betcode.cli.worktree.lookup import find_worktree
from betcode.v1.worktree_pb2 import DiffChunk
from betcode.wording.patches import ChangedFile, PatchPainter, changed_files, stat_lines

_Chunks = AsyncGenerator[DiffChunk, None]


async def diff_session(options: CommandOptions) -> int:
    screen = standard_screen()
    turn = options.number("turn")
    async with connected(
        options, screen, doing="Comparing" if options.as_json or options.flag("stat") else ""
    ) as client:
        session_id = await find_session(client, options.text("session"))
        chunks = client.diffs.of_session(session_id, turn=turn, counts=options.flag("stat"))
        await _show(chunks, options, screen, {"session_id": session_id, "turn": turn})
    return ExitCode.OK


async def diff_worktree(options: CommandOptions) -> int:
    screen = standard_screen()
    async with connected(
        options, screen, doing="Comparing" if options.as_json or options.flag("stat") else ""
    ) as client:
        worktree = await find_worktree(client, options, options.text("name"))
        chunks = client.diffs.of_worktree(worktree.id, base=options.text("base"), counts=options.flag("stat"))
        await _show(chunks, options, screen, {"worktree_id": worktree.id, "name": worktree.name, "path": worktree.path})
    return ExitCode.OK


async def _show(chunks: _Chunks, options: CommandOptions, screen: Screen, about: Mapping[str, object]) -> None:
    async with aclosing(chunks):
        if options.as_json:
            await _show_json(chunks, options, screen, about)
        elif options.flag("stat"):
            notes, data = await _all_of(chunks)
            for note in notes:
                screen.note(f"Note: {note}")
            files = list(changed_files(data))
            for line in stat_lines(files, colour=_has_colour()):
                sys.stdout.write(line + "\n")
            if not files:
                screen.line("Nothing was changed")
        else:
            await _show_patch(chunks, screen)


async def _show_patch(chunks: _Chunks, screen: Screen) -> None:
    """Print the patch: coloured on a terminal, otherwise unchanged for `git apply`."""
    painter = PatchPainter(colour=_has_colour()) if sys.stdout.isatty() else None
    is_empty = True
    async for chunk in chunks:
        if chunk.note:
            screen.note(f"Note: {chunk.note}")
        is_empty = is_empty and not chunk.data
        if painter is not None:
            sys.stdout.write(painter.feed(chunk.data))
        else:
            sys.stdout.buffer.write(chunk.data)
    if painter is not None:
        sys.stdout.write(painter.feed(b"", final=True))
    sys.stdout.flush()
    if is_empty:
        screen.note("Nothing was changed")


async def _show_json(chunks: _Chunks, options: CommandOptions, screen: Screen, about: Mapping[str, object]) -> None:
    notes, data = await _all_of(chunks)
    record: dict[str, object] = {**about, "notes": notes}
    if options.flag("stat"):
        record["files"] = [_file_json(file) for file in changed_files(data)]
    else:
        try:
            record["patch"] = data.decode()
        except UnicodeDecodeError:
            record["patch_base64"] = base64.b64encode(data).decode()  # a patch that is not UTF-8 cannot be text in JSON
    screen.json(record, indent=2)


async def _all_of(chunks: _Chunks) -> tuple[list[str], bytes]:
    notes: list[str] = []
    pieces: list[bytes] = []
    async for chunk in chunks:
        notes += [chunk.note] if chunk.note else []
        pieces.append(chunk.data)
    return notes, b"".join(pieces)


def _file_json(file: ChangedFile) -> dict[str, object]:
    return {
        "path": file.path,
        "from_path": file.from_path,
        "added": file.added,
        "removed": file.removed,
        "binary": file.is_binary,
    }


def _has_colour() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
