"""Read the audit log through a daemon."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from google.protobuf.timestamp_pb2 import Timestamp

from betcode.client.connection import Connection
from betcode.client.stream import messages_of
from betcode.domain.permissions.audit import AuditFilter, AuditHead
from betcode.v1 import audit_pb2 as v1
from betcode.v1.audit_pb2_grpc import AuditServiceStub


class AuditReader:
    """Reads the audit records and verifies their chain."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._stub = AuditServiceStub(connection.channel)

    async def records(self, which: AuditFilter) -> AsyncGenerator[v1.AuditRecord, None]:
        """Yield the matching records, oldest first. Hold it in `aclosing`."""
        request = v1.ListAuditRequest(session_id=which.session_id, limit=which.newest)
        if which.since_ns:
            request.since.CopyFrom(_moment(which.since_ns))
        if which.until_ns < AuditFilter().until_ns:
            request.until.CopyFrom(_moment(which.until_ns))
        call = self._stub.ListAudit(request, metadata=self._connection.metadata)
        async with aclosing(messages_of(call, v1.ListAuditResponse)) as batches:
            async for batch in batches:
                for record in batch.records:
                    yield record

    async def verify(self, earlier_head: AuditHead | None = None) -> AsyncGenerator[v1.VerifyAuditResponse, None]:
        """Yield the progress of the verification; the last item is the result. Hold it in `aclosing`."""
        request = v1.VerifyAuditRequest()
        if earlier_head is not None:
            request.noted_number, request.noted_hash = earlier_head.number, earlier_head.hash
        call = self._stub.VerifyAudit(request, metadata=self._connection.metadata)
        async with aclosing(messages_of(call, v1.VerifyAuditResponse)) as steps:
            async for step in steps:
                yield step


def _moment(at_ns: int) -> Timestamp:
    moment = Timestamp()
    moment.FromNanoseconds(at_ns)
    return moment
