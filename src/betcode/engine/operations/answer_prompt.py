"""Accept an answer to a prompt: the first one wins, and all followers see it."""

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from betcode.domain.bounded_io import FilesystemTimeout
from betcode.domain.errors import InvalidRequest, PermissionStale, PromptNotFound
from betcode.domain.store.rows import PromptRow, PromptState
from betcode.engine.client_name import ClientName
from betcode.engine.core import answer as core
from betcode.engine.core.capability_checks import check_answer
from betcode.engine.core.prompt_decision import PromptDecision, same_as_before
from betcode.engine.fault_points import FaultPoint
from betcode.engine.operations.grants import grant_changes
from betcode.engine.shell.session import LiveSession
from betcode.engine.shell.views import agent_view, session_view
from betcode.util.wall_clock import now_ns

logger = logging.getLogger(__name__)


async def answer_prompt(session: LiveSession, request_id: str, decision: PromptDecision, client: ClientName) -> bool:
    """Record who decided what, once; the agent hears it as soon as it has a slot. True: it had been said before.

    Raises:
        PromptNotFound: no prompt has this id.
        PermissionStale: it was answered differently, or cannot be answered any more.
        InvalidRequest: a deny rule speaks of what would run, or may for all that can be told; the prompt stays open.
    """
    async with _noting_stale(session, request_id), session.changing():
        if session.budget.prompt is not None and session.budget.prompt.request_id == request_id:
            await session.budget.answer(decision, client)
            return False
        prompt = _open_prompt(session, request_id)
        if prompt is None:
            return same_as_before(await _prompt_of_the_past(session, request_id), decision)
        core.refuse_if_cancelled(session_view(session), agent_view(session), prompt)
        check_answer(decision, request_id, session.provider.name, session.capabilities)
        await _refuse_if_denied(session, prompt, decision)
        await _resolve(session, prompt, decision, client)
        return False


async def answer_questions(
    session: LiveSession, request_id: str, answers: Mapping[str, str], client: ClientName
) -> tuple[bool, bool]:
    """Whether it had been answered so before, and whether all questions asked together are answered now.

    What is answered of a group is kept; the agent hears of it when nothing is missing.

    Raises:
        PromptNotFound, InvalidRequest
        PermissionStale: one of them was answered differently, or none can be answered any more.
    """
    async with _noting_stale(session, request_id), session.changing():
        prompt = _open_prompt(session, request_id)
        row = prompt or await _prompt_of_the_past(session, request_id)
        group = core.answer_group(row, answers, is_open=prompt is not None)
        if prompt is None:
            return group.is_repeated, group.is_complete
        core.refuse_if_cancelled(session_view(session), agent_view(session), prompt)
        if group.is_complete:
            await _resolve(session, prompt, core.group_decision(group), client)
        elif not group.is_repeated:
            await session.perform_locked(core.partly_answered(prompt, group, client, now_ns()))
        return group.is_repeated, group.is_complete


@asynccontextmanager
async def _noting_stale(session: LiveSession, request_id: str) -> AsyncIterator[None]:
    """Somebody saw a prompt as it is not any more."""
    try:
        yield
    except PermissionStale as stale:
        facts = {"span": "permission", "request_id": request_id}
        logger.warning("an answer came too late: %s", stale.message, extra=session.log_extra | facts)
        raise


async def _resolve(session: LiveSession, prompt: PromptRow, decision: PromptDecision, client: ClientName) -> None:
    """The answer, what it grants, what the agent is told of it and the audit: one commit; the lock is held.

    Where the agent is gone, the answer waits for the one that goes on with the turn.
    """
    reply = None if prompt.request_id in session.orphaned else session.answer_row(decision.command(prompt))
    rule, request_id = decision.grant, prompt.request_id
    granted = () if rule is None else grant_changes(session, rule, client, request_id)
    done = core.resolve(session_view(session), prompt, decision, client, now_ns(), reply=reply, granted=granted)
    await session.perform_locked(done, reached=FaultPoint.AFTER_ANSWER)
    logger.info("answered %s", decision.name, extra=session.log_extra | {"request_id": request_id})


async def _refuse_if_denied(session: LiveSession, prompt: PromptRow, decision: PromptDecision) -> None:
    """The agent runs what is allowed and asks no rule about it: not what an edit, or the wait, has put under a deny."""
    if not decision.allows:
        return
    await session.screening.refresh()
    try:
        rule = await session.screening.denial_to(prompt, decision.updated_input or prompt.input_json)
    except FilesystemTimeout as trouble:
        raise InvalidRequest(
            f"Cannot check whether a rule denies this ({trouble}): deny it, or retry later",
            request_id=prompt.request_id,
        ) from None
    core.refuse_if_denied(prompt, decision, rule)


def _open_prompt(session: LiveSession, request_id: str) -> PromptRow | None:
    """The open prompt of that id, whether its agent lives or is gone."""
    orphan = session.orphaned.get(request_id)
    is_open = orphan is not None and orphan.state is PromptState.OPEN
    return session.prompts.get(request_id) or (orphan if is_open else None)


async def _prompt_of_the_past(session: LiveSession, request_id: str) -> PromptRow:
    found = await session.context.store.find_prompt(request_id)
    if found is None:
        raise PromptNotFound(request_id)
    return found[1]
