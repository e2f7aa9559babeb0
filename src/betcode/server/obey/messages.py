"""SendMessage, StopSession, AnswerPermission."""

from contextlib import aclosing
from dataclasses import replace

from betcode.domain.agents.commands import SendMessage
from betcode.domain.errors import InvalidRequest, SessionClosed
from betcode.domain.values.identifiers import Seq, new_message_id
from betcode.engine import ClientName, Engine, PermissionAnswer
from betcode.server.auth.gate import Gate
from betcode.server.obey.activities import Activities
from betcode.server.obey.errors import ObeyError, ObeyErrorCode
from betcode.server.obey.message_outcome import MessageOutcome
from betcode.server.obey.names import session_of
from betcode.server.obey.session_queries import SessionQueryCalls
from betcode.server.registration import long_call
from betcode.server.rpc import Caller, Context, send_client_id
from betcode.v1 import agent_pb2 as v1
from obey.local.v1 import local_pb2 as pb

CLIENT_TYPE = "obey"


class MessageCalls:
    def __init__(self, engine: Engine, gate: Gate, reading: SessionQueryCalls, stop_timeout_s: float) -> None:
        self._engine = engine
        self._gate = gate
        self._reading = reading
        self._stop_timeout_s = stop_timeout_s

    async def send_message(self, caller: Caller, request: pb.SendMessageRequest, context: Context) -> None:
        """Stream the activities of the turn that answers the message. The turn continues if the caller disconnects."""
        session = session_of(request.session_id)
        message = SendMessage(new_message_id(), request.message)
        client = as_obey_client(caller.client)
        accepted = await self._engine.submit(session, message, client, only_if_running=True)
        await send_client_id(caller, context)
        activities, outcome = Activities(session), MessageOutcome(message.message_id)
        followed = self._engine.watching.follow(session, Seq(accepted.seq - 1), client)
        async with aclosing(followed) as batches:
            async for batch in batches:
                for data in batch.events if batch.first else ():
                    event = v1.AgentEvent.FromString(data)
                    for activity in activities.take(event):
                        await context.write(activity.SerializeToString())
                    outcome.take(event)
                    if outcome.is_over:
                        return
        raise outcome.stopped()

    @long_call
    async def stop_session(self, caller: Caller, request: pb.StopSessionRequest) -> pb.StopSessionResponse:
        session = session_of(request.session_id)
        try:
            in_time = await self._engine.lifecycle.stop(
                session, graceful=request.graceful, within_s=self._stop_timeout_s, client=caller.client.client_id
            )
        except SessionClosed:
            raise ObeyError(ObeyErrorCode.ALREADY_STOPPED, "The session was stopped before") from None
        info = await self._reading.info(session)
        if not in_time:
            raise ObeyError(
                ObeyErrorCode.STOP_TIMED_OUT,
                f"The turn did not end within {self._stop_timeout_s:g} s: the agent was killed, the session is stopped",
                session_id=info.id,
            )
        return pb.StopSessionResponse(session=info)

    async def answer_permission(
        self, caller: Caller, request: pb.AnswerPermissionRequest
    ) -> pb.AnswerPermissionResponse:
        """Through the same gate and the same ledger as any other answer."""
        if not request.request_id:
            raise InvalidRequest("No prompt is named: give the id from the STATUS activity")
        if request.for_session and not request.allow:
            raise InvalidRequest("for_session is only valid with an allow: omit it")
        session = session_of(request.session_id) if request.session_id else None
        decision = v1.DENY
        if request.allow:
            decision = v1.ALLOW_SESSION if request.for_session else v1.ALLOW_ONCE
        request_id = await self._engine.answers.meant(request.request_id, session) if session else request.request_id
        answer = PermissionAnswer(request_id, decision, request.message)
        client = as_obey_client(await self._gate.admit(caller))
        done = await self._engine.answers.permission(answer, client, session)
        return pb.AnswerPermissionResponse(already_answered=done.before)


def as_obey_client(client: ClientName) -> ClientName:
    """Return the client's name; a client without one is named after this API."""
    return client if client.client_type else replace(client, client_type=CLIENT_TYPE)
