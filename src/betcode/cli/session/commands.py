"""`betcode session show`, `follow`, `close`, `cancel` and `lock`."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime

from google.protobuf.timestamp_pb2 import Timestamp

from betcode.cli.core.connect import connected
from betcode.cli.core.exit_codes import ExitCode
from betcode.cli.core.options import CommandOptions
from betcode.cli.session.input_lock import who_lines
from betcode.cli.session.list import session_json
from betcode.cli.session.lookup import find_session, find_summary
from betcode.cli.session.transcript import Transcript
from betcode.cli.terminal.console import standard_screen
from betcode.cli.terminal.link_notes import LinkNotes
from betcode.client import Client
from betcode.domain.events.event_json import event_json
from betcode.v1 import agent_pb2 as v1
from betcode.wording.budgets import budget_fact
from betcode.wording.ids import short_id
from betcode.wording.input_lock import called
from betcode.wording.pending import wait_text


async def show(options: CommandOptions) -> int:
    screen = standard_screen()
    async with connected(options, screen) as client:
        summary = await find_summary(client, await find_session(client, options.text("session")))
        history = _history(client, summary, whole=options.flag("all"))
        if options.as_json:
            events = [event_json(event) async for event in history]
            screen.json({"session": session_json(summary), "events": events}, indent=2)
            return ExitCode.OK
        for line in _facts(summary):
            screen.line(line)
        screen.line()
        transcript = Transcript(screen)
        async for event in history:
            transcript.show(event)
        screen.end_answer()
    return ExitCode.OK


async def _history(client: Client, summary: v1.SessionSummary, *, whole: bool) -> AsyncIterator[v1.AgentEvent]:
    """Yield the events stored at this moment. A snapshot replaces compacted events, unless `whole`."""
    if summary.last_sequence == 0:
        return
    async with aclosing(client.follow(summary.id, include_compacted=whole)) as events:
        async for event in events:
            if event.sequence or event.session_info.compacted_before:
                yield event
            if event.sequence >= summary.last_sequence:
                return


def _facts(one: v1.SessionSummary) -> list[str]:
    tokens = f"{one.total_input_tokens:,} in, {one.total_output_tokens:,} out"
    facts = {
        "session": one.id,
        "name": one.name,
        "status": one.status + (f", its agent is {one.run_state}" if one.run_state else ""),
        "failed": one.failure,
        "waits": wait_text(one, datetime.now(UTC)),
        "holds": ", ".join(one.holds),
        "connected": _connected(one),
        "types": _typist(one),
        "agent": " ".join(filter(None, (one.provider, one.model))),
        "directory": one.working_directory,
        "worktree": " ".join(filter(None, (one.worktree_name, one.worktree_id))),
        "created": _local(one.created_at),
        "changed": _local(one.updated_at),
        "messages": str(one.message_count),
        "tokens": tokens,
        "cost": f"${one.total_cost_usd:.4f}" if one.total_cost_usd else "",
        "budget": budget_fact(one.budget, one.budget_use) if one.HasField("budget") else "",
        "forked": f"from {one.forked_from}" if one.forked_from else "",
        "prompts": f"{one.pending_prompts} open: betcode attach {short_id(one.id)}" if one.pending_prompts else "",
        **{f"metadata {key}": value for key, value in one.metadata.items()},
    }
    return [f"{name:10} {value}" for name, value in facts.items() if value]


def _local(at: Timestamp) -> str:
    """Return a point in time on the reader's clock, to the second."""
    return at.ToDatetime(UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _typist(one: v1.SessionSummary) -> str:
    """Return who holds the input lock, by name if the client is listed."""
    for each in one.clients:
        if each.client_id == one.input_lock_client_id:
            return called(each.client_id, each.client_type, each.client_name)
    return one.input_lock_client_id


def _connected(one: v1.SessionSummary) -> str:
    """Return the connected clients; a long list is cut."""
    return "; ".join(who_lines(one, own_id=""))


async def follow(options: CommandOptions) -> int:
    screen = standard_screen()
    transcript = Transcript(screen)
    async with connected(options, screen) as client:
        session_id = await find_session(client, options.text("session"))
        summary = await find_summary(client, session_id) if options.flag("until_idle") else None
        is_open = summary is not None and summary.status == "active"
        if summary is not None and not is_open and summary.last_sequence <= options.number("after"):
            return ExitCode.OK
        after = options.number("after")
        async with aclosing(client.follow(session_id, after, on_link=LinkNotes(screen.note))) as events:
            async for event in events:
                if options.as_json:
                    screen.json(event_json(event))
                else:
                    transcript.show(event)
                if summary is not None:
                    if event.WhichOneof("event") == "status_change":
                        is_open = event.status_change.status != v1.IDLE
                    if not is_open and event.sequence >= summary.last_sequence:
                        break
        screen.end_answer()
    return ExitCode.OK


async def close(options: CommandOptions) -> int:
    screen = standard_screen()
    async with connected(options, screen, doing="Closing the session and its agent") as client:
        session_id = await find_session(client, options.text("session"))
        was_open = await client.close(session_id)
    if options.as_json:
        screen.json({"session_id": session_id, "was_open": was_open})
    else:
        screen.line("The session is closed; its history remains" if was_open else "The session was already closed")
    return ExitCode.OK


async def cancel(options: CommandOptions) -> int:
    screen = standard_screen()
    async with connected(options, screen, doing="Stopping the turn") as client:
        session_id = await find_session(client, options.text("session"))
        done = await client.cancel_turn(session_id, cancel_queued=options.flag("queued"))
    withdrawn = list(done.withdrawn_message_ids)
    if options.as_json:
        screen.json({"session_id": session_id, "was_active": done.was_active, "withdrawn_message_ids": withdrawn})
    else:
        screen.line("The turn is being stopped" if done.was_active else "No turn is open")
        if withdrawn:
            screen.line(f"Queued messages cancelled: {len(withdrawn)}")
    return ExitCode.OK


async def lock(options: CommandOptions) -> int:
    screen = standard_screen()
    async with connected(options, screen, doing="Waiting for its answer") as client:
        session_id = await find_session(client, options.text("session"))
        if (await find_summary(client, session_id)).input_lock_client_id:
            screen.note("Asked the holder of the input lock; waiting for its answer")
        answer = await client.input_lock.request(session_id)
    if options.as_json:
        screen.json(
            {"session_id": session_id, "granted": answer.granted, "previous_holder": answer.previous_holder or None}
        )
    elif answer.granted:
        screen.line(
            "The input lock is released: the next client in line gets it, otherwise the next one to send a message"
        )
    else:
        screen.line("The holder keeps the input lock")
    return ExitCode.OK if answer.granted else ExitCode.PERMISSION_DENIED
