"""Check permission rules, and trust projects."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from betcode.client.connection import Connection
from betcode.client.stream import told
from betcode.v1 import policy_pb2 as v1
from betcode.v1.policy_pb2_grpc import PolicyServiceStub

if TYPE_CHECKING:
    from betcode.v1.policy_pb2_grpc import PolicyServiceAsyncStub  # known to the stub files only


@dataclass(frozen=True, slots=True)
class PolicyClient:
    """The calls of PolicyService; what cannot be helped is a ClientError."""

    connection: Connection

    async def check(
        self, tool_name: str, input_json: str, *, working_directory: str = "", session_id: str = ""
    ) -> v1.CheckPolicyResponse:
        """What rules and grants would say to a use of a tool, in a directory or in a session."""
        request = v1.CheckPolicyRequest(
            tool_name=tool_name, input_json=input_json, working_directory=working_directory, session_id=session_id
        )
        return await self.connection.call(self._stub.CheckPolicy, request)

    async def try_rules(self, settings_text: str, path: str, since_ns: int) -> AsyncGenerator[v1.TryPolicyUpdate, None]:
        """What the rules of a settings file would have changed; the last update is a summary. Hold it in `aclosing`."""
        request = v1.TryPolicyRequest(settings_text=settings_text, path=path)
        request.since.FromNanoseconds(since_ns)
        call = self._stub.TryPolicy(request, metadata=self.connection.metadata)
        async with aclosing(told(call, v1.TryPolicyUpdate)) as updates:
            async for update in updates:
                yield update

    async def trust(self, directory: str, *, trusted: bool) -> v1.TrustProjectResponse:
        """Let a project's own allow rules count from now on, or no longer; the answer says what changed."""
        request = v1.TrustProjectRequest(directory=directory, trusted=trusted)
        return await self.connection.call(self._stub.TrustProject, request, with_ticket=True)

    async def decline(self, directory: str) -> None:
        """Say that a person was asked to trust what the project brings now, and did not."""
        request = v1.TrustProjectRequest(directory=directory, declined=True)
        await self.connection.call(self._stub.TrustProject, request, with_ticket=True)

    async def inspect(self, *, session_id: str = "", directory: str = "") -> v1.InspectProjectResponse:
        """What agents would load from a project's files, for a session or for a directory and every kind of agent."""
        request = v1.InspectProjectRequest(session_id=session_id, directory=directory)
        return await self.connection.call(self._stub.InspectProject, request)

    async def trusted(self) -> Sequence[v1.TrustedProject]:
        """The projects that people trusted here."""
        return (await self.connection.call(self._stub.ListTrusted, v1.ListTrustedRequest())).projects

    @property
    def _stub(self) -> "PolicyServiceAsyncStub":
        return PolicyServiceStub(self.connection.channel)
