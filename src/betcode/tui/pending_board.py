"""All open prompts of all sessions: one watcher for cards, inbox and alerts."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from enum import Enum

import anyio
from anyio.abc import TaskGroup

from betcode.client import Client, ClientError, Link, LinkState, Unreachable
from betcode.util.signal import ChangeSignal, ResettableEvent
from betcode.v1 import agent_pb2 as v1
from betcode.wording.prompts import Deny, DenyAndStop, Prompt, PromptAnswer, Question, Reply, send_answer

_REFRESH_S = 20.0  # the times of prompts change without an event


@dataclass(frozen=True, slots=True)
class PromptOpened:
    """A prompt was opened."""

    prompt: v1.PendingPrompt
    was_open_before: bool


@dataclass(frozen=True, slots=True)
class PromptClosed:
    """A prompt was closed; `by_us`: with the answer that was given here."""

    prompt: v1.PendingPrompt
    resolved: v1.PermissionResolved
    by_us: bool


@dataclass(frozen=True, slots=True)
class BoardChanged:
    """Another change: the connection, the delivery of an answer, or the facts of a prompt."""


News = PromptOpened | PromptClosed | BoardChanged
Listener = Callable[[News], None]


class AnswerDelivery(Enum):
    """The state of the answer that was given here."""

    NONE = "none"
    ON_ITS_WAY = "on its way"
    WAITS_FOR_CONNECTION = "waits for the connection"


class PendingBoard:
    """The open prompts, in the order in which they were asked. Answers to one prompt are delivered one at a time."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._open: dict[str, v1.PendingPrompt] = {}
        self._deliveries: dict[str, AnswerDelivery] = {}
        self._failures: dict[str, str] = {}
        # Closed while our answer is in transit
        self._over: dict[str, tuple[v1.PendingPrompt, v1.PermissionResolved]] = {}
        self._listeners: list[Listener] = []
        self._unsent: deque[tuple[Prompt, PromptAnswer]] = deque()  # not sent yet
        self._has_unsent = ResettableEvent()
        self._connected = ResettableEvent()
        self._changed = ChangeSignal()
        self.link: Link | None = None
        self.trouble = ""  # why the watch has ended

    @property
    def is_local(self) -> bool:
        """Whether the files of the prompts are on this machine."""
        return self._client.is_local

    @property
    def all(self) -> Sequence[v1.PendingPrompt]:
        return tuple(self._open.values())

    def of(self, session_id: str) -> Sequence[v1.PendingPrompt]:
        """Return the open prompts of one session."""
        return tuple(one for one in self._open.values() if one.session_id == session_id)

    def delivery(self, request_id: str) -> AnswerDelivery:
        return self._deliveries.get(request_id, AnswerDelivery.NONE)

    def failure(self, request_id: str) -> str:
        """Return why the last answer was rejected; empty if it was not."""
        return self._failures.get(request_id, "")

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call the listener for every later change; the returned function ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def answer(self, prompt: Prompt, given: PromptAnswer) -> bool:
        """Queue the answer until the daemon accepts it; False if an answer to this prompt is already queued."""
        if prompt.request_id not in self._open or prompt.request_id in self._deliveries:
            return False
        self._deliveries[prompt.request_id] = AnswerDelivery.ON_ITS_WAY
        self._failures.pop(prompt.request_id, None)
        self._unsent.append((prompt, given))
        self._has_unsent.set()
        self._notify(BoardChanged())
        return True

    async def settled(self) -> None:
        """Wait until no answer is in transit; answers that wait for the connection do not count."""
        while AnswerDelivery.ON_ITS_WAY in self._deliveries.values():
            await self._changed.wait()

    async def run(self) -> None:
        """Watch prompts until cancelled, or until the daemon refuses."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._deliver_all, tasks)
            tasks.start_soon(self._refresh_now_and_then)
            try:
                await self._watch()
            except ClientError as error:
                self.trouble = error.message
            self._notify(BoardChanged())
            tasks.cancel_scope.cancel()

    async def _watch(self) -> None:
        async with aclosing(self._client.watch_pending("", on_link=self._linked)) as changes:
            async for change in changes:
                match change.WhichOneof("change"):
                    case "opened":
                        self._open[change.opened.request_id] = change.opened
                        self._notify(PromptOpened(change.opened, change.was_open_before))
                    case "resolved":
                        self._resolved(change.resolved)
                    case "all_told":
                        self._notify(BoardChanged())
                    case _:
                        pass

    def _linked(self, link: Link) -> None:
        self.link = link
        if link.state is LinkState.CONNECTED:
            self._connected.set()
        else:
            self._connected.clear()
        self._notify(BoardChanged())

    def _resolved(self, resolved: v1.PermissionResolved) -> None:
        prompt = self._open.pop(resolved.request_id, None)
        if prompt is None:
            return  # we answered it and have reported it
        if resolved.request_id in self._deliveries:
            self._over[resolved.request_id] = (prompt, resolved)  # the reply to our answer says whose answer counted
            self._notify(BoardChanged())
        else:
            self._failures.pop(resolved.request_id, None)
            self._notify(PromptClosed(prompt, resolved, by_us=False))

    async def _deliver_all(self, tasks: TaskGroup) -> None:
        while True:
            await self._has_unsent.wait()
            self._has_unsent.clear()
            while self._unsent:
                tasks.start_soon(self._deliver, *self._unsent.popleft())

    async def _deliver(self, prompt: Prompt, given: PromptAnswer) -> None:
        request_id = prompt.request_id
        failure = ""
        while True:
            try:
                await send_answer(self._client, prompt, given)
            except Unreachable:
                if request_id not in self._open:
                    break  # it was closed before our answer arrived
                self._deliveries[request_id] = AnswerDelivery.WAITS_FOR_CONNECTION
                self._notify(BoardChanged())
                await self._connected.wait()
                continue
            except ClientError as error:
                failure = error.message
            else:
                self._accepted(prompt, given)
                return
            break
        del self._deliveries[request_id]
        over = self._over.pop(request_id, None)
        if over is not None:
            self._notify(PromptClosed(*over, by_us=False))
        elif request_id in self._open:
            self._failures[request_id] = failure
            await self._refresh()  # another client may have answered part of a group
        self._notify(BoardChanged())

    def _accepted(self, prompt: Prompt, given: PromptAnswer) -> None:
        """Close a prompt after the daemon has accepted our answer; there may be no event about it."""
        del self._deliveries[prompt.request_id]
        shown, resolved = self._over.pop(prompt.request_id, (None, v1.PermissionResolved(request_id=prompt.request_id)))
        if shown is None:
            shown = self._open.get(prompt.request_id)
            if shown is not None and isinstance(prompt, Question) and isinstance(given, Reply):
                shown = _with_answer(shown, prompt.asked.question, given.text)
                if any(each.question not in shown.questions.answers for each in shown.questions.questions):
                    self._open[prompt.request_id] = shown
                    self._notify(BoardChanged())
                    return
            self._open.pop(prompt.request_id, None)
        if shown is not None:
            resolved.decision = resolved.decision or (
                v1.DENY if isinstance(given, Deny | DenyAndStop) else v1.ALLOW_ONCE
            )
            self._notify(PromptClosed(shown, resolved, by_us=True))

    async def _refresh_now_and_then(self) -> None:
        while True:
            await anyio.sleep(_REFRESH_S)
            if self._open and self._connected.is_set():
                await self._refresh()
                self._notify(BoardChanged())

    async def _refresh(self) -> None:
        """Update the facts of open prompts; only the watch opens and closes them."""
        try:
            found = {one.request_id: one for one in await self._client.pending()}
        except ClientError:
            return
        for request_id in [each for each in self._open if each in found]:
            self._open[request_id] = _newer(self._open[request_id], found[request_id])

    def _notify(self, news: News) -> None:
        self._changed.notify()
        for listener in tuple(self._listeners):
            listener(news)


def _with_answer(prompt: v1.PendingPrompt, question: str, text: str) -> v1.PendingPrompt:
    changed = v1.PendingPrompt()
    changed.CopyFrom(prompt)
    changed.questions.answers[question] = text
    return changed


def _newer(known: v1.PendingPrompt, found: v1.PendingPrompt) -> v1.PendingPrompt:
    """Return the newer version: a response may be older than our last answer."""
    answers: Mapping[str, str] = known.questions.answers
    for question, text in answers.items():
        if question not in found.questions.answers:
            found = _with_answer(found, question, text)
    return found
