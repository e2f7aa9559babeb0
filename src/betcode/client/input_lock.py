"""Request and release the input lock of a session."""

from dataclasses import dataclass

from betcode.client.connection import Connection
from betcode.v1 import agent_pb2 as v1

_TIMEOUT_S = 600.0  # each client that asked before us has the holder's whole time to answer


@dataclass(frozen=True, slots=True)
class LockAnswer:
    """Whether this client got the input lock, and who held it before."""

    granted: bool
    previous_holder: str


@dataclass(frozen=True, slots=True)
class InputLockClient:
    """The calls about a session's input lock; a call that fails raises a ClientError."""

    connection: Connection

    async def request(self, session_id: str) -> LockAnswer:
        """Request the lock, and wait for the holder's answer.

        To keep the lock, follow the session with this client: a client without a stream loses it after the call.
        """
        request = v1.InputLockRequest(session_id=session_id)
        answer = await self.connection.call(
            self.connection.stub.RequestInputLock, request, timeout_s=_TIMEOUT_S, with_ticket=True
        )
        return LockAnswer(answer.granted, answer.previous_holder)

    async def answer(self, session_id: str, asking_client_id: str, *, grant: bool) -> None:
        """Grant or refuse the lock to a waiting client; only the holder may answer."""
        request = v1.AnswerLockRequestRequest(session_id=session_id, asking_client_id=asking_client_id, grant=grant)
        await self.connection.call(self.connection.stub.AnswerLockRequest, request, with_ticket=True)
