"""`betcode cassette save`: show a session's journals as one scrubbed recording, then save it."""

import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import anyio.to_thread

from betcode.cli.core.connect import connected
from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.cli.core.options import CommandOptions
from betcode.cli.core.remote_options import refuse_remote
from betcode.cli.session.history_commands import write_file
from betcode.cli.session.lookup import find_session, find_summary
from betcode.cli.terminal.console import Screen, standard_screen
from betcode.cli.terminal.keyboard import Keyboard, can_ask
from betcode.domain.errors import DatabaseUnusable
from betcode.domain.runs.cassette import ADDRESSES, PATHS, SECRETS, CassetteRow, Scrubbed, described, scrub
from betcode.providers.specs import DEFAULT, FALLBACK, SPECS
from betcode.wording.ids import short_id
from betcode.wording.sizes import readable
from betcode.wording.terminal_text import in_a_line

_DIRECTIONS = frozenset(("in", "out", "err", "exit"))
_SLICE_BYTES = 4 * 1024 * 1024
_LINE_BYTES = 64 * 1024 * 1024
_SHOWN_LINES = 40
_SHOWN_CHARACTERS = 1_000  # per row


@dataclass(slots=True)
class _Recording:
    """The rows of all runs of a session, in order."""

    rows: list[CassetteRow] = field(default_factory=list)
    runs: int = 0
    missing: int = 0  # runs whose journals are missing, completely or in part


async def save(options: CommandOptions) -> int:
    refuse_remote(options.paths)
    screen = standard_screen()
    async with connected(options, screen) as client:
        session_id = await find_session(client, options.text("session"))
        summary = await find_summary(client, session_id)
    if summary.provider not in SPECS or not SPECS[summary.provider].is_playable:
        raise CommandFailed(
            f"The agent of this session is {in_a_line(summary.provider)}: "
            f"only recordings of {DEFAULT.title} can be played",
            ExitCode.INVALID_ARGUMENTS,
        )
    file = Path(options.text("output") or f"{short_id(session_id)}.cassette.ndjson").expanduser()
    if file.exists() and not options.flag("force"):
        raise CommandFailed(f"{file} already exists: choose another file, or add --force", ExitCode.INVALID_ARGUMENTS)
    recording = await anyio.to_thread.run_sync(_read_recording, options, session_id)
    scrubbed = await anyio.to_thread.run_sync(_scrubbed, recording, summary.working_directory)
    if not options.as_json:
        _preview(screen, recording, scrubbed, whole=options.flag("all"))
    is_confirmed = options.flag("yes") or await _confirm(options, screen, file)
    size = await write_file(_pieces(scrubbed), file) if is_confirmed else 0
    if options.as_json:
        facts = {"session_id": session_id, "file": str(file), "rows": len(scrubbed.rows), "bytes": size}
        replaced = {name: scrubbed.replaced[name] for name in (SECRETS, PATHS, ADDRESSES)}
        screen.json({**facts, "runs": recording.runs, "missing_runs": recording.missing, "replaced": replaced})
    elif is_confirmed:
        screen.line(str(file))
        screen.note(
            f"{readable(size)}. Play it: "
            f"BETCODE_DEMO_CASSETTE={file.absolute()} betcode run --provider {FALLBACK.name} go"
        )
    else:
        screen.line("Nothing was saved")
    return ExitCode.OK


def _read_recording(options: CommandOptions, session_id: str) -> _Recording:
    """Read the journals of the session. Raises CommandFailed if none exist any more."""
    from betcode.storage import runs_of_session  # imported here: no other path of this command reads the database

    try:
        runs = runs_of_session(options.paths.database, session_id)
    except DatabaseUnusable as trouble:
        raise CommandFailed(trouble.message, ExitCode.INTERNAL) from trouble
    if not runs:
        raise CommandFailed(
            "No agent has run in this session yet: there is nothing to save", ExitCode.INVALID_ARGUMENTS
        )
    recording = _Recording()
    for run_id in runs:
        _add_run(recording, options.paths.runs / run_id)
    if not recording.rows:
        raise CommandFailed(
            "The journals of this session were deleted (settings journals.keep and journals.limit)",
            ExitCode.INVALID_ARGUMENTS,
        )
    return recording


def _add_run(recording: _Recording, directory: Path) -> None:
    from betcode.holder.journal_reader import JournalReader
    from betcode.holder.segments import segment_starts

    starts = segment_starts(directory) if directory.is_dir() else []
    if not starts or starts[0] != 0:
        recording.missing += 1
        return
    begun_at = recording.rows[-1].at_s if recording.rows else 0.0
    began_ns: int | None = None
    reader = JournalReader(directory, 0, line_limit_bytes=_LINE_BYTES)
    has_open_turn = False
    try:
        while records := reader.read(_SLICE_BYTES):
            for record in records:
                began_ns = record.mono_ns if began_ns is None else began_ns
                at_s = begun_at + max(0, record.mono_ns - began_ns) / 1e9
                direction = record.kind.value
                line = record.data.decode("utf-8", "replace").rstrip("\n")
                has_open_turn = _is_turn_open(direction, line, before=has_open_turn)
                # Skip an agent that ended between turns and was resumed later: it is not part of the conversation.
                if direction in _DIRECTIONS and (direction != "exit" or has_open_turn):
                    recording.rows.append(CassetteRow(at_s, direction, line))
    finally:
        reader.close()
    recording.runs += 1


def _is_turn_open(direction: str, line: str, *, before: bool) -> bool:
    if direction == "in" and '"user"' in line:
        return before or _type_of(line) == "user"
    if direction == "out" and before and '"result"' in line:
        return _type_of(line) != "result"
    return before


def _type_of(line: str) -> str:
    try:
        frame = json.loads(line)
    except (ValueError, RecursionError):
        return ""
    return str(frame.get("type", "")) if isinstance(frame, dict) else ""


def _scrubbed(recording: _Recording, project: str) -> Scrubbed:
    return scrub(recording.rows, home=str(Path.home()), project=project)


def _preview(screen: Screen, recording: _Recording, scrubbed: Scrubbed, *, whole: bool) -> None:
    """Print the conversation of the recording; with `whole`, its lines as well."""
    lines = [row.line for row in scrubbed.rows] if whole else list(filter(None, map(described, scrubbed.rows)))
    shown = lines if whole else lines[:_SHOWN_LINES]
    for line in shown:
        screen.show(in_a_line(line if whole or len(line) <= _SHOWN_CHARACTERS else f"{line[:_SHOWN_CHARACTERS]}…"))
    if not whole:
        hidden = f"{len(lines) - len(shown)} more, and " if len(lines) > len(shown) else ""
        screen.note(f"--all shows {hidden}every line as it is written")
    counts = ", ".join(f"{scrubbed.replaced[name]} {name}" for name in (SECRETS, PATHS, ADDRESSES))
    screen.note(f"{len(scrubbed.rows)} lines of {recording.runs} agent runs; replaced: {counts}")
    if recording.missing:
        screen.note(f"{recording.missing} runs are missing, because their journals were deleted")
    screen.note("Likely secrets are removed. Check the rest before you share it: it contains the whole conversation")


async def _confirm(options: CommandOptions, screen: Screen, file: Path) -> bool:
    """Ask whether to save the recording. Raises CommandFailed if there is no terminal to ask on."""
    if options.as_json or not can_ask():
        raise CommandFailed("No terminal to ask on: add --yes to save it", ExitCode.INVALID_ARGUMENTS)
    keyboard = Keyboard()
    keyboard.discard_input()
    screen.ask(f"Save it as {file}? [y/N] ")
    answer = await keyboard.line()
    screen.typed()
    return (answer or "").strip().lower() in ("y", "yes")


async def _pieces(scrubbed: Scrubbed) -> AsyncGenerator[bytes, None]:
    for row in scrubbed.rows:
        yield (row.as_json() + "\n").encode()
