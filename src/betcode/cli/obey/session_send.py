"""`obey session send`: send a message and print only the reply on stdout."""

import signal
import sys
from contextlib import aclosing
from dataclasses import dataclass

import anyio
from anyio.abc import TaskStatus

from betcode.cli.obey.connect import connected, find_session
from betcode.cli.obey.failure import ObeyExit, ObeyFailed
from betcode.cli.obey.input_values import message_of
from betcode.cli.obey.options import ObeyCommandOptions
from betcode.cli.obey.prompt_lines import is_prompt, prompt_lines, request_text
from betcode.cli.obey.records import versioned
from betcode.cli.obey.session_lines import activity_lines
from betcode.cli.terminal.console import Screen, standard_screen
from betcode.cli.terminal.keyboard import can_ask
from betcode.cli.terminal.progress import show_progress
from betcode.client import ClientError
from betcode.client.obey import ObeyClient
from betcode.domain.error_codes import ErrorCode
from obey.local.v1 import local_pb2 as v1

_NOBODY = "no terminal to ask on"


@dataclass(slots=True)
class ReplyReader:
    """Collects the reply to a message, and prints progress and prompts."""

    screen: Screen
    shows_progress: bool
    denies: bool = False  # deny prompts: there is no terminal to ask on
    text: str = ""
    error: str = ""
    tokens_input: int = 0
    tokens_output: int = 0
    is_denied: bool = False  # a prompt was denied because there is no terminal

    def take(self, one: v1.SessionActivityEvent) -> None:
        """Process one activity. Progress is printed for a person who watches, prompts always."""
        self.tokens_input += one.tokens_input
        self.tokens_output += one.tokens_output
        if one.type == v1.ACTIVITY_TYPE_COMPLETION:
            self.text = one.content
        elif is_prompt(one):
            for line in [] if self.denies else prompt_lines(one):
                self.screen.show(line)
        else:
            if one.type == v1.ACTIVITY_TYPE_ERROR:
                self.error = one.content
            if self.shows_progress:
                for line in activity_lines(one):
                    self.screen.note(line)


def send(options: ObeyCommandOptions) -> int:
    message = message_of(options)  # before the event loop: it may read stdin, and Ctrl-C must interrupt that
    return anyio.run(_send, options, message)


async def _send(options: ObeyCommandOptions, message: str) -> int:
    screen = standard_screen(colour=options.colour)
    denies = (options.text("on_ask") or ("wait" if can_ask() else "deny")) == "deny"
    reply = ReplyReader(screen, shows_progress=sys.stderr.isatty(), denies=denies)
    async with connected(options, screen) as client:
        session = await find_session(client, options)
        if not await _to_its_end(client, session.id, message, reply):
            screen.show(f"Detached; the turn continues. Watch it with: obey session watch {session.id}")
            return -signal.SIGINT
    is_error = bool(reply.error) and not reply.text
    if options.as_json:
        facts = {
            "session_id": session.id,
            "reply": reply.text,
            "tokens_input": reply.tokens_input,
            "tokens_output": reply.tokens_output,
            "error": reply.error,
            "denied": reply.is_denied,
        }
        screen.json(versioned("session.reply", facts))
    elif not is_error:
        screen.answer(reply.text)
        screen.end_answer()
    if is_error:
        raise ObeyFailed(reply.error, f"obey session info {session.id} shows its state")
    return ObeyExit.FAILED if reply.is_denied else ObeyExit.OK


async def _deny(client: ObeyClient, asked: v1.SessionActivityEvent, reply: ReplyReader) -> None:
    reply.is_denied = True
    request = v1.AnswerPermissionRequest(
        session_id=asked.session_id, request_id=asked.tool_call_id, allow=False, message=_NOBODY
    )
    try:
        await client.answer(request)
    except ClientError as error:
        if error.code != ErrorCode.PERMISSION_STALE:  # someone else has answered
            raise
    else:
        reply.screen.note(f"Denied: {request_text(asked)}: {_NOBODY}. To answer yourself, use --on-ask wait")


async def _to_its_end(client: ObeyClient, session_id: str, message: str, reply: ReplyReader) -> bool:
    """Follow the turn and return whether it has ended; Ctrl-C stops following, not the turn."""
    is_detached = False

    async with anyio.create_task_group() as tasks:

        async def handle_interrupts(*, task_status: TaskStatus[None]) -> None:
            nonlocal is_detached
            with anyio.open_signal_receiver(signal.SIGINT) as signals:
                task_status.started()
                async for _ in signals:
                    is_detached = True
                    reply.screen.interrupted()
                    tasks.cancel_scope.cancel()

        await tasks.start(handle_interrupts)
        async with show_progress(reply.screen, "Working"), aclosing(client.send(session_id, message)) as activities:
            async for one in activities:
                reply.take(one)
                if reply.denies and is_prompt(one):
                    await _deny(client, one, reply)
        tasks.cancel_scope.cancel()
    return not is_detached
