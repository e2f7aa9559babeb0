"""`betcode permission watch`: show new prompts of all sessions and answer them with one key."""

import math
from contextlib import aclosing

import anyio
from anyio.abc import ObjectSendStream
from anyio.streams.memory import MemoryObjectReceiveStream

from betcode.cli.core.connect import connected
from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.cli.core.options import CommandOptions
from betcode.cli.core.race import first_of
from betcode.cli.permission.one_key import Keys, Quit, Skip, Write, keys_line, quits, understand_key
from betcode.cli.permission.rendering import pending_json
from betcode.cli.run.parked_prompts import was_denied
from betcode.cli.session.lookup import find_session
from betcode.cli.terminal.console import Screen, standard_screen
from betcode.cli.terminal.keyboard import can_ask
from betcode.cli.terminal.link_notes import LinkNotes
from betcode.cli.terminal.prompt_question import edited
from betcode.client import Client, ClientError
from betcode.domain.error_codes import ErrorCode
from betcode.v1 import agent_pb2 as v1
from betcode.wording.ids import short_id
from betcode.wording.prompts import (
    Deny,
    DenyAndStop,
    Edit,
    OpenPrompts,
    Permission,
    Prompt,
    PromptAnswer,
    ShowAll,
    ShowChoices,
    send_answer,
    understand,
)

SEEN_AFTER_S = 0.7
_NO_TERMINAL = (
    "permission watch asks on a terminal, and there is none. Use `betcode permission watch --json` to follow changes, "
    "`betcode permission list` to see what is pending, `betcode permission answer ID` to answer"
)


async def watch(options: CommandOptions) -> int:
    if not options.as_json and not can_ask():
        raise CommandFailed(_NO_TERMINAL, ExitCode.INVALID_ARGUMENTS)
    screen = standard_screen()
    async with connected(options, screen) as client:
        session = options.text("session")
        session_id = await find_session(client, session) if session else ""
        watcher = PermissionWatcher(client, screen, as_json=options.as_json)
        await watcher.run(session_id)
    return ExitCode.OK


class PermissionWatcher:
    """Asks for one answer after the other on a terminal, or prints every change as JSON."""

    def __init__(self, client: Client, screen: Screen, *, as_json: bool) -> None:
        self._client = client
        self._screen = screen
        self._as_json = as_json
        self._open_prompts = OpenPrompts()
        self._keys = Keys()
        self._where: dict[str, str] = {}  # the name of a prompt's session
        self._answered_here: set[str] = set()

    async def run(self, session_id: str) -> None:
        """Watch until the person quits, the session ends, or the daemon refuses."""
        to_ask, asked = anyio.create_memory_object_stream[Prompt](math.inf)
        async with to_ask, asked, anyio.create_task_group() as tasks:
            if not self._as_json:
                tasks.start_soon(self._ask_all, asked, tasks.cancel_scope)
            notes = LinkNotes(self._screen.note)
            async with aclosing(self._client.watch_pending(session_id, on_link=notes)) as changes:
                async for change in changes:
                    await self._see(change, to_ask)
            tasks.cancel_scope.cancel()

    async def _see(self, change: v1.PendingChange, to_ask: ObjectSendStream[Prompt]) -> None:
        match change.WhichOneof("change"):
            case "opened":
                await self._opened(change.opened, to_ask, was_open_before=change.was_open_before)
            case "resolved":
                self._resolved(change)
            case "all_told" if not self._as_json and not self._open_prompts.all:
                self._screen.note("Nothing pending. q quits")
            case _:
                pass

    async def _opened(self, one: v1.PendingPrompt, to_ask: ObjectSendStream[Prompt], *, was_open_before: bool) -> None:
        self._where[one.request_id] = one.session_name or short_id(one.session_id)
        if self._as_json:
            self._screen.json({"type": "opened", "was_open_before": was_open_before} | pending_json(one))
        before = self._open_prompts.all
        self._open_prompts.add_pending([one])
        if not self._as_json:
            for prompt in self._open_prompts.all[len(before) :]:
                await to_ask.send(prompt)

    def _resolved(self, change: v1.PendingChange) -> None:
        resolved = change.resolved
        self._open_prompts.forget(resolved.request_id)
        where = self._where.pop(resolved.request_id, short_id(change.session_id))
        if self._as_json:
            decision = v1.PermissionDecision.Name(resolved.decision) if resolved.decision else None
            self._screen.json(
                {"type": "resolved", "request_id": resolved.request_id, "session_id": change.session_id}
                | {"resolution": resolved.resolution, "decision": decision, "client_id": resolved.client_id}
                | {"message": resolved.message, "grant_pattern": resolved.grant_pattern}
            )
            return
        if resolved.request_id in self._answered_here:
            self._answered_here.discard(resolved.request_id)
            return
        how = ("denied" if was_denied(resolved) else "allowed") if resolved.decision else resolved.resolution
        self._screen.note(
            f"{resolved.request_id} {where}: {how}" + (f" by {resolved.client_id}" if resolved.client_id else "")
        )

    async def _ask_all(self, asked: MemoryObjectReceiveStream[Prompt], scope: anyio.CancelScope) -> None:
        while (prompt := await self._next(asked)) is not None:
            while self._open_prompts.has(prompt):
                typed = await self._ask(prompt)
                if isinstance(typed, Quit):
                    scope.cancel()
                    return
                if typed is None or isinstance(typed, Skip) or await self._send_answer(prompt, typed):
                    break
            if not asked.statistics().current_buffer_used:
                self._screen.note("Nothing else pending. q quits")
        scope.cancel()

    async def _next(self, asked: MemoryObjectReceiveStream[Prompt]) -> Prompt | None:
        """Return the next prompt to ask; None if the person quits first."""

        async def quit_by_key() -> None:
            while not quits(await self._keys.key()):
                pass

        return await first_of(quit_by_key, asked.receive)

    async def _ask(self, prompt: Prompt) -> PromptAnswer | Skip | Quit | None:
        """Ask for the answer; None if the prompt is no longer open."""
        self._show(prompt, whole=False)
        await self._ignore_early_keys(prompt)
        while self._open_prompts.has(prompt):
            self._screen.ask(keys_line(prompt))
            key = await self._while_open(prompt, by_key=True)
            if key is None:
                return None
            match understand_key(prompt, key):
                case None:
                    pass  # ask again
                case ShowAll():
                    self._show(prompt, whole=True)
                case Write():
                    answer = await self._written(prompt)
                    if answer is not None:
                        return answer
                case Skip():
                    self._screen.note("Left pending")
                    return Skip()
                case answer:
                    return answer
        return None

    async def _ignore_early_keys(self, prompt: Prompt) -> None:
        """Ignore keys for a moment: they were meant for the text that was shown before."""
        with anyio.move_on_after(SEEN_AFTER_S):
            await self._open_prompts.gone(prompt)
        self._keys.discard_input()

    async def _written(self, prompt: Prompt) -> PromptAnswer | None:
        """Read an answer as a line, as in a conversation; None to ask again."""
        self._screen.ask(prompt.question)
        line = await self._while_open(prompt, by_key=False)
        self._screen.typed()
        match understand(prompt, line) if line else None:
            case None:
                self._screen.note(prompt.again)
                return None
            case ShowAll() | ShowChoices():
                return None
            case Edit(text):
                return await edited(prompt, text, self._screen)
            case answer:
                return answer

    async def _while_open(self, prompt: Prompt, *, by_key: bool) -> str | None:
        return await first_of(lambda: self._open_prompts.gone(prompt), self._keys.key if by_key else self._keys.line)

    def _show(self, prompt: Prompt, *, whole: bool) -> None:
        self._screen.note(f"── {self._where.get(prompt.request_id, '')}")
        if isinstance(prompt, Permission):
            lines = prompt.lines(whole=whole)
            lines += [line.replace("    s ", "    ", 1) for line in prompt.choices()]
        else:
            lines = prompt.lines()
        for line in lines:
            self._screen.show(line)
        self._keys.discard_input()

    async def _send_answer(self, prompt: Prompt, typed: PromptAnswer) -> bool:
        """Send the answer; return whether the prompt is settled."""
        self._answered_here.add(prompt.request_id)
        try:
            await send_answer(self._client, prompt, typed)
        except ClientError as error:
            self._answered_here.discard(prompt.request_id)
            self._screen.note(error.message)
            return error.code != ErrorCode.INVALID_REQUEST
        if isinstance(typed, Deny | DenyAndStop):
            self._open_prompts.forget(prompt.request_id)  # this also settles the other questions of its group
        self._open_prompts.done(prompt)
        self._screen.note("Answer sent")
        return True
