"""Taking an answer to a prompt: the first one wins, and everyone hears of it."""

import time
from collections.abc import Mapping
from dataclasses import replace

from betcode.domain.changes import AddInput, SavePrompt
from betcode.domain.errors import PromptNotFound
from betcode.domain.rows import PromptRow, PromptState
from betcode.sessions import events
from betcode.sessions.clients import ClientName
from betcode.sessions.live import LiveSession
from betcode.sessions.prompts import Decision, same_as_before


async def answer_prompt(session: LiveSession, request_id: str, decision: Decision, client: ClientName) -> bool:
    """Record who decided what, once; the agent hears it as soon as it has a slot. True: it had been said before.

    Raises:
        PromptNotFound: there never was such a prompt.
        PermissionStale: it was answered differently, or cannot be answered any more.
    """
    async with session.changing():
        if session.budget.prompt is not None and session.budget.prompt.request_id == request_id:
            await session.budget.answer(decision, client)
            return False
        prompt = session.prompts.get(request_id)
        if prompt is None:
            return same_as_before(await _prompt_of_the_past(session, request_id), decision)
        answered = replace(
            prompt,
            state=PromptState.ANSWERED,
            decision=decision.name,
            answers=decision.answers,
            answered_by=client.client_id,
            answered_ns=time.time_ns(),
            idempotency_key=decision.idempotency_key,
        )
        row = session.answer_row(decision.command(prompt))
        told = events.resolved(
            request_id,
            "answered",
            decision=decision.value,
            client_id=client.client_id,
            message=decision.message,
        )
        await session.writer.write([told], [SavePrompt(answered), AddInput(row)])
        del session.prompts[request_id]
        session.inputs[row.input_id] = row
        session.room.faults("after-answer")
        session.go_on()
        return False


async def note_answers(session: LiveSession, request_id: str, answers: Mapping[str, str]) -> Mapping[str, str]:
    """Keep some answers of a group of questions, and return all that are there."""
    async with session.changing():
        prompt = session.prompts.get(request_id)
        if prompt is None:
            return answers
        kept = replace(prompt, answers={**prompt.answers, **answers})
        await session.writer.write((), [SavePrompt(kept)])
        session.prompts[request_id] = kept
        return kept.answers


async def _prompt_of_the_past(session: LiveSession, request_id: str) -> PromptRow:
    found = await session.room.store.find_prompt(request_id)
    if found is None:
        raise PromptNotFound(request_id)
    return found[1]
