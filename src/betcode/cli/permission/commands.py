"""`betcode permission list` and `answer`: the pending prompts of all sessions."""

from collections.abc import Sequence
from datetime import UTC, datetime

from betcode.cli.core.connect import connected
from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.cli.core.options import CommandOptions
from betcode.cli.permission.answer import Answers, answer_from
from betcode.cli.permission.answer_hint import answer_hint
from betcode.cli.permission.rendering import HEADINGS, SPARE, pending_json, row, short_request_ids
from betcode.cli.session.lookup import find_session, find_summary
from betcode.cli.terminal.console import Screen, standard_screen
from betcode.cli.terminal.table import table
from betcode.client import Client
from betcode.domain.events.display import struct_of
from betcode.v1 import agent_pb2 as v1
from betcode.wording.ids import short_id
from betcode.wording.pending import tool_of, what_of
from betcode.wording.prompts import asks_each_time
from betcode.wording.render import telling_input
from betcode.wording.terminal_text import one_line

_WHAT = 100
_DECISION_TEXTS = {
    v1.ALLOW_ONCE: "Allowed",
    v1.ALLOW_SESSION: "Allowed for the rest of the session",
    v1.ALLOW_WITH_EDIT: "Allowed with the changed input",
    v1.DENY: "Denied",
    v1.DENY_WITH_INTERRUPT: "Denied; the turn is stopped",
}


async def list_pending(options: CommandOptions) -> int:
    screen = standard_screen()
    async with connected(options, screen) as client:
        session = options.text("session")
        prompts = await client.pending(await find_session(client, session) if session else "")
    if options.as_json:
        screen.json({"prompts": [pending_json(one) for one in prompts]}, indent=2)
        return ExitCode.OK
    if not prompts:
        screen.line("No pending prompts")
        return ExitCode.OK
    now = datetime.now(UTC)
    short = short_request_ids(one.request_id for one in prompts)
    rows = [row(one, short[one.request_id], now) for one in prompts]
    for line in table(HEADINGS, rows, screen.width, spare=SPARE):
        screen.line(line)
    screen.note("Answer with: betcode permission answer ID --allow, or --deny; see: betcode permission answer --help")
    return ExitCode.OK


async def answer(options: CommandOptions) -> int:
    screen = standard_screen()
    async with connected(options, screen) as client:
        given = options.text("id")
        prompt = find_prompt(await client.pending(), given)
        request_id = given if prompt is None else prompt.request_id
        said = answer_from(options, prompt)
        run_state = await _run_state(client, prompt)
        if isinstance(said, Answers):
            return await _answer_questions(options, screen, client, request_id, said, prompt, run_state)
        done = await client.answer(request_id, said, equal_prompts=options.flag("equal"))
    if options.as_json:
        screen.json(
            {
                "request_id": request_id,
                "session_id": prompt.session_id if prompt is not None else None,
                "decision": v1.PermissionDecision.Name(said.decision),
                "already_answered": done.already_answered,
                "also_answered": list(done.also_answered),
            }
        )
        return ExitCode.OK
    before = " (already answered the same way)" if done.already_answered else ""
    about = f": {tool_of(prompt)} {_what(prompt, said)}".rstrip() if prompt is not None else ""
    screen.line(f"{_DECISION_TEXTS[said.decision]}{about}{before}")
    if prompt is not None and said.decision == v1.ALLOW_SESSION and asks_each_time(prompt.permission):
        screen.note(f"Similar calls still require an answer: {prompt.permission.deciding_rule}")
    if done.also_answered:
        screen.line(f"Equal prompts also answered: {len(done.also_answered)}")
    if prompt is not None:
        screen.note(answer_hint(prompt, said.decision, run_state))
        if said.decision == v1.ALLOW_SESSION:
            screen.note(f"Revoke it with: betcode session grants {short_id(prompt.session_id)} --clear")
    return ExitCode.OK


def _what(prompt: v1.PendingPrompt, said: v1.PermissionResponse) -> str:
    """Return the subject of the decision: after an edit, the edited command."""
    if said.decision != v1.ALLOW_WITH_EDIT:
        return one_line(what_of(prompt), _WHAT)
    now = v1.PermissionRequest(input=struct_of(said.updated_input_json), description=said.updated_input_json)
    return telling_input(now, _WHAT)


async def _answer_questions(
    options: CommandOptions,
    screen: Screen,
    client: Client,
    request_id: str,
    said: Answers,
    prompt: v1.PendingPrompt | None,
    run_state: str,
) -> int:
    done = await client.answer_question(request_id, said.given)
    if options.as_json:
        screen.json(
            {
                "request_id": request_id,
                "answers": dict(said.given),
                "already_answered": done.already_answered,
                "group_complete": done.group_complete,
            }
        )
        return ExitCode.OK
    before = " (already answered the same way)" if done.already_answered else ""
    for question, text in said.given.items():
        screen.line(f"{question} {text}{before}")
    if not done.group_complete:
        screen.line("Saved. The agent continues when all questions are answered: betcode permission list")
    elif prompt is not None:
        screen.note(answer_hint(prompt, v1.ALLOW_ONCE, run_state))
    return ExitCode.OK


async def _run_state(client: Client, prompt: v1.PendingPrompt | None) -> str:
    """Return the state of the session's run, if the agent of the prompt has ended."""
    if prompt is None or not prompt.agent_is_gone:
        return ""
    return (await find_summary(client, prompt.session_id)).run_state


def find_prompt(prompts: Sequence[v1.PendingPrompt], text: str) -> v1.PendingPrompt | None:
    """Find the open prompt by its id or a unique prefix; None if there is none. A final # marks a complete id.

    Raises:
        CommandFailed: the prefix is ambiguous.
    """
    group, is_whole, _ = text.partition("#")
    same = [one for one in prompts if one.request_id == group]
    found = [one for one in prompts if group and one.request_id.startswith(group)]
    if same and is_whole:
        return same[0]
    if len(found) > 1:
        few = ", ".join(one.request_id for one in sorted(found, key=lambda one: one.request_id)[:3])
        # Agents choose the ids: one id may equal the short form of another.
        more = f"give more of the id, or {group}# for the first" if same else "give more of the id"
        raise CommandFailed(
            f"{len(found)} prompt ids begin with {text!r} ({few}{', …' if len(found) > 3 else ''}): {more}",
            ExitCode.INVALID_ARGUMENTS,
        )
    return found[0] if found else None
