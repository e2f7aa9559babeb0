"""Session grants: what people allowed or denied for the rest of a session."""

from collections.abc import Sequence
from dataclasses import dataclass

from betcode.client.connection import Connection
from betcode.v1 import agent_pb2 as v1


@dataclass(frozen=True, slots=True)
class GrantClient:
    """The calls about a session's grants; a call that fails raises a ClientError."""

    connection: Connection

    async def list(self, session_id: str) -> Sequence[v1.SessionGrantEntry]:
        """Return the grants and refusals of a session, oldest first."""
        request = v1.ListSessionGrantsRequest(session_id=session_id)
        return (await self.connection.call(self.connection.stub.ListSessionGrants, request)).grants

    async def set(self, session_id: str, tool_name: str, *, pattern: str = "", granted: bool = True) -> None:
        """Grant a tool, or the calls that a rule for it covers, for the rest of the session, or refuse it."""
        request = v1.SetSessionGrantRequest(
            session_id=session_id, tool_name=tool_name, pattern=pattern, granted=granted
        )
        await self.connection.call(self.connection.stub.SetSessionGrant, request, with_ticket=True)

    async def clear(self, session_id: str, tool_name: str = "", *, pattern: str = "") -> int:
        """Remove grants and refusals, of one tool or all; return how many there were."""
        request = v1.ClearSessionGrantsRequest(session_id=session_id, tool_name=tool_name, pattern=pattern)
        stub = self.connection.stub
        return (await self.connection.call(stub.ClearSessionGrants, request, with_ticket=True)).cleared
