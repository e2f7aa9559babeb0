"""AuditService: convert, call, convert back."""

import contextlib

from google.protobuf.timestamp_pb2 import Timestamp

from betcode.domain.errors import InvalidRequest
from betcode.domain.permissions.audit import AuditFilter, AuditHead, AuditRow, AuditVerification
from betcode.domain.values.identifiers import NotAnIdentifier, parse_session_id
from betcode.engine import Engine
from betcode.server.rpc import Caller, Context
from betcode.v1 import audit_pb2 as v1


class AuditCalls:
    """The calls about the audit log. They change nothing."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def list_audit(self, _: Caller, request: v1.ListAuditRequest, context: Context) -> None:
        async with contextlib.aclosing(self._engine.audit.rows(_filter(request))) as pages:
            async for page in pages:
                batch = v1.ListAuditResponse(records=[record(row) for row in page])
                await context.write(batch.SerializeToString())

    async def verify_audit(self, _: Caller, request: v1.VerifyAuditRequest, context: Context) -> None:
        expected = AuditHead(request.noted_number, request.noted_hash) if request.noted_number else None
        async with contextlib.aclosing(self._engine.audit.verify(expected)) as steps:
            async for checked in steps:
                await context.write(_verified(checked).SerializeToString())


def record(row: AuditRow) -> v1.AuditRecord:
    entry = row.entry
    shown = v1.AuditRecord(
        number=max(row.number, 0),  # the file may have been modified
        session_id=entry.session_id,
        request_id=entry.request_id,
        tool_name=entry.tool_name,
        input_sha256=entry.input_sha256,
        what=entry.what.value,
        outcome=entry.outcome,
        decided_by=entry.decided_by.value,
        rule=entry.rule,
        client=entry.client,
        peer=entry.peer,
        note=entry.note,
        hash=row.hash,
    )
    shown.time.FromNanoseconds(entry.at_ns)
    return shown


def _filter(request: v1.ListAuditRequest) -> AuditFilter:
    try:
        session = parse_session_id(request.session_id) if request.session_id else ""
    except NotAnIdentifier:
        raise InvalidRequest(f"{request.session_id[:100]!r} is not a session id") from None
    return AuditFilter(
        session_id=session,
        since_ns=_ns(request.since) if request.HasField("since") else 0,
        until_ns=_ns(request.until) if request.HasField("until") else AuditFilter().until_ns,
        newest=request.limit,
    )


def _ns(moment: Timestamp) -> int:
    return max(0, min(moment.ToNanoseconds(), 2**63 - 1))


def _verified(checked: AuditVerification) -> v1.VerifyAuditResponse:
    return v1.VerifyAuditResponse(
        checked=checked.rows,
        total=checked.total,
        head_hash=checked.head,
        complete=checked.complete,
        broken_number=None if checked.broken is None else max(checked.broken, 0),
        broken_reason=checked.why,
    )
