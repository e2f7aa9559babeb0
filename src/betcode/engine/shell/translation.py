"""Translate an agent's records into events, and look up what the core needs to decide about them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import anyio.lowlevel

from betcode.domain.bounded_io import FilesystemTimeout
from betcode.domain.errors import StorageDegraded, StorageFailed
from betcode.domain.runs.journal_record import RecordKind
from betcode.engine.agents.holder_audit import audit_of_refusal
from betcode.engine.core import carried_answers, events
from betcode.engine.core.prompt_ingest import permission_row, question_row
from betcode.engine.core.record_batch import PromptReview, RecordBatch, TranslatedRecord
from betcode.holder.platform import start_time_now

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from betcode.domain.ports import Dialogue
    from betcode.domain.runs.journal_record import Record
    from betcode.domain.store.rows import PromptRow
    from betcode.domain.values.identifiers import SessionId
    from betcode.engine.shell.run import AgentRun
    from betcode.v1 import agent_pb2 as v1

    Review = Callable[[list[v1.AgentEvent]], Awaitable[PromptReview]]

logger = logging.getLogger(__name__)


async def translate(
    session_id: SessionId, dialogue: Dialogue, records: Sequence[Record], review: Review
) -> RecordBatch:
    """Return the batch; `review` is asked once for each prompt that it opens."""
    was_open = dialogue.view.turn_open
    translated: list[TranslatedRecord] = []
    reviews: dict[str, PromptReview] = {}
    for record in records:
        made = _receive(dialogue, record)
        for request_id, shown in _prompts_in(made):
            # Rules take about a millisecond for each: a thousand prompts in one batch must not block the event loop.
            await anyio.lowlevel.cancel_shielded_checkpoint()
            if request_id not in reviews:
                reviews[request_id] = await review(shown)
        refusal = audit_of_refusal(session_id, record) if record.kind is RecordKind.NOTE else None
        translated.append(TranslatedRecord(record, made, refusal))
    return RecordBatch(translated, reviews, was_open, dialogue.view.turn_open, dialogue.state(), start_time_now())


def _receive(dialogue: Dialogue, record: Record) -> list[v1.AgentEvent]:
    try:
        return dialogue.receive(record)
    except Exception:
        # A dialogue guards itself; this one did not, and the record must not be met twice.
        logger.exception("a record could not be translated", extra={"offset": record.offset})
        return [events.malformed(f"A message of the agent could not be translated (at {record.offset})")]


def _prompts_in(made: Sequence[v1.AgentEvent]) -> list[tuple[str, list[v1.AgentEvent]]]:
    """The prompts that one record opens, each with the events that show it."""
    prompts = [(event.permission_request.request_id, [event]) for event in made if event.HasField("permission_request")]
    questions = [event for event in made if event.HasField("user_question")]
    return [*prompts, (questions[0].user_question.group_id, questions)] if questions else prompts


class PromptReviewer:
    """Asks the rules and the store about the new prompts of one run; the session's lock is held."""

    def __init__(self, run: AgentRun) -> None:
        self._run = run

    async def __call__(self, shown: list[v1.AgentEvent]) -> PromptReview:
        session, screening = self._run.session, self._run.session.screening
        if not shown[0].HasField("permission_request"):
            row = question_row(shown, session.writer.key, self._run.row)
            return PromptReview(peers=await self._peers(row))
        request = shown[0].permission_request
        screened = await screening.screen(request, self._run.dialogue.directory_of(request.tool_use_id))
        if screened.answer is None and not screened.asks_each_time:
            await screening.offer(request)
        row = permission_row(shown[0], session.writer.key, self._run.row)
        return PromptReview(screened, await self._refused_edits(row), await self._peers(row))

    async def _refused_edits(self, row: PromptRow) -> dict[str, str]:
        """Edits of earlier answers are checked with the rules of now, like edits that are made now."""
        refused: dict[str, str] = {}
        for before in carried_answers.reusable(row, self._run.session.orphaned.values()):
            if not before.updated_input:
                continue
            try:
                if await self._run.session.screening.denial_to(row, before.updated_input):
                    refused[before.request_id] = carried_answers.EDIT_DENIED
            except FilesystemTimeout:
                refused[before.request_id] = carried_answers.EDIT_UNCLEAR
        return refused

    async def _peers(self, row: PromptRow) -> dict[str, str]:
        session = self._run.session
        candidates = carried_answers.reusable(row, session.orphaned.values())
        return {before.request_id: await self._peer_of_answer(before) for before in candidates}

    async def _peer_of_answer(self, prompt: PromptRow) -> str:
        """The process that a person's answer came from, as far as that can be read now."""
        session = self._run.session
        try:
            return await session.context.store.peer_of_answer(session.session_id, prompt.request_id)
        except (StorageDegraded, StorageFailed):
            logger.exception("the process behind an answer could not be determined", extra=session.log_extra)
            return ""
