"""An interactive session in plain lines: watch, type, answer, cancel."""

from collections import deque
from contextlib import aclosing, suppress

import anyio
from anyio.abc import TaskGroup

from betcode.cli.core.exit_codes import ExitCode
from betcode.cli.run.interrupt import InterruptHandler, StopRequest
from betcode.cli.run.turn_watch import TurnWatch
from betcode.cli.session.input_lock import InputLockDialog, who_lines
from betcode.cli.session.lookup import find_summary
from betcode.cli.session.transcript import EventLines, Transcript
from betcode.cli.terminal.console import Screen
from betcode.cli.terminal.keyboard import Keyboard
from betcode.cli.terminal.link_notes import LinkNotes
from betcode.cli.terminal.prompt_question import edited
from betcode.client import Client, ClientError
from betcode.domain.agents.commands import AttachedFile
from betcode.domain.error_codes import ErrorCode
from betcode.domain.values.identifiers import new_message_id
from betcode.v1 import agent_pb2 as v1
from betcode.wording.attachments import CannotAttach, read_files
from betcode.wording.input_lock import holder_in, is_locked
from betcode.wording.prompts import (
    Deny,
    DenyAndStop,
    Edit,
    OpenPrompts,
    Permission,
    Prompt,
    PromptAnswer,
    Question,
    ShowAll,
    ShowChoices,
    send_answer,
    understand,
)
from betcode.wording.times import when_again

_TURNS_SHOWN = 3
_HELP = """\
Lines are messages to the agent, or answers while it asks.
/cancel       stop the open turn
/say TEXT     send a message, also while the agent asks
/attach FILE  send a file with the next message
/compact      have the agent summarize its context
/lock         request the input lock
/give, /keep  answer a request for the lock
/who          list the clients and the lock holder
/new          start another session here
/quit         exit; the agent continues"""
_NO_TERMINAL = "no answer on stdin"


class PlainConversation:
    """One person in one session; leaving ends neither the session nor its turn."""

    def __init__(
        self,
        client: Client,
        summary: v1.SessionSummary,
        screen: Screen,
        *,
        is_terminal: bool,
        show_all: bool,
        as_json: bool = False,
    ) -> None:
        self.wants_another = False
        self._client = client
        self._session_id = summary.id
        self._screen = screen
        self._is_terminal = is_terminal
        self._show_all = show_all
        self._transcript = EventLines(screen) if as_json else Transcript(screen)
        self._open_prompts = OpenPrompts()
        self._lock = InputLockDialog(client, summary.id, screen)
        self._keyboard = Keyboard()
        self._past_until = summary.last_sequence
        self._past: deque[list[v1.AgentEvent]] = deque([[]], maxlen=None if show_all else _TURNS_SHOWN)
        self._turns_before = 0
        self._caught_up = anyio.Event()  # the history was shown
        self._turn_open = summary.status == "active"
        self._is_closed = summary.status == "closed"
        self._own: dict[str, TurnWatch] = {}  # our messages whose turn has not ended
        self._files: list[AttachedFile] = []  # sent with the next message
        self._input_ended = False
        self._denied = False
        self._interrupting = InterruptHandler(screen, self._cancel)

    async def run(self) -> ExitCode:
        """Run until the person leaves or the session ends."""
        if self._past_until == 0:
            self._caught_up.set()
            self._invite()
        async with anyio.create_task_group() as tasks:
            await tasks.start(
                self._interrupting.handle_interrupts,
                tasks,
                lambda: self._leave(tasks.cancel_scope),
                lambda: self._turn_open,
            )
            tasks.start_soon(self._read_lines, tasks)
            await self._watch(tasks.cancel_scope)
            tasks.cancel_scope.cancel()
        self._screen.end_answer()
        return ExitCode.PERMISSION_DENIED if self._denied else ExitCode.OK

    # ------------------------------------------------------------ events of the agent

    async def _watch(self, scope: anyio.CancelScope) -> None:
        on_link = LinkNotes(self._screen.note)
        follow = self._client.follow(self._session_id, on_link=on_link, include_compacted=self._show_all)
        async with aclosing(follow) as events:
            async for event in events:
                if not self._caught_up.is_set():
                    self._remember(event)
                    if self._caught_up.is_set():
                        await self._begin()
                else:
                    await self._live(event)
                if self._input_ended and not self._own:
                    scope.cancel()
        self._screen.note("The session has ended")

    def _remember(self, event: v1.AgentEvent) -> None:
        """Collect history, so that the part that is shown begins with a message."""
        if event.session_info.compacted_before:
            self._past[-1].append(event)
        elif event.sequence == 0:
            self._transcript.show(event)  # about the present, not part of the history
        if event.sequence == 0:
            self._lock_changed(event)
            return
        if event.WhichOneof("event") == "user_input":
            self._turns_before += 1
            self._past.append([])
        self._past[-1].append(event)
        self._open_prompts.see(event)
        if event.sequence < self._past_until:
            return
        omitted = self._turns_before - len(self._past)
        if omitted > 0:
            noun = "message" if omitted == 1 else "messages"
            self._screen.note(f"… {omitted} earlier {noun}: betcode session show {self._session_id}")
        for turn in self._past:
            for past in turn:
                self._transcript.show(past)
        self._past.clear()
        self._caught_up.set()

    async def _begin(self) -> None:
        """Ask the open prompts once the history was shown."""
        if any(isinstance(prompt, Question) for prompt in self._open_prompts.all):
            with suppress(ClientError):  # no event says which questions of a group are answered
                self._open_prompts.drop_answered(await self._client.pending(self._session_id))
        self._ask_current()
        self._invite()

    async def _live(self, event: v1.AgentEvent) -> None:
        kind = event.WhichOneof("event")
        self._lock_changed(event)
        if kind == "status_change":
            self._turn_open = event.status_change.status != v1.IDLE
            if not self._turn_open:
                self._interrupting.over()
        typed_here = kind == "user_input" and event.user_input.message_id in self._own and self._is_terminal
        prompt = self._open_prompts.see(event)
        if prompt is not None:
            self._transcript.remember_prompt(event)
        elif typed_here:
            self._transcript.typed(event)
        else:
            self._transcript.show(event)
        for message_id, watch in list(self._own.items()):
            if watch.see(event):
                del self._own[message_id]
        if prompt is not None and self._input_ended:
            await self._answer(prompt, Deny(_NO_TERMINAL))
        elif prompt is not None and self._open_prompts.current is prompt:
            self._ask_current()
        elif kind in ("status_change", "turn_complete"):
            self._invite()
        elif kind in ("notice", "message_state"):
            self._ask_once_more()

    def _lock_changed(self, event: v1.AgentEvent) -> None:
        if event.WhichOneof("event") != "input_lock":
            return
        had_request = bool(self._lock.asking)
        has_request = self._lock.see(event.input_lock)
        if not self._is_terminal:
            return
        if has_request:
            words = "y/n" if self._lock_accepts_yes else "/give or /keep"
            self._show_prompt([], f"Give it the input lock? [{words}] ")
        elif had_request and not self._lock.asking:
            self._keyboard.discard_input()  # a late y or n is not a message to the agent
            self._ask_current()
            self._invite()

    @property
    def _lock_accepts_yes(self) -> bool:
        """Whether a bare y or n answers a lock request: the agent has no question, and a person types."""
        return self._is_terminal and self._open_prompts.current is None

    # ------------------------------------------------------------ input of the person

    async def _read_lines(self, tasks: TaskGroup) -> None:
        await self._caught_up.wait()  # a line may answer a question from the history
        while (line := await self._keyboard.line()) is not None:
            self._screen.typed()
            try:
                if await self._typed(line, tasks):
                    self._leave(tasks.cancel_scope)
                    return
            except ClientError as error:
                self._print_refusal(error)
            if not self._own:
                self._invite()
        if self._is_terminal or not self._own:
            self._leave(tasks.cancel_scope)
            return
        self._input_ended = True  # still wait for replies to earlier messages
        for prompt in self._open_prompts.all:
            await self._answer(prompt, Deny(_NO_TERMINAL))

    def _print_refusal(self, error: ClientError) -> None:
        if is_locked(error):
            self._denied = self._denied or not self._is_terminal
            ask = f"betcode session lock {self._session_id}" if not self._is_terminal else "/lock"
            self._screen.note(f"Not sent: {holder_in(error)} holds the input lock. Request it with: {ask}")
        else:
            self._screen.note(error.message + when_again(error.retry_after_s))

    async def _typed(self, line: str, tasks: TaskGroup) -> bool:
        """Process a typed line; return whether the person wants to leave."""
        word, _, rest = line.strip().partition(" ")
        if await self._lock.answered(line, only_commands=not self._lock_accepts_yes):
            self._ask_current()
            return False
        match word:
            case "/quit" | "/exit":
                return True
            case "/new":
                self.wants_another = True
                return True
            case "/help":
                self._screen.note(_HELP)
            case "/cancel":
                await self._cancel()
            case "/lock":
                tasks.start_soon(self._ask_for_lock)
            case "/who":
                for one in who_lines(
                    await find_summary(self._client, self._session_id), self._client.identity.client_id
                ):
                    self._screen.note(one)
            case "/say":
                await self._say(rest)
            case "/attach":
                self._attach(rest.strip())
            case _ if self._open_prompts.current is not None:
                await self._answer_typed(self._open_prompts.current, line)
            case _:
                await self._say(line)
        return False

    def _leave(self, scope: anyio.CancelScope) -> None:
        if self._interrupting.is_detached and self._interrupting.stop is not StopRequest.UNASKED:
            self._screen.note(self._interrupting.detach_message(self._session_id))
        elif self._is_terminal and not self.wants_another:
            self._screen.note(f"Detached. Reattach with: betcode attach {self._session_id}")
        scope.cancel()

    async def _say(self, text: str) -> None:
        if not text.strip():
            return
        message_id = new_message_id()
        self._own[message_id] = TurnWatch(message_id)  # before it is sent: its echo may arrive before the reply
        try:
            await self._client.send(self._session_id, text, self._files, message_id=message_id)
        except ClientError:
            del self._own[message_id]
            raise
        finally:
            self._files = []  # a rejected file would block every later message

    def _attach(self, path: str) -> None:
        if not path:
            self._screen.note("Give a file: /attach FILE")
            return
        try:
            self._files += read_files([path])
        except CannotAttach as failed:
            self._screen.note(failed.message)
        else:
            self._screen.note(f"Attached to the next message: {', '.join(file.filename for file in self._files)}")

    async def _ask_for_lock(self) -> None:
        await self._lock.ask()
        self._invite()

    async def _cancel(self) -> None:
        if not await self._client.cancel(self._session_id):
            self._screen.note("No turn is open")

    async def _answer_typed(self, prompt: Prompt, line: str) -> None:
        match understand(prompt, line):
            case None:
                self._screen.note("The agent waits for an answer; /say TEXT sends a message anyway")
                self._screen.ask(prompt.question)
            case ShowAll():
                assert isinstance(prompt, Permission)
                self._show_prompt([*prompt.lines(whole=True), *prompt.choices()], prompt.question)
            case ShowChoices():
                assert isinstance(prompt, Permission)
                self._show_prompt(prompt.choices(), prompt.question)
            case Edit(text):
                answer = await edited(prompt, text, self._screen)
                if answer is not None:
                    await self._answer(prompt, answer)
                else:
                    self._screen.ask(prompt.question)
            case answer:
                await self._answer(prompt, answer)

    async def _answer(self, prompt: Prompt, answer: PromptAnswer) -> None:
        if isinstance(answer, Deny | DenyAndStop):  # set at once: the answer may end this conversation
            self._denied = self._denied or self._input_ended
        try:
            await send_answer(self._client, prompt, answer)
        except ClientError as error:
            self._screen.note(error.message + when_again(error.retry_after_s))
            if error.code == ErrorCode.INVALID_REQUEST and not self._input_ended:
                self._screen.ask(prompt.question)  # it is still open
                return
        if isinstance(answer, Deny | DenyAndStop):
            self._open_prompts.forget(prompt.request_id)
        self._open_prompts.done(prompt)
        self._ask_current()

    def _ask_current(self) -> None:
        prompt = self._open_prompts.current
        if prompt is not None and not self._input_ended:
            choices = prompt.choices() if isinstance(prompt, Permission) and self._is_terminal else []
            self._show_prompt([*prompt.lines(), *choices], prompt.question)

    def _ask_once_more(self) -> None:
        """Repeat the question after other output, so that the person does not type below that."""
        if self._open_prompts.current is None or self._input_ended or not self._is_terminal:
            self._invite()
        elif not self._screen.is_asking:
            self._screen.ask(self._open_prompts.current.question)

    def _invite(self) -> None:
        """Show the input prompt if the agent is idle and a person types."""
        rests = not (self._turn_open or self._is_closed or self._open_prompts.current)
        if rests and self._is_terminal and not self._screen.is_asking:
            self._screen.ask("> ")

    def _show_prompt(self, lines: list[str], question: str) -> None:
        for line in lines:
            self._screen.note(line)
        if self._is_terminal:
            self._keyboard.discard_input()  # input before the question was visible
        self._screen.ask(question)
