"""Settings, MCP servers and the rules in force."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from betcode.client.connection import Connection
from betcode.v1 import config_pb2 as v1
from betcode.v1.config_pb2_grpc import ConfigServiceStub

if TYPE_CHECKING:
    from betcode.v1.config_pb2_grpc import ConfigServiceAsyncStub  # exists only in the stub files


@dataclass(frozen=True, slots=True)
class ConfigClient:
    """The calls of ConfigService; a call that fails raises a ClientError."""

    connection: Connection

    async def settings(self, *, scope: str = "", working_directory: str = "") -> v1.Settings:
        """Return the settings in force, in a project if one is given; with a scope, only those of that file."""
        request = v1.GetSettingsRequest(scope=scope, working_directory=working_directory)
        return await self.connection.call(self._stub.GetSettings, request)

    async def change(
        self,
        values: Mapping[str, str],
        unset: Iterable[str] = (),
        *,
        scope: str = "",
        working_directory: str = "",
        if_unchanged: str = "",
    ) -> v1.Settings:
        """Set these keys to these JSON texts; with `if_unchanged`, only if the file has not changed since.

        Raises:
            Refused: a value is invalid, the file has changed, or this process runs inside an agent.
        """
        request = v1.UpdateSettingsRequest(
            scope=scope, working_directory=working_directory, if_unchanged=if_unchanged, set=values, unset=unset
        )
        return await self.connection.call(self._stub.UpdateSettings, request, with_ticket=True)

    async def mcp_servers(self, *, status: str = "", session_id: str = "") -> Sequence[v1.McpServerInfo]:
        """Return the MCP servers of agents, as last reported."""
        request = v1.ListMcpServersRequest(status_filter=status, session_id=session_id)
        return (await self.connection.call(self._stub.ListMcpServers, request)).servers

    async def permissions(self, *, session_id: str = "", working_directory: str = "") -> v1.PermissionRules:
        """Return the rules in force, each with its file and line."""
        request = v1.GetPermissionsRequest(session_id=session_id, working_directory=working_directory)
        return await self.connection.call(self._stub.GetPermissions, request)

    @property
    def _stub(self) -> "ConfigServiceAsyncStub":
        return ConfigServiceStub(self.connection.channel)
