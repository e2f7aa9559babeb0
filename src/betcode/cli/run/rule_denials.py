"""What rules denied in a turn, without a prompt that anybody was shown."""

from dataclasses import dataclass, field

from betcode.v1 import agent_pb2 as v1

FOR_PEOPLE = frozenset({"AskUserQuestion", "ExitPlanMode"})  # no rule answers these
_STARTED_AT_MOST = 1000


@dataclass(slots=True)
class RuleDenials:
    """Told by the results of tools: the agent says which it was not let use."""

    tools: list[str] = field(default_factory=list)  # one name for each denial
    prompted: set[str] = field(default_factory=set)  # ids of uses that somebody was asked about
    _started: dict[str, str] = field(default_factory=dict)  # names of tools by the ids of their uses

    def see(self, event: v1.AgentEvent) -> None:
        if event.HasField("tool_call_start"):
            self._started[event.tool_call_start.tool_id] = event.tool_call_start.tool_name
            if len(self._started) > _STARTED_AT_MOST:
                del self._started[next(iter(self._started))]
        elif event.tool_call_result.denied_by and event.tool_call_result.tool_id not in self.prompted:
            name = self._started.get(event.tool_call_result.tool_id, "")
            if name not in FOR_PEOPLE or event.tool_call_result.denied_by == "agent":  # it could not even ask
                self.tools.append(name)
