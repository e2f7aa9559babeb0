"""Rename, fork, export, delete and search sessions."""

import codecs
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path

from betcode.cli.core.connect import connected
from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.cli.core.options import CommandOptions
from betcode.cli.session.lookup import find_session, find_summary
from betcode.cli.terminal.console import Screen, standard_screen
from betcode.cli.terminal.keyboard import Keyboard, can_ask
from betcode.cli.terminal.progress import show_progress
from betcode.cli.terminal.table import table
from betcode.client import Client
from betcode.v1 import agent_pb2 as v1
from betcode.wording.ids import short_id
from betcode.wording.terminal_text import columns, one_line, wrapped
from betcode.wording.whole_files import FileNotWritten, format_of, write_whole

_HEADINGS = ("SESSION", "TIME", "WHO", "TEXT")
_NOT_DELETED = (
    "Not deleted: copies made by `betcode db backup`, exports, the audit (it has no message text), "
    "and the agent's own transcript (Claude Code: ~/.claude/projects)"
)
_LEAST_TEXT = 40  # minimum width of the text beside the other columns


async def rename(options: CommandOptions) -> int:
    screen = standard_screen()
    name = options.text("name")
    async with connected(options, screen) as client:
        session_id = await find_session(client, options.text("session"))
        await client.rename(session_id, name)
    if options.as_json:
        screen.json({"session_id": session_id, "name": name})
    else:
        screen.line(f"The session is called {name}" if name else "The session's name was removed")
    return ExitCode.OK


async def fork(options: CommandOptions) -> int:
    screen = standard_screen()
    async with connected(options, screen, doing="Copying the history") as client:
        session_id = await find_session(client, options.text("session"))
        made = await client.fork(session_id, at_sequence=options.number("at"), name=options.text("name"))
    if options.as_json:
        screen.json({"session_id": made.session_id, "forked_from": session_id, "at_sequence": made.at_sequence})
    else:
        screen.line(made.session_id)
        screen.note(f"Forked after event {made.at_sequence}. Continue with: betcode attach {short_id(made.session_id)}")
    return ExitCode.OK


async def export(options: CommandOptions) -> int:
    screen = standard_screen()
    file = Path(options.text("output")) if options.text("output") else None
    file_format = options.text("format") or (format_of(file) if file else "json")
    raw = options.flag("raw")
    if options.as_json and file is None and file_format != "json":
        raise CommandFailed(
            f"--json cannot print {file_format}: give an output file with -o", ExitCode.INVALID_ARGUMENTS
        )
    async with connected(options, screen, doing="Exporting" if file is not None else "") as client:
        session_id = await find_session(client, options.text("session"))
        pieces = client.export(session_id, file_format, raw=raw)
        if file is None:
            await _print(pieces, screen)
            return ExitCode.OK
        size = await write_file(pieces, file)
    if options.as_json:
        screen.json({"session_id": session_id, "file": str(file), "format": file_format, "bytes": size})
    else:
        screen.note(f"Written to {file}")
    return ExitCode.OK


async def _print(pieces: AsyncGenerator[bytes, None], screen: Screen) -> None:
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    async with aclosing(pieces):
        async for piece in pieces:
            screen.answer(decoder.decode(piece))
    screen.end_answer()


async def write_file(pieces: AsyncGenerator[bytes, None], file: Path) -> int:
    """Write the whole file or nothing; return the number of bytes.

    Raises:
        CommandFailed: the file cannot be written.
    """
    try:
        await write_whole(pieces, file)
    except FileNotWritten as trouble:
        raise CommandFailed(str(trouble), ExitCode.INVALID_ARGUMENTS) from trouble
    return file.stat().st_size


async def delete(options: CommandOptions) -> int:
    screen = standard_screen()
    async with connected(options, screen) as client:
        session_id = await find_session(client, options.text("session"))
        is_confirmed = options.flag("yes") or await _confirm(client, session_id, screen)
        if is_confirmed:
            async with show_progress(screen, "Deleting"):
                await client.delete(session_id)
    if options.as_json:
        screen.json({"session_id": session_id, "deleted": is_confirmed})
    else:
        screen.line("The session and its history are deleted" if is_confirmed else "Nothing was deleted")
        if is_confirmed:
            screen.note(_NOT_DELETED)
    return ExitCode.OK


async def _confirm(client: Client, session_id: str, screen: Screen) -> bool:
    """Ask a person for confirmation.

    Raises:
        CommandFailed: there is no terminal to ask on, or no such session.
    """
    summary = await find_summary(client, session_id)
    if not can_ask():
        raise CommandFailed("No terminal to ask on: add --yes to delete it", ExitCode.INVALID_ARGUMENTS)
    if summary.status == "active":
        screen.note("Its agent is working and will be ended")
    called = one_line(summary.name or summary.last_message_preview, 60)
    keyboard = Keyboard()
    keyboard.discard_input()
    screen.ask(f"Delete {short_id(session_id)} ({called}) and its whole history? [y/N] ")
    answer = await keyboard.line()
    screen.typed()
    return (answer or "").strip().lower() in ("y", "yes")


async def search(options: CommandOptions) -> int:
    screen = standard_screen()
    async with connected(options, screen, doing="Searching") as client:
        within = options.text("session")
        found = await client.search(
            " ".join(options.texts("query")),
            session_id=await find_session(client, within) if within else "",
            limit=options.number("limit"),
            offset=options.number("offset"),
        )
    if options.as_json:
        hits = [_hit_json(hit) for hit in found.hits]
        screen.json({"hits": hits, "total": found.total, "incomplete": found.incomplete}, indent=2)
        return ExitCode.OK
    if found.hits:
        for line in hit_lines(found.hits, screen.width):
            screen.line(line)
    else:
        screen.line("No matches")
    shown = options.number("offset") + len(found.hits)
    if found.hits and shown < found.total:
        screen.note(f"{found.total - shown} more: add --offset {shown}")
    if found.incomplete:
        screen.note("The index is not complete yet: search again in a moment")
    return ExitCode.OK


def hit_lines(hits: Sequence[v1.SearchHit], width: int) -> list[str]:
    """Return one line per hit. On a narrow terminal the text is on a line of its own below."""
    rows = [_row(hit, hits) for hit in hits]
    beside = sum(2 + max(columns(row[index]) for row in (_HEADINGS, *rows)) for index in range(3))
    if width - beside >= _LEAST_TEXT:
        return table(_HEADINGS, rows, width)
    lines: list[str] = []
    for session, at, who, text in rows:
        session_id, _, called = session.partition(" ")
        lines.append(one_line(" · ".join(filter(None, (session_id, who, at, called))), width))
        lines += [f"  {line}" for line in wrapped(text, width - 2)]
    return lines


def _row(hit: v1.SearchHit, page: Sequence[v1.SearchHit]) -> list[str]:
    short = short_id(hit.session_id)
    alone = all(other.session_id == hit.session_id for other in page if other.session_id.startswith(short))
    called = one_line(hit.session_name, 20)
    at = hit.timestamp.ToDatetime(UTC) if hit.timestamp.seconds else datetime.fromtimestamp(0, UTC)
    name = " ".join(filter(None, (short if alone else hit.session_id, called)))
    return [name, at.astimezone().strftime("%Y-%m-%d %H:%M"), hit.speaker, hit.excerpt]


def _hit_json(hit: v1.SearchHit) -> dict[str, object]:
    return {
        "session_id": hit.session_id,
        "session_name": hit.session_name,
        "sequence": hit.sequence,
        "timestamp": hit.timestamp.ToJsonString(),
        "speaker": hit.speaker,
        "excerpt": hit.excerpt,
    }
