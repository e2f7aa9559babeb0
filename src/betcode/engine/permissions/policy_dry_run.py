"""Compare proposed rules with the current ones on every recorded tool call."""

from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

import anyio.to_thread

from betcode.domain.errors import InvalidRequest
from betcode.domain.store.rows import SessionRow
from betcode.domain.store.store_ports import SessionFilter
from betcode.domain.values.identifiers import Seq
from betcode.engine.context import EngineContext
from betcode.engine.core.counters import KIND_OF
from betcode.rules import Layer, Lists, Rules, ScreenOutcome, SettingsText, ToolUse, Verdict, beside_permissions, screen
from betcode.v1.agent_pb2 import AgentEvent

MOST_CHANGED = 1_000  # different uses that are remembered
_PAGE = 200
_WINDOW = 20_000  # events looked through at a time: no other reader waits long
_KIND = KIND_OF["tool_call_start"]
_INPUT = "tool_call_start.input_json"


@dataclass(frozen=True, slots=True)
class RecordedUse:
    tool_name: str
    input_json: str
    at_ns: int


@dataclass(slots=True)
class ChangedUse:
    """Equal uses in one directory whose outcome would be another."""

    tool_name: str
    input_json: str
    directory: str
    before: Verdict
    after: Verdict
    count: int = 0
    session: str = ""  # where it was last
    last_ns: int = 0


@dataclass(slots=True)
class DryRunResult:
    """What came of it, so far."""

    problems: tuple[str, ...] = ()
    sessions: int = 0
    uses: int = 0
    unknown: int = 0
    counts: Counter[tuple[ScreenOutcome, ScreenOutcome]] = field(default_factory=Counter)
    changed: dict[tuple[str, str, str], ChangedUse] = field(default_factory=dict)
    changed_not_kept: int = 0


async def try_rules(context: EngineContext, text: str, path: str, since_ns: int) -> AsyncGenerator[DryRunResult, None]:
    """The same object again and again as it grows; the last time it is whole. Hold it in `aclosing`.

    Raises:
        InvalidRequest: the text is no settings file.
    """
    file = SettingsText(Layer.USER, path, text)
    tried = DryRunResult(await anyio.to_thread.run_sync(_problems, context, file))
    offset = 0
    while True:
        rows, _ = await context.store.list_sessions(SessionFilter(limit=_PAGE, offset=offset))
        for row in rows:
            if row.state.updated_ns < since_ns:
                continue
            await _try_session(context, row, file, since_ns, tried)
            yield tried
        offset += _PAGE
        if len(rows) < _PAGE:
            break
    yield tried


def _problems(context: EngineContext, file: SettingsText) -> tuple[str, ...]:
    lists: Lists = context.rules.book("/").instead([file])
    if lists.broken:
        raise InvalidRequest(f"These rules cannot be tried: {lists.problems[0]}")
    return tuple(str(problem) for problem in (*lists.problems, *beside_permissions(file)))


async def _try_session(
    context: EngineContext, row: SessionRow, file: SettingsText, since_ns: int, tried: DryRunResult
) -> None:
    book = context.rules.book(row.new.working_directory, row.new.environment, row.new.allowed_tools)
    await book.refresh()
    others = await anyio.to_thread.run_sync(lambda: book.instead([file]).at(book.place))
    found = 0
    async with aclosing(_recorded(context, row, since_ns, tried)) as batches:
        async for uses in batches:
            found += len(uses)
            # In a thread: taking a command apart takes half a millisecond.
            await anyio.to_thread.run_sync(_compare, uses, book.rules, others, row, tried)
    tried.sessions += bool(found)


async def _recorded(
    context: EngineContext, row: SessionRow, since_ns: int, tried: DryRunResult
) -> AsyncGenerator[Sequence[RecordedUse], None]:
    """Every use once. Those that were asked for are kept whole; of the others an event tells, which may be cut."""
    listed = await context.store.asked_uses(row.key, since_ns)
    asked = {use.tool_use_id or f"#{number}": use for number, use in enumerate(listed)}
    after, last = row.new.forked_at, row.state.last_seq  # what was copied is the other session's
    while after < last:
        until = Seq(min(after + _WINDOW, last))
        uses: list[RecordedUse] = []
        for data in await context.store.events_of_kind(row.key, _KIND, after, until):
            event = AgentEvent.FromString(data)
            started = event.tool_call_start
            whole = asked.pop(started.tool_id, None)
            at_ns = event.timestamp.ToNanoseconds()
            if whole is not None:
                uses.append(RecordedUse(whole.tool_name, whole.input_json, at_ns))
            elif at_ns >= since_ns:
                if any(cut.field == _INPUT for cut in event.cuts):
                    tried.unknown += 1
                else:
                    uses.append(RecordedUse(started.tool_name, started.input_json, at_ns))
        if uses:
            yield uses
        after = until
    if asked:
        yield [RecordedUse(use.tool_name, use.input_json, use.asked_ns) for use in asked.values()]


def _compare(uses: Iterable[RecordedUse], in_force: Rules, others: Rules, row: SessionRow, tried: DryRunResult) -> None:
    known: dict[tuple[str, str], tuple[Verdict, Verdict]] = {}
    for use in uses:
        what = (use.tool_name, use.input_json)
        if what not in known:
            asked = ToolUse.of(use.tool_name, use.input_json)
            known[what] = screen(asked, in_force), screen(asked, others)
        before, after = known[what]
        tried.uses += 1
        tried.counts[before.outcome, after.outcome] += 1
        if before.outcome is not after.outcome:
            _note_change(use, before, after, row, tried)


def _note_change(use: RecordedUse, before: Verdict, after: Verdict, row: SessionRow, tried: DryRunResult) -> None:
    key = (row.new.working_directory, use.tool_name, use.input_json)
    changed = tried.changed.get(key)
    if changed is None:
        if len(tried.changed) >= MOST_CHANGED:
            tried.changed_not_kept += 1
            return
        changed = ChangedUse(use.tool_name, use.input_json, row.new.working_directory, before, after)
        tried.changed[key] = changed
    changed.count += 1
    if use.at_ns >= changed.last_ns:
        changed.last_ns, changed.session = use.at_ns, row.new.session_id
