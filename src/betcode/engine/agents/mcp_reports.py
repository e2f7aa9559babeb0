"""The MCP servers that agents have, as they last reported them themselves."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from betcode.domain.store.rows import SessionRow
from betcode.domain.store.store_ports import SessionFilter
from betcode.domain.values.identifiers import Seq, SessionId
from betcode.engine.context import EngineContext
from betcode.engine.core.counters import KIND_OF
from betcode.v1 import agent_pb2 as v1

_OPEN = ("new", "active", "idle")
_SESSIONS = 500  # that are looked at, the newest first
_NO_NAME = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True)
class ReportedServer:
    name: str
    status: str  # in the agent's own words
    tools: tuple[str, ...]
    session: SessionId
    at_ns: int


async def reported_servers(context: EngineContext, row: SessionRow | None) -> list[ReportedServer]:
    """Of one session, or of all that are open: each server as it was reported last."""
    rows: Sequence[SessionRow] = [] if row is None else [row]
    if row is None:
        rows, _ = await context.store.list_sessions(SessionFilter(statuses=_OPEN, limit=_SESSIONS))
    found: dict[str, ReportedServer] = {}
    for each in rows:
        if not each.state.landmarks.info:
            continue
        for server in await _reported_in(context, each):
            if server.name not in found or found[server.name].at_ns < server.at_ns:
                found[server.name] = server
    return sorted(found.values(), key=lambda server: server.name)


async def _reported_in(context: EngineContext, row: SessionRow) -> list[ReportedServer]:
    told = row.state.landmarks.info  # where the agent last told of itself
    for data in await context.store.events_of_kind(row.key, KIND_OF["session_info"], Seq(told - 1), Seq(told)):
        event = v1.AgentEvent.FromString(data)
        info = event.session_info
        at_ns = event.timestamp.ToNanoseconds()
        return [
            ReportedServer(one.name, one.status, _tools_of(one.name, info), row.new.session_id, at_ns)
            for one in info.mcp_servers
        ]
    return []


def _tools_of(server: str, info: v1.SessionInfo) -> tuple[str, ...]:
    prefix = f"mcp__{_NO_NAME.sub('_', server)}__"
    return tuple(tool.removeprefix(prefix) for tool in info.tools if tool.startswith(prefix))
