"""Accept answers from people: find the prompt by id in any session, and answer one or all equal ones."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import msgspec

from betcode.domain.bounded_io import FilesystemTimeout
from betcode.domain.errors import BetcodeError, InvalidRequest, PromptNotFound
from betcode.domain.permissions.prompt_lifetime import ExtendOn
from betcode.domain.store.rows import PromptRow, PromptState
from betcode.domain.values.identifiers import SessionId
from betcode.engine.client_name import ClientName
from betcode.engine.core.prompt_decision import PermissionAnswer, PromptDecision, decide, json_value, same_as_before
from betcode.engine.core.state import NO_RUN
from betcode.engine.maintenance.prompt_times import extend_prompts
from betcode.engine.operations.answer_prompt import answer_prompt, answer_questions

if TYPE_CHECKING:
    from betcode.engine.registry import Registry

logger = logging.getLogger(__name__)
_LEAST_OF_AN_ID = 4  # characters


@dataclass(frozen=True, slots=True)
class AnswerResult:
    """Whether the same answer had been given before, and the equal prompts that got it too."""

    before: bool
    also: tuple[str, ...] = ()


@dataclass(slots=True)
class AnswerService:
    _registry: Registry
    _keys: dict[str, str] = field(default_factory=dict)  # of answers that are under way: which prompt each is for

    async def permission(
        self, answer: PermissionAnswer, client: ClientName, session: SessionId | None = None, *, equal: bool = False
    ) -> AnswerResult:
        """Answer one prompt, or with `equal` every open one of the same tool and input; each is answered once.

        Raises:
            PromptNotFound, PermissionStale, InvalidRequest
        """
        session, prompt = await self._find(answer.request_id, session)
        answer = replace(answer, request_id=prompt.request_id)
        key = answer.idempotency_key
        if key and self._keys.setdefault(key, answer.request_id) != answer.request_id:
            raise _used_before(answer, self._keys[key])
        try:
            if key and await self._registry.context.store.answered_with(key) not in (None, answer.request_id):
                raise _used_before(answer, "another request")
            before = await self._answer(session, prompt, answer, client)
        finally:
            self._keys.pop(key, None)
        return AnswerResult(before, await self._also(prompt, answer, client) if equal else ())

    async def meant(self, beginning: str, session: SessionId) -> str:
        """The whole id of the one open prompt of this session that begins so; without one, what was given."""
        if len(beginning) < _LEAST_OF_AN_ID:
            return beginning
        found = await self._registry.context.store.prompts_beginning(beginning)
        is_meant = len(found) == 1 and found[0][0] == session and found[0][1].state is PromptState.OPEN
        return found[0][1].request_id if is_meant else beginning

    async def question(
        self, question_id: str, answers: Mapping[str, str], client: ClientName, session: SessionId | None = None
    ) -> tuple[bool, bool]:
        """Whether it had been answered so before, and whether all questions asked together are answered now.

        Raises:
            PromptNotFound, PermissionStale, InvalidRequest
        """
        group_id = question_id.partition("#")[0]
        session, prompt = await self._find(group_id, session)
        async with self._registry.using(session) as live:
            answered = await answer_questions(live, prompt.request_id, answers, client)
            extend_prompts(live, ExtendOn.HUMAN)
            return answered

    async def _answer(
        self, session: SessionId, prompt: PromptRow, answer: PermissionAnswer, client: ClientName
    ) -> bool:
        async with self._registry.using(session) as live:
            try:
                book = live.screening.book
                decision = await book.file_io.inline_or_run(lambda: decide(answer, prompt, live.screening.book.place))
            except InvalidRequest:
                if prompt.state is not PromptState.OPEN:
                    same_as_before(
                        prompt, PromptDecision(answer.decision)
                    )  # what is wrong with it does not matter any more
                raise
            except FilesystemTimeout as trouble:
                raise InvalidRequest(
                    f"Cannot determine what this would grant ({trouble}): allow it once, or retry later",
                    request_id=prompt.request_id,
                ) from None
            before = await answer_prompt(live, prompt.request_id, decision, client)
            extend_prompts(live, ExtendOn.HUMAN)
            return before

    async def _also(self, prompt: PromptRow, answer: PermissionAnswer, client: ClientName) -> tuple[str, ...]:
        wanted = _canonical(prompt) if prompt.run != NO_RUN else None  # each session's budget is its own affair
        done: list[str] = []
        for session, other in await self._registry.context.store.open_prompts(None):
            if (
                wanted is None
                or other.run == NO_RUN
                or other.tool_name != prompt.tool_name
                or _canonical(other) != wanted
            ):
                continue
            own = replace(answer, request_id=other.request_id, idempotency_key="")
            try:
                if not await self._answer(session, other, own, client):
                    done.append(other.request_id)
            except BetcodeError as trouble:  # it was answered meanwhile, or is elsewhere and the grant does not fit
                logger.info("skipped an equal prompt: %s", trouble.message, extra={"request_id": other.request_id})
        return tuple(done)

    async def _find(self, request_id: str, session: SessionId | None) -> tuple[SessionId, PromptRow]:
        store = self._registry.context.store
        found = await store.find_prompt(request_id) or await self._find_ended(request_id)
        if found is None or session not in (None, found[0]):
            logger.warning("an answer names a prompt that does not exist", extra={"request_id": request_id[:100]})
            raise PromptNotFound(request_id[:100])
        return found

    async def _find_ended(self, beginning: str) -> tuple[SessionId, PromptRow] | None:
        """The only prompt that begins so, where it is over: nothing is decided by a short id, and people hear of it."""
        if len(beginning) < _LEAST_OF_AN_ID:
            return None
        found = await self._registry.context.store.prompts_beginning(beginning)
        return found[0] if len(found) == 1 and found[0][1].state is not PromptState.OPEN else None


def _used_before(answer: PermissionAnswer, other: str) -> InvalidRequest:
    return InvalidRequest(
        f"The idempotency key was used for {other[:100]}: make a new one for each answer", request_id=answer.request_id
    )


def _canonical(prompt: PromptRow) -> bytes | None:
    """What equal inputs share, however they are written; None where the input is not known exactly."""
    value = json_value(prompt.input_json)
    return None if value is None else msgspec.json.encode(value, order="deterministic")
