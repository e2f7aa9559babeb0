"""A daemon's prompts as a test tells them, and the answers that came for them."""

from collections import deque
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, cast

import anyio
import grpc

from betcode.client import Client, ClientError, Link, LinkState, Refused, Unreachable
from betcode.tui.pending_board import PendingBoard
from betcode.v1 import agent_pb2 as v1


def permission(request_id: str, session: str = "s", command: str = "ls") -> v1.PendingPrompt:
    request = v1.PermissionRequest(request_id=request_id, tool_name="Bash", input_json=f'{{"command": "{command}"}}')
    request.input.update({"command": command})
    return v1.PendingPrompt(request_id=request_id, session_id=session, session_name="work", permission=request)


def questions(request_id: str, *texts: str) -> v1.PendingPrompt:
    each = [v1.UserQuestion(question_id=text, group_id=request_id, question=text) for text in texts]
    return v1.PendingPrompt(request_id=request_id, session_id="s", questions=v1.QuestionGroup(questions=each))


def refusal(message: str) -> Refused:
    return Refused(message, code="", details={}, status=grpc.StatusCode.FAILED_PRECONDITION)


def unreachable() -> Unreachable:
    return Unreachable("The daemon cannot be reached", code="", details={}, status=grpc.StatusCode.UNAVAILABLE)


class ToldClient:
    """The part of a client that waits for people; `outcomes` are what answers come to, one after the other."""

    is_local = True

    def __init__(self) -> None:
        self._changes: deque[v1.PendingChange] = deque()
        self._has_more = anyio.Event()
        self.outcomes: list[ClientError | None] = []
        self.answered: list[tuple[str, object]] = []
        self.gate: anyio.Event | None = None  # answers wait for it
        self.now_open: Sequence[v1.PendingPrompt] = ()
        self._on_link: Any = None

    def board(self) -> PendingBoard:
        return PendingBoard(cast("Client", self))

    def opened(self, prompt: v1.PendingPrompt, *, before: bool = False) -> None:
        self._tell(v1.PendingChange(session_id="s", opened=prompt, was_open_before=before))

    def resolved(self, request_id: str, **more: Any) -> None:
        told = v1.PermissionResolved(request_id=request_id, **more)
        self._tell(v1.PendingChange(session_id="s", resolved=told))

    def linked(self, state: LinkState) -> None:
        self._on_link(Link(state))

    async def watch_pending(self, _: str, *, on_link: Any) -> AsyncGenerator[v1.PendingChange, None]:
        self._on_link = on_link
        self.linked(LinkState.CONNECTED)
        while True:
            await self._has_more.wait()
            self._has_more = anyio.Event()
            while self._changes:
                yield self._changes.popleft()

    def _tell(self, change: v1.PendingChange) -> None:
        self._changes.append(change)
        self._has_more.set()

    async def pending(self) -> Sequence[v1.PendingPrompt]:
        return self.now_open

    async def answer(self, request_id: str, response: v1.PermissionResponse) -> None:
        await self._answer(request_id, v1.PermissionDecision.Name(response.decision))

    async def answer_question(self, question_id: str, answers: Mapping[str, str]) -> None:
        await self._answer(question_id, dict(answers))

    async def _answer(self, request_id: str, given: object) -> None:
        if self.gate is not None:
            await self.gate.wait()
        self.answered.append((request_id, given))
        if self.outcomes and (error := self.outcomes.pop(0)) is not None:
            raise error
