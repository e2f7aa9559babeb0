"""Collect the denials by rules in a turn for which no prompt was shown."""

from dataclasses import dataclass, field

from betcode.v1 import agent_pb2 as v1

FOR_PEOPLE = frozenset({"AskUserQuestion", "ExitPlanMode"})  # no rule answers these
_STARTED_AT_MOST = 1000


@dataclass(slots=True)
class RuleDenials:
    """Reads denials from the results of tool calls."""

    tools: list[str] = field(default_factory=list)  # one tool name for each denial
    prompted: set[str] = field(default_factory=set)  # ids of tool calls for which a prompt was shown
    _started: dict[str, str] = field(default_factory=dict)  # tool names by the ids of their calls

    def see(self, event: v1.AgentEvent) -> None:
        if event.HasField("tool_call_start"):
            self._started[event.tool_call_start.tool_id] = event.tool_call_start.tool_name
            if len(self._started) > _STARTED_AT_MOST:
                del self._started[next(iter(self._started))]
        elif event.tool_call_result.denied_by and event.tool_call_result.tool_id not in self.prompted:
            name = self._started.get(event.tool_call_result.tool_id, "")
            # Denied by the agent itself, without a prompt
            if name not in FOR_PEOPLE or event.tool_call_result.denied_by == "agent":
                self.tools.append(name)
