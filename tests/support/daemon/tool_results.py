"""The results of tools among the events of a session."""

from collections.abc import Iterable

from betcode.v1 import agent_pb2 as v1


def tool_results(events: Iterable[v1.AgentEvent]) -> list[v1.ToolCallResult]:
    return [event.tool_call_result for event in events if event.HasField("tool_call_result")]
