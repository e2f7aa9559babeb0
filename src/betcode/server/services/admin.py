"""AdminService: stop the daemon."""

import logging
import os
from collections.abc import Awaitable, Callable, Mapping

from betcode.domain.errors import InvalidRequest
from betcode.engine import AgentShutdownPolicy, ShutdownReport
from betcode.server.auth.gate import Gate
from betcode.server.rpc import Caller
from betcode.v1 import admin_pb2 as v1

logger = logging.getLogger(__name__)

AskStop = Callable[[AgentShutdownPolicy], Awaitable[ShutdownReport]]  # returns when the agents have been dealt with

_AGENTS: Mapping[int, AgentShutdownPolicy] = {
    v1.AGENTS_AT_STOP_IDLE_END: AgentShutdownPolicy.IDLE_END,
    v1.AGENTS_AT_STOP_ALL_STAY: AgentShutdownPolicy.ALL_STAY,
    v1.AGENTS_AT_STOP_ALL_END: AgentShutdownPolicy.ALL_END,
}


class AdminCalls:
    """The calls of AdminService. An agent's own processes may not make them."""

    def __init__(self, gate: Gate, ask_stop: AskStop) -> None:
        self._gate = gate
        self._ask_stop = ask_stop

    async def stop_daemon(self, caller: Caller, request: v1.StopDaemonRequest) -> v1.StopDaemonResponse:
        """Answers when the agents have been dealt with; the server ends after that."""
        if request.pid != os.getpid():
            raise InvalidRequest("PID mismatch: give the PID of the running daemon")
        agents = _AGENTS.get(request.agents)
        if agents is None:
            raise InvalidRequest(
                "This daemon does not support that choice for its agents: it may be older than its client"
            )
        client = await self._gate.admit(caller)
        logger.info("asked to stop by %s; agents: %s", client.client_id, agents.value)
        parting = await self._ask_stop(agents)
        return v1.StopDaemonResponse(agents_ended=parting.ended, agents_left=parting.left)
