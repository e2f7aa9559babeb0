"""Check permission rules, and trust projects."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from betcode.client.connection import Connection
from betcode.client.stream import messages_of
from betcode.v1 import policy_pb2 as v1
from betcode.v1.policy_pb2_grpc import PolicyServiceStub

if TYPE_CHECKING:
    from betcode.v1.policy_pb2_grpc import PolicyServiceAsyncStub  # exists only in the stub files


@dataclass(frozen=True, slots=True)
class PolicyClient:
    """The calls of PolicyService; a call that fails raises a ClientError."""

    connection: Connection

    async def check(
        self, tool_name: str, input_json: str, *, working_directory: str = "", session_id: str = ""
    ) -> v1.CheckPolicyResponse:
        """Return the decision of rules and grants for a tool call, in a directory or a session."""
        request = v1.CheckPolicyRequest(
            tool_name=tool_name, input_json=input_json, working_directory=working_directory, session_id=session_id
        )
        return await self.connection.call(self._stub.CheckPolicy, request)

    async def try_rules(self, settings_text: str, path: str, since_ns: int) -> AsyncGenerator[v1.TryPolicyUpdate, None]:
        """Yield what other rules would have changed; the last item is a summary. Hold it in `aclosing`."""
        request = v1.TryPolicyRequest(settings_text=settings_text, path=path)
        request.since.FromNanoseconds(since_ns)
        call = self._stub.TryPolicy(request, metadata=self.connection.metadata)
        async with aclosing(messages_of(call, v1.TryPolicyUpdate)) as updates:
            async for update in updates:
                yield update

    async def trust(self, directory: str, *, trusted: bool) -> v1.TrustProjectResponse:
        """Trust or distrust a project's own allow rules; return what changed."""
        request = v1.TrustProjectRequest(directory=directory, trusted=trusted)
        return await self.connection.call(self._stub.TrustProject, request, with_ticket=True)

    async def decline(self, directory: str) -> None:
        """Record that a person declined to trust the project's present files."""
        request = v1.TrustProjectRequest(directory=directory, declined=True)
        await self.connection.call(self._stub.TrustProject, request, with_ticket=True)

    async def inspect(self, *, session_id: str = "", directory: str = "") -> v1.InspectProjectResponse:
        """Return what agents would load from a project's files, for a session, or for a directory and all providers."""
        request = v1.InspectProjectRequest(session_id=session_id, directory=directory)
        return await self.connection.call(self._stub.InspectProject, request)

    async def trusted(self) -> Sequence[v1.TrustedProject]:
        """Return the trusted projects."""
        return (await self.connection.call(self._stub.ListTrusted, v1.ListTrustedRequest())).projects

    @property
    def _stub(self) -> "PolicyServiceAsyncStub":
        return PolicyServiceStub(self.connection.channel)
