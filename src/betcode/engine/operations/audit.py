"""Read and verify the audit, and record calls by agent processes."""

import logging
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

from betcode.domain.errors import BetcodeError
from betcode.domain.permissions.audit import (
    AuditEntry,
    AuditFilter,
    AuditHead,
    AuditKind,
    AuditRow,
    AuditVerification,
    DecidedBy,
    input_hash,
)
from betcode.domain.store.changes import AddAudit
from betcode.engine.client_name import NOBODY, ClientName
from betcode.engine.context import EngineContext
from betcode.holder.lineage import Restraint
from betcode.util.wall_clock import now_ns

logger = logging.getLogger(__name__)

_PAGE_ROWS = 500
_CHECKED_AT_ONCE = 2000  # some milliseconds of a reader's time
_LONGEST = 1000
_MOST_RESTRAINTS = 5000
_LONGEST_ID = 100


@dataclass(frozen=True, slots=True)
class AgentCall:
    """A process inside an agent, or one of which nothing is known, called what changes something."""

    how: str
    method: str = ""  # its full name; empty: it asked for a ticket
    is_allowed: bool = False
    client: ClientName = NOBODY
    request_id: str = ""  # of the prompt it meant
    target: str = ""  # the session it meant
    peer: str = ""
    run_id: str = ""  # whose agent it belongs to; empty: not known


class AuditService:
    """Part of the engine's front door."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context
        self._restraints: dict[tuple[str, str], Restraint] = {}  # of a run and a method

    async def note_agent_call(self, call: AgentCall) -> None:
        """Write the call into the audit. An agent that repeats itself does not fill the disk: the rest is counted."""
        key = (call.run_id, call.method)
        if key not in self._restraints and len(self._restraints) >= _MOST_RESTRAINTS:
            self._restraints.clear()
        held = self._restraints.setdefault(key, Restraint()).passes()
        if held is None:
            return
        try:
            await self._context.store.commit([AddAudit(await self._entry(call, held))])
        except BetcodeError as trouble:  # a refusal stands all the same
            logger.warning("a call of an agent's process could not be written into the audit: %s", trouble.message)

    async def _entry(self, call: AgentCall, held: int) -> AuditEntry:
        request_id = call.request_id.partition("#")[0][:100]
        found = await self._context.store.find_prompt(request_id) if request_id else None
        session = "" if found is None else found[0]
        if not session and call.run_id:
            runs = await self._context.store.live_runs()
            session = next((of for of, run in runs if run.run_id == call.run_id), "")
        method = call.method.rpartition(".")[2]
        of_session = f" of session {call.target[:_LONGEST_ID]}" if call.target else ""
        what = f": {method}{of_session}" if method else ""
        more = f"; {held} earlier attempts are not listed individually" if held else ""
        return AuditEntry(
            at_ns=now_ns(),
            session_id=session,
            request_id=request_id,
            tool_name="" if found is None else found[1].tool_name,
            input_sha256="" if found is None else input_hash(found[1].input_json),
            what=AuditKind.AGENT_CALL if call.is_allowed else AuditKind.REFUSED_ANSWER,
            outcome="allowed" if call.is_allowed else "refused",
            decided_by=DecidedBy.GATE,
            client=call.client.client_id,
            peer=call.peer[:_LONGEST],
            note=f"{call.how}{what}{more}",
        )

    async def rows(self, which: AuditFilter) -> AsyncGenerator[Sequence[AuditRow], None]:
        """What is wanted, the oldest first, a page at a time. Hold it in `aclosing`."""
        after: int | None = None
        left = which.newest or None  # rows that are added meanwhile are not among the newest that were asked for
        while left is None or left > 0:
            limit = _PAGE_ROWS if left is None else min(left, _PAGE_ROWS)
            page = await self._context.store.audit_page(which, after, limit)
            if page:
                yield page
                after = page[-1].number
            if len(page) < limit:
                return
            left = None if left is None else left - len(page)

    async def verify(self, noted: AuditHead | None = None) -> AsyncGenerator[AuditVerification, None]:
        """Compare every row with its hash, some at a time; the last is the result. Hold it in `aclosing`."""
        checked = AuditVerification()
        while not checked.complete:
            checked = await self._context.store.check_audit(checked, _CHECKED_AT_ONCE, noted)
            yield checked
