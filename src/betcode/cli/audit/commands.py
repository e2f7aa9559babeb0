"""`betcode audit`: list, export and verify the audit log of decisions."""

import csv
import io
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from datetime import UTC
from pathlib import Path

from betcode.cli.core.connect import connected
from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.cli.core.identity import shown_client
from betcode.cli.core.options import CommandOptions
from betcode.cli.core.timestamps import moment_ns
from betcode.cli.daemon.control import serves
from betcode.cli.session.history_commands import write_file
from betcode.cli.session.lookup import find_session
from betcode.cli.terminal.console import standard_screen
from betcode.cli.terminal.table import table
from betcode.client import Client, ClientIdentity, open_client
from betcode.domain.errors import DatabaseUnusable
from betcode.domain.permissions.audit import AuditFilter, AuditHead, AuditVerification
from betcode.domain.permissions.decision_text import DECIDED
from betcode.domain.values.secrets import redacted
from betcode.v1 import audit_pb2 as v1
from betcode.wording.ids import short_id

_HEADINGS = ("NUMBER", "TIME", "SESSION", "OUTCOME", "BY", "TOOL", "WHY")
_SPARE = ("NUMBER", "SESSION", "TIME")
_FIELDS = (
    *("number", "time", "session_id", "request_id", "tool_name", "input_sha256", "what", "outcome", "decided_by"),
    *("rule", "client", "peer", "note", "hash"),
)
# Written by agents and people, so they may contain secrets
_FREE = frozenset({"rule", "client", "peer", "note", "tool_name", "request_id"})
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_PROGRESS_S = 1.0


async def list_audit(options: CommandOptions) -> int:
    screen = standard_screen()
    async with connected(options, screen, doing="Reading the audit") as client:
        which = await _filter_from(client, options, options.number("limit"))
        async with aclosing(client.audit.records(which)) as records:
            found = [one async for one in records]
    if options.as_json:
        screen.json({"records": [record_json(one) for one in found]}, indent=2)
        return ExitCode.OK
    if not found:
        screen.line("No decisions found")
        return ExitCode.OK
    for line in table(_HEADINGS, [_row(one) for one in found], screen.width, spare=_SPARE):
        screen.line(line)
    if which.newest and len(found) == which.newest:
        screen.note(f"Only the newest {which.newest} are shown: add --limit 0 for all")
    return ExitCode.OK


async def export(options: CommandOptions) -> int:
    screen = standard_screen()
    file = Path(options.text("output")) if options.text("output") else None
    as_csv = (options.text("format") or ("csv" if file and file.suffix.lower() == ".csv" else "jsonl")) == "csv"
    if options.as_json and file is None and as_csv:
        raise CommandFailed("--json cannot print CSV: give an output file with -o", ExitCode.INVALID_ARGUMENTS)
    async with connected(options, screen, doing="Exporting" if file is not None else "") as client:
        records = client.audit.records(await _filter_from(client, options, 0))
        pieces = _csv(records) if as_csv else _json_lines(records)
        if file is not None:
            size = await write_file(pieces, file)
            if options.as_json:
                screen.json({"file": str(file), "format": "csv" if as_csv else "jsonl", "bytes": size})
            else:
                screen.note(f"Written to {file}")
            return ExitCode.OK
        async with aclosing(pieces):
            async for piece in pieces:
                screen.answer(piece.decode())
    return ExitCode.OK


async def verify(options: CommandOptions) -> int:
    screen = standard_screen()
    earlier_head = _parse_head(options.text("head"))
    reported_at = time.monotonic()
    result = AuditVerification()
    async with _steps(options, earlier_head) as steps:
        async for result in steps:
            if time.monotonic() - reported_at > _PROGRESS_S and not result.complete:
                reported_at = time.monotonic()
                screen.note(f"{result.rows:,} of {result.total:,} entries checked")
    if not result.complete:
        raise CommandFailed(
            "The daemon stopped before all entries were checked. Run the command again", ExitCode.NO_CONNECTION
        )
    head = f"{result.rows}:{result.head.hex()}"
    if options.as_json:
        broken = None if result.broken is None else {"number": result.broken, "reason": result.why}
        screen.json({"whole": broken is None, "rows": result.rows, "head": head, "broken": broken}, indent=2)
    elif result.broken is None:
        screen.line(f"{result.rows:,} entries verified, chain intact")
        screen.line(f"Head: {head}")
        if earlier_head is None:
            screen.note("Store the head elsewhere: `betcode audit verify --head HEAD` then detects a truncated log")
    else:
        screen.line(f"Broken: {result.why}")
        screen.line(f"Intact up to: {head}")
    return ExitCode.OK if result.broken is None else ExitCode.AGENT_ERROR


@asynccontextmanager
async def _steps(
    options: CommandOptions, earlier_head: AuditHead | None
) -> AsyncIterator[AsyncGenerator[AuditVerification, None]]:
    """Yield the steps of the verification, from a running daemon or else from the database file.

    No daemon is started for this.
    """
    if await serves(options.paths):
        async with (
            open_client(options.paths, ClientIdentity(client_type="cli")) as client,
            aclosing(_from_daemon(client, earlier_head)) as steps,
        ):
            yield steps
    else:
        async with aclosing(_from_file(options.paths.database, earlier_head)) as steps:
            yield steps


async def _from_daemon(client: Client, earlier_head: AuditHead | None) -> AsyncGenerator[AuditVerification, None]:
    async with aclosing(client.audit.verify(earlier_head)) as steps:
        async for one in steps:
            broken = one.broken_number if one.HasField("broken_number") else None
            yield AuditVerification(one.checked, one.total, one.head_hash, one.complete, broken, one.broken_reason)


async def _from_file(database: Path, earlier_head: AuditHead | None) -> AsyncGenerator[AuditVerification, None]:
    from betcode.storage import check_file  # imported here: no other path of this command reads the database

    try:
        for checked in check_file(database, earlier_head):
            yield checked
    except DatabaseUnusable as trouble:
        raise CommandFailed(trouble.message, ExitCode.INTERNAL) from trouble


async def _filter_from(client: Client, options: CommandOptions, newest: int) -> AuditFilter:
    session, now_ns, usual = options.text("session"), time.time_ns(), AuditFilter()
    since, until = options.text("since"), options.text("until")
    return AuditFilter(
        session_id=await find_session(client, session) if session else "",
        since_ns=moment_ns("--since", since, now_ns) if since else usual.since_ns,
        until_ns=moment_ns("--until", until, now_ns) if until else usual.until_ns,
        newest=newest,
    )


def _parse_head(text: str) -> AuditHead | None:
    number, _, digest = text.partition(":")
    return AuditHead(int(number), bytes.fromhex(digest)) if text else None


def record_json(one: v1.AuditRecord) -> dict[str, object]:
    """Return one row with every field, with secrets removed."""
    values: dict[str, object] = {name: getattr(one, name) for name in _FIELDS}
    hidden = {name: redacted(getattr(one, name)) for name in _FREE}
    return values | hidden | {"time": one.time.ToJsonString(), "hash": one.hash.hex()}


async def _json_lines(records: AsyncGenerator[v1.AuditRecord, None]) -> AsyncGenerator[bytes, None]:
    async with aclosing(records):
        async for one in records:
            yield json.dumps(record_json(one), ensure_ascii=False).encode() + b"\n"


async def _csv(records: AsyncGenerator[v1.AuditRecord, None]) -> AsyncGenerator[bytes, None]:
    yield (",".join(_FIELDS) + "\r\n").encode()
    async with aclosing(records):
        async for one in records:
            line = io.StringIO()
            csv.writer(line).writerow([_cell(value) for value in record_json(one).values()])
            yield line.getvalue().encode()


def _cell(value: object) -> str:
    """Return the text such that no spreadsheet reads it as a formula: agents and clients choose some of it."""
    text = str(value)
    return f"'{text}" if text.startswith(_FORMULA) else text


def _note_text(note: str) -> str:
    """Return a note, with the API name of a decision at its beginning replaced by a word."""
    name, comma, rest = note.partition(",")
    return f"{DECIDED.get(name, name)}{comma}{rest}"


def _row(one: v1.AuditRecord) -> list[str]:
    at = one.time.ToDatetime(UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    by = shown_client(one.client) if one.decided_by == "person" and one.client else one.decided_by
    if one.decided_by == "rule" and not one.rule:
        by = "no rule"
    tool = one.tool_name or one.what
    why = " ".join(
        filter(None, (redacted(one.rule or _note_text(one.note)), f"[{one.peer}]" if one.decided_by == "gate" else ""))
    )
    return [str(one.number), at, short_id(one.session_id), one.outcome, redacted(by), tool, why]
