"""Run one turn from its message to its end: answer to stdout, the rest to stderr, and an exit code."""

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import asdict
from enum import Enum

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream, TaskGroup

from betcode.cli.core.exit_codes import ExitCode
from betcode.cli.run.interrupt import InterruptHandler, StopRequest
from betcode.cli.run.on_ask import AskPolicy, OnAsk
from betcode.cli.run.parked_prompts import how_to_answer, was_denied
from betcode.cli.run.rule_denials import FOR_PEOPLE, RuleDenials
from betcode.cli.run.silence_note import SilenceNote
from betcode.cli.run.time_limit import TimeLimit
from betcode.cli.run.turn_watch import TurnWatch
from betcode.cli.session.input_lock import locked_out
from betcode.cli.terminal.console import Screen
from betcode.cli.terminal.link_notes import LinkNotes
from betcode.cli.terminal.progress import show_progress
from betcode.cli.terminal.prompt_question import Asker
from betcode.client import Client, ClientError
from betcode.domain.agents.commands import AttachedFile
from betcode.domain.error_codes import ErrorCode
from betcode.domain.events.event_json import event_json
from betcode.domain.events.event_table import EventTable
from betcode.domain.values.identifiers import MessageId, new_message_id
from betcode.v1 import agent_pb2 as v1
from betcode.wording.answer import AnswerText
from betcode.wording.input_lock import is_locked
from betcode.wording.prompts import (
    Allow,
    Deny,
    DenyAndStop,
    OpenPrompts,
    Permission,
    Prompt,
    PromptAnswer,
    Question,
    first_option,
    send_answer,
)
from betcode.wording.render import DESCRIBED, Describer

_PATIENCE_S = 90.0
_MOST_BUSY = 500  # more sessions than ever work at the same time
_AFTER_DENIAL = "Use --on-ask park to leave it pending, or --allowed-tools to allow it"
_AFTER_UNANSWERED = (
    "Use --on-ask park to leave it pending and answer it yourself. Rules and --allowed-tools do not apply to it"
)


class OutputFormat(Enum):
    TEXT = "text"
    JSON = "json"
    STREAM_JSON = "stream-json"


class HeadlessTurn:
    """Sends one message and follows its turn to the end."""

    def __init__(
        self,
        client: Client,
        session_id: str,
        screen: Screen,
        *,
        output: OutputFormat,
        policy: AskPolicy,
        is_new: bool,
        limit_s: float = math.inf,
        ignored_files: Sequence[str] = (),
    ) -> None:
        self._client = client
        self._session_id = session_id
        self._screen = screen
        self._output = output
        self._policy = policy
        self._is_new = is_new
        self._ignored_files = ignored_files  # the files of an untrusted project
        self._message_id = new_message_id()
        self._answer = AnswerText()
        self._is_held = False  # other messages are answered first: the text belongs to them until their turn ends
        self._describer = Describer(screen.deprecations)
        self._open_prompts = OpenPrompts()
        self._prompts: dict[str, Prompt] = {}  # by request id
        self._denied: dict[str, str] = {}  # descriptions by request id
        self._denials = RuleDenials()
        self._shown: set[str] = set()  # prompts, each question separately
        self._parked: list[str] = []
        self._answered_here: set[str] = set()  # requests whose resolution is not printed
        self._accepted = anyio.Event()
        self._interrupting = InterruptHandler(screen, self._cancel)
        self._limit = TimeLimit(screen, self._cancel, limit_s)
        self._silence = SilenceNote(screen)
        self.info = v1.SessionInfo()  # the newest session info

    async def run(self, prompt: str, files: Sequence[AttachedFile] = ()) -> int:
        """Run the turn and return its exit code."""
        if not self._is_new:
            self._open_prompts.add_pending(await self._client.pending(self._session_id))
            busy = await self._client.list_sessions(statuses=("active",), limit=_MOST_BUSY)
            self._is_held = self._session_id in [one.id for one in busy.sessions]
        message_id = self._message_id
        watch = TurnWatch(message_id)
        to_ask, asked = anyio.create_memory_object_stream[Prompt](math.inf)
        async with to_ask, asked, anyio.create_task_group() as tasks:
            # Before anything is sent: from then on Ctrl-C has a turn to stop.
            await tasks.start(self._interrupting.handle_interrupts, tasks, tasks.cancel_scope.cancel, lambda: True)
            tasks.start_soon(self._limit.enforce, tasks.cancel_scope.cancel)
            sequence = await self._send(message_id, prompt, files)
            self._screen.note(f"Session {self._session_id}")
            tasks.start_soon(self._silence.watch)
            match self._policy.on_ask:
                case OnAsk.ASK:
                    tasks.start_soon(self._ask_all, asked)
                case OnAsk.WAIT | OnAsk.PARK:
                    tasks.start_soon(self._park_all, asked, tasks)
                case OnAsk.ALLOW | OnAsk.DENY:
                    pass  # prompts are answered as they arrive
            for prompt_before in self._open_prompts.all:
                await self._handle_prompt(prompt_before, to_ask)
            if not self._parked:
                async with show_progress(self._screen, "Working"):
                    await self._follow(watch, 0 if self._is_new else sequence, to_ask)
            tasks.cancel_scope.cancel()
        return self._end(watch)

    async def _send(self, message_id: MessageId, prompt: str, files: Sequence[AttachedFile]) -> int:
        """Send the message; return the number of the event that confirms that it is stored."""
        try:
            accepted = await self._client.send(self._session_id, prompt, files, message_id=message_id)
        except ClientError as error:
            await self._delete_empty(error)
            raise (locked_out(error, self._session_id) if is_locked(error) else error) from None
        self._accepted.set()
        return accepted.sequence

    async def _cancel(self) -> None:
        await self._accepted.wait()  # before that there is no turn to stop
        if self._is_held and await self._client.withdraw(self._session_id, self._message_id):
            return  # the running turn belongs to another message
        await self._client.cancel(self._session_id)

    async def _delete_empty(self, refusal: ClientError) -> None:
        """Delete a new session whose message was refused, because it would only remain in the list, empty."""
        if self._is_new and refusal.code in (ErrorCode.INVALID_REQUEST, ErrorCode.AGENT_UNAVAILABLE):
            with suppress(ClientError):
                await self._client.delete(self._session_id)

    async def _follow(self, watch: TurnWatch, after: int, to_ask: ObjectSendStream[Prompt]) -> None:
        notes = LinkNotes(self._screen.note, patience_s=_PATIENCE_S)
        async with aclosing(self._client.follow(self._session_id, after, on_link=notes)) as events:
            async for event in events:
                self._silence.see(event)
                await self._show(event)
                self._note_denial(event)
                self._denials.see(event)
                prompt = self._open_prompts.see(event)
                if prompt is not None:
                    await self._handle_prompt(prompt, to_ask)
                if watch.see(event) or self._parked:
                    return
                if event.HasField("turn_complete"):
                    self._answer = AnswerText()  # the text so far belongs to other messages
        self._screen.note("The session and its turn have ended")
        watch.stop_reason = watch.stop_reason or "cancelled"

    async def _show(self, event: v1.AgentEvent) -> None:
        if self._output is OutputFormat.STREAM_JSON:
            self._screen.json(event_json(event))
        handler = SHOWN.handler(event)
        if handler is not None:
            await handler(self, event)

    async def _show_text(self, event: v1.AgentEvent) -> None:
        text = self._answer.take(event, await self._uncut(event))
        if self._output is OutputFormat.TEXT and not self._is_held:
            self._screen.answer(text)

    async def _note_info(self, event: v1.AgentEvent) -> None:
        self.info = event.session_info

    async def _describe(self, event: v1.AgentEvent) -> None:
        if event.permission_resolved.request_id not in self._answered_here:
            for line in self._describer.describe(event):
                self._screen.note(line)

    async def _show_deprecation(self, event: v1.AgentEvent) -> None:
        for line in self._describer.describe(event):
            self._screen.show(line)

    async def _uncut(self, event: v1.AgentEvent) -> str | None:
        for cut in event.cuts:
            if cut.field == "text_delta.text":
                async with aclosing(self._client.read_blob(self._session_id, cut.sha256)) as pieces:
                    return b"".join([piece async for piece in pieces]).decode(errors="replace")
        return None

    async def _handle_prompt(self, prompt: Prompt, to_ask: ObjectSendStream[Prompt]) -> None:
        self._prompts.setdefault(prompt.request_id, prompt)  # the first of several questions carries the whole input
        if isinstance(prompt, Permission):
            self._denials.prompted.add(prompt.request.tool_use_id)
        match self._policy.on_ask:
            case OnAsk.ASK | OnAsk.WAIT | OnAsk.PARK:
                await to_ask.send(prompt)
            case OnAsk.DENY:
                for line in prompt.lines():
                    self._screen.note(line)
                self._screen.note(f"Denied: {self._policy.reason}")
                await self._answer_or_park(prompt, Deny(self._policy.reason, by_policy=True))
            case OnAsk.ALLOW:
                self._screen.note("Allowed: the demo agent only pretends to use tools")
                allowed = Allow(by_policy=True) if isinstance(prompt, Permission) else first_option(prompt)
                await self._answer_or_park(prompt, allowed)

    async def _answer_or_park(self, prompt: Prompt, typed: PromptAnswer) -> None:
        """Send the answer. A prompt that this run may not answer, such as in a run of an agent, is left to people."""
        if await self._send_answer(prompt, typed) not in (None, ErrorCode.PERMISSION_STALE):
            self._parked.append(prompt.request_id)

    async def _park_all(self, asked: ObjectReceiveStream[Prompt], tasks: TaskGroup) -> None:
        """Exit at the first prompt that is still open when its time is up."""
        parked: set[str] = set()
        async for prompt in asked:
            self._show_once(prompt)
            if prompt.request_id not in parked:  # questions that were asked together are one prompt
                parked.add(prompt.request_id)
                tasks.start_soon(self._park_when_late, prompt, tasks)

    def _show_once(self, prompt: Prompt) -> None:
        key = prompt.asked.question_id if isinstance(prompt, Question) else prompt.request_id
        if key not in self._shown:
            self._shown.add(key)
            for line in prompt.lines():
                self._screen.show(line)

    async def _waits(self, prompt: Prompt) -> bool:
        """Whether the prompt is really open: someone may have answered, and the event may be in transit.

        Other questions of its group are shown too, because the run ends before their events arrive.
        """
        try:
            found = [one for one in await self._client.pending(self._session_id) if one.request_id == prompt.request_id]
        except ClientError:
            return True
        for asked in (question for one in found for question in one.questions.questions):
            self._show_once(Question(asked))
        return bool(found)

    async def _park_when_late(self, prompt: Prompt, tasks: TaskGroup) -> None:
        if self._policy.on_ask is OnAsk.WAIT:
            self._screen.note(f"Waiting for an answer. {how_to_answer(prompt)}")
            with anyio.move_on_after(self._policy.wait_s):
                await self._open_prompts.gone(prompt)
                return
        if self._open_prompts.has(prompt) and await self._waits(prompt):
            self._parked.append(prompt.request_id)
            tasks.cancel_scope.cancel()

    def _note_denial(self, event: v1.AgentEvent) -> None:
        """Record a denial, also by someone else: the agent continued without the permission."""
        prompt = self._prompts.get(event.permission_resolved.request_id)
        if prompt is not None and was_denied(event.permission_resolved):
            self._denied.setdefault(prompt.request_id, _called(prompt))

    async def _ask_all(self, asked: ObjectReceiveStream[Prompt]) -> None:
        asker = Asker(self._screen, self._open_prompts)
        async for prompt in asked:
            while typed := await asker.ask(prompt):
                if await self._send_answer(prompt, typed) != ErrorCode.INVALID_REQUEST:
                    break  # it cannot be answered here and remains open

    async def _send_answer(self, prompt: Prompt, typed: PromptAnswer) -> str | None:
        """Send the answer; return why it was rejected, or None."""
        self._answered_here.add(prompt.request_id)
        try:
            await send_answer(self._client, prompt, typed)
        except ClientError as error:
            self._screen.note(error.message)
            return error.code
        self._open_prompts.done(prompt)
        if isinstance(typed, Deny | DenyAndStop):
            self._open_prompts.forget(prompt.request_id)  # this also settles the other questions of its group
            self._denied[prompt.request_id] = _called(prompt)
        return None

    def _end(self, watch: TurnWatch) -> int:
        if self._output is OutputFormat.TEXT and self._is_held:
            self._screen.answer(self._answer_text(watch))
        self._screen.end_answer()
        code = self._exit_code(watch)
        if self._output is not OutputFormat.TEXT:
            self._screen.json(self._result(watch, code))
        if self._interrupting.is_detached:
            self._screen.note(self._interrupting.detach_message(self._session_id))
        elif self._limit.is_detached:
            self._screen.note(self._limit.detach_message(self._session_id))
        elif self._parked:
            self._print_next_step()
        elif watch.was_cancelled:
            self._screen.note("The turn was cancelled")
        elif self._denied and self._policy.on_ask is OnAsk.DENY:
            denied = [self._prompts[request_id] for request_id in self._denied]
            self._screen.note(_AFTER_UNANSWERED if all(map(_is_for_people, denied)) else _AFTER_DENIAL)
        elif watch.failed and watch.error is None:
            self._screen.note(f"The turn ended with: {watch.stop_reason}")
        return code

    def _print_next_step(self) -> None:
        for request_id in self._parked:
            self._screen.note(f"Parked: {request_id} waits for an answer. {how_to_answer(self._prompts[request_id])}")
        self._screen.note(f"The session continues after the answer; watch it with: betcode attach {self._session_id}")

    def _exit_code(self, watch: TurnWatch) -> ExitCode:
        if self._interrupting.stop is not StopRequest.UNASKED:
            return ExitCode.INTERRUPTED
        if self._limit.is_detached or (self._limit.is_over and watch.exit_code is not ExitCode.OK):
            return ExitCode.TIMED_OUT
        if self._parked or ((self._denied or self._denials.tools) and not watch.failed):
            return ExitCode.PERMISSION_DENIED
        return watch.exit_code

    def _answer_text(self, watch: TurnWatch) -> str:
        """Return the answer; empty while the text may belong to other messages."""
        return "" if self._is_held and not watch.stop_reason else self._answer.whole

    def _result(self, watch: TurnWatch, code: ExitCode) -> dict[str, object]:
        error = watch.error
        return {
            "type": "result",
            "session_id": self._session_id,
            "message_id": watch.message_id,
            "provider": self.info.provider,
            "model": self.info.model,
            "text": self._answer_text(watch),
            "stop_reason": watch.stop_reason,
            "timed_out": code is ExitCode.TIMED_OUT,
            "is_error": watch.failed,
            "error": {"code": error.code, "message": error.message, "details": dict(error.details)} if error else None,
            "denied": [*self._denied.values(), *self._denials.tools],
            "parked": self._parked,
            "ignored_project_files": list(self._ignored_files),
            "usage": asdict(watch.usage),
            "exit_code": int(code),
        }


def _is_for_people(prompt: Prompt) -> bool:
    """Whether only a person can answer: a question or a plan."""
    return isinstance(prompt, Question) or prompt.request.tool_name in FOR_PEOPLE


def _called(prompt: Prompt) -> str:
    return prompt.asked.question if isinstance(prompt, Question) else prompt.request.tool_name


_OWN: Mapping[str, Callable[[HeadlessTurn, v1.AgentEvent], Awaitable[None]]] = {
    "text_delta": HeadlessTurn._show_text,
    "session_info": HeadlessTurn._note_info,
    "deprecation": HeadlessTurn._show_deprecation,  # shown prominently, because a person decides about it
}
# `permission_request` and `usage` are ignored here: `_handle_prompt` shows requests, and `TurnWatch` counts usage.
SHOWN: EventTable[Callable[[HeadlessTurn, v1.AgentEvent], Awaitable[None]]] = EventTable(
    "the lines of betcode run",
    {**dict.fromkeys(DESCRIBED.handlers, HeadlessTurn._describe), **_OWN},
    ignored=DESCRIBED.ignored - _OWN.keys(),
)
