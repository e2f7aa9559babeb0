"""Automatic responses of the engine to an agent's records, stored in the same commit as the records."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from betcode.domain.agents.commands import RefuseRequest, SendMessage
from betcode.domain.store.changes import AddAudit, AddInput
from betcode.domain.store.rows import InputRow
from betcode.domain.values.identifiers import Seq, new_message_id
from betcode.engine.core import events
from betcode.engine.core.ingest import RecordIngest
from betcode.engine.core.prompt_decision import decision_in
from betcode.engine.core.prompt_ingest import USED_BEFORE
from betcode.engine.permissions.agent_denials import denied_by_agent

if TYPE_CHECKING:
    from betcode.engine.shell.run import AgentRun

GO_ON = "Continue from where you left off."
OWN_CLIENT = "betcode"  # who says what no person said


class AutoResponses:
    """Refusals, what rules and grants answer, and what was answered before; no person is asked about any of it."""

    def __init__(self, run: AgentRun) -> None:
        self._run = run
        self._refused: set[str] = set()

    async def add_to(self, intake: RecordIngest) -> None:
        """Everything that a batch of records calls for."""
        session = self._run.session
        for request_id in list(intake.asked):
            if await session.context.store.find_prompt(request_id) is not None:
                intake.refuse(request_id)
                self._refuse(intake, RefuseRequest(request_id, USED_BEFORE))
        for request_id in intake.asked_again:
            self._refuse(intake, RefuseRequest(request_id, USED_BEFORE))
        refusals = self._run.dialogue.view.refusals
        self._refused &= {command.request_id for command in refusals}  # an id may come again
        for command in refusals:
            if command.request_id not in self._refused:
                self._refused.add(command.request_id)
                self._refuse(intake, command)
        self._run_errands(intake)
        for answered in intake.given:
            hand_over(intake, session.answer_row(decision_in(answered).command(answered)))
        await self._answer_by_rule(intake)
        entries, notices = await denied_by_agent(session, intake.said)
        for entry in entries:
            intake.change(AddAudit(entry))
        intake.said += notices

    def must_ask_to_go_on(self, intake: RecordIngest, *, rests: bool) -> bool:
        """Whether the agent takes a message of its broken turn for known, and does not continue the turn by itself.

        It does so once after a crash, and not at all where it was not told to.
        """
        state = self._run.session.writer.state
        if not (state.turn_interrupted and intake.is_turn_lost) or self._run.dialogue.view.turn_open:
            return False
        return state.transcript.may_be_abandoned or (rests and state.crashes.in_a_row > 1)

    def _run_errands(self, intake: RecordIngest) -> None:
        """Each once: its row is open until it comes by, and then the dialogue knows that it was said."""
        if self._run.session.is_closed:
            return  # what was to be handed over was let go of, and would come again
        for errand in self._run.dialogue.view.errands:
            input_id = f"{self._run.run_id}/{errand.errand_id}"
            if input_id not in intake.inputs:
                hand_over(intake, replace(self._run.session.control_row(errand), input_id=input_id))

    def ask_to_go_on(self, intake: RecordIngest) -> None:
        """An agent that crashed takes its turn up by itself, but only once: after that it has to be told."""
        session = self._run.session
        message = SendMessage(new_message_id(), GO_ON)
        seq = Seq(session.writer.next_seq + len(intake.said))
        intake.said.append(events.user_input(GO_ON, message.message_id, OWN_CLIENT, ()))
        nobody_sends_it_again = message.message_id.encode()
        hand_over(intake, session.message_row(message, nobody_sends_it_again, seq))

    async def _answer_by_rule(self, intake: RecordIngest) -> None:
        waits = self._run.dialogue.view.open_requests
        for screened in intake.decided:
            if screened.answer is not None and screened.answer.request_id in waits:
                intake.change(AddAudit(screened.entry))
                row = self._run.session.control_row(screened.answer, screened.answer.request_id)
                hand_over(intake, row)
        rows, entries = await self._run.calls.answers(intake.inputs)
        for row in rows:
            hand_over(intake, row)
        for entry in entries:
            intake.change(AddAudit(entry))

    def _refuse(self, intake: RecordIngest, command: RefuseRequest) -> None:
        hand_over(intake, self._run.session.control_row(command))


def hand_over(intake: RecordIngest, row: InputRow) -> None:
    """Store it with what was taken in, as something that the agent is to get."""
    intake.change(AddInput(row))
