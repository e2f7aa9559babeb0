"""Count, trace and log the turns of one session, based on committed events."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from betcode.domain.metrics.counts import Counts, DecisionOutcome, Direction
from betcode.domain.metrics.turn_trace import TraceSink, TraceStep, TurnTrace
from betcode.domain.permissions.audit import AuditEntry, AuditKind, DecidedBy
from betcode.domain.sessions.status import SessionStatus
from betcode.domain.store.changes import AddAudit
from betcode.domain.store.rows import SessionState, StoredEvent
from betcode.engine.core.counters import KIND_OF
from betcode.v1.agent_pb2 import AgentEvent

if TYPE_CHECKING:
    from betcode.engine.shell.writer import PreparedWrite

logger = logging.getLogger(__name__)

_TURN_COMPLETE = KIND_OF["turn_complete"]
_TOOL_START = KIND_OF["tool_call_start"]
_TOOL_RESULT = KIND_OF["tool_call_result"]
_DECIDED = {
    (DecidedBy.RULE, "allow"): DecisionOutcome.AUTO_ALLOW,
    (DecidedBy.GRANT, "allow"): DecisionOutcome.AUTO_ALLOW,
    (DecidedBy.RULE, "deny"): DecisionOutcome.AUTO_DENY,
    (DecidedBy.GRANT, "deny"): DecisionOutcome.AUTO_DENY,
    (DecidedBy.PERSON, "allow"): DecisionOutcome.USER_ALLOW,
    (DecidedBy.PERSON, "deny"): DecisionOutcome.USER_DENY,
    (DecidedBy.POLICY, "allow"): DecisionOutcome.AUTO_ALLOW,
    (DecidedBy.POLICY, "deny"): DecisionOutcome.AUTO_DENY,
    (DecidedBy.EXPIRY, "expired"): DecisionOutcome.TIMEOUT,
}
_NO_ALLOWANCE = frozenset({DecisionOutcome.AUTO_DENY, DecisionOutcome.USER_DENY, DecisionOutcome.TIMEOUT})
# What an agent calls its tools may be anything at all, so only names that are known leave the daemon.
_KNOWN_TOOLS = frozenset(
    {"AskUserQuestion", "Bash", "BashOutput", "Edit", "ExitPlanMode", "Glob", "Grep", "KillShell", "MultiEdit"}
    | {"NotebookEdit", "NotebookRead", "Read", "Skill", "SlashCommand", "Task", "TodoWrite", "WebFetch", "WebSearch"}
    | {"Agent", "Write"}
)
_KNOWN_REASONS = frozenset({"end_turn", "cancelled", "error", "crashed", "stopped", "max_tokens", "max_turns"})


def shown_tool(name: str) -> str:
    """The tool as it may be exported: its name where that is a usual one."""
    return name if name in _KNOWN_TOOLS else "mcp" if name.startswith("mcp__") else "other"


class TurnMetrics:
    """A turn begins when its session becomes active or the one before it ends, and ends with `turn_complete`."""

    def __init__(
        self, session_id: str, provider: str, state: SessionState, counts: Counts, sink: TraceSink | None
    ) -> None:
        self.trace: TurnTrace | None = None  # of the open turn, where traces are wanted
        self.last: TurnTrace | None = None  # of the turn before it: its last events may still be on their way
        self._session_id = session_id
        self._provider = provider
        self._counts = counts
        self._sink = sink
        self._began_ns = 0  # 0: no turn is open, or it began under another daemon
        self._evaluated_ns = 0  # in the batch that is being read
        self._tools: dict[str, tuple[int, str]] = {}  # those at work, by id
        if state.status is SessionStatus.ACTIVE:
            self._begin_trace(is_whole=False)

    # ------------------------------------------------------------ what others measured

    def parsing(self) -> int:
        """Lines are being read from now on; for `parsed`."""
        self._evaluated_ns = 0
        return time.monotonic_ns()

    def parsed(self, began_ns: int, lines: int) -> None:
        if self.trace is not None:
            self.trace.parsing.add(began_ns, time.monotonic_ns(), lines, other_ns=self._evaluated_ns)

    def appended(self, began_ns: int) -> None:
        """A commit of this session is on disk."""
        now_ns = time.monotonic_ns()
        self._counts.commits.add((now_ns - began_ns) / 1e9)
        if self.trace is not None:
            self.trace.append.add(began_ns, now_ns, 1)

    def append_failed(self) -> None:
        self._counts.commits_failed += 1

    def sent(self, began_ns: int, events: int) -> None:
        """Events are with one client."""
        trace = self.trace or self.last
        if trace is not None:
            trace.broadcast.add(began_ns, time.monotonic_ns(), events)

    def spawned(self, began_ns: int) -> None:
        now_ns = time.monotonic_ns()
        self._counts.subprocess_spawns += 1
        self._counts.spawns.add((now_ns - began_ns) / 1e9)
        if self.trace is not None:
            self.trace.add(TraceStep("spawn", began_ns, now_ns))

    def evaluated(self, began_ns: int, tool_name: str, outcome: str) -> None:
        """The permission engine has decided about a use of a tool."""
        if self.trace is not None:
            now_ns = time.monotonic_ns()
            self._evaluated_ns += now_ns - began_ns
            facts = {"tool": shown_tool(tool_name), "outcome": outcome}
            self.trace.add(TraceStep("permission", began_ns, now_ns, facts))

    # ------------------------------------------------------------ what was committed

    def written(self, before: SessionState, prepared: PreparedWrite) -> None:
        """Something of this session is on disk, and has been announced."""
        after = prepared.state
        for change in prepared.changes:
            if type(change) is AddAudit:
                self._note_decision(change.entry)
        if any(prepared.usage):
            tokens = self._counts.tokens
            for direction, number in zip(Direction, prepared.usage, strict=True):
                tokens[direction] += number
        if self.trace is not None and prepared.stored:
            self._note_tools(prepared.stored)
        is_over = after.turns > before.turns
        if is_over:
            self._end(_reason_in(prepared.stored))
        is_open = after.status is SessionStatus.ACTIVE
        if is_open and (is_over or before.status is not SessionStatus.ACTIVE):
            self._begin()
        elif not is_open:
            self._began_ns, self.trace = 0, None
            self._tools.clear()

    def announced(self, began_ns: int, events: int) -> None:
        """Followers were told that there is something new."""
        if self.trace is not None and events:
            self.trace.broadcast.add(began_ns, time.monotonic_ns(), events)

    # ------------------------------------------------------------ inside

    def _begin(self) -> None:
        self._began_ns = time.monotonic_ns()
        self._begin_trace(is_whole=True)
        logger.debug("a turn begins", extra=self._extra)

    def _begin_trace(self, *, is_whole: bool) -> None:
        if self._sink is not None:
            now_ns = time.monotonic_ns()
            offset_ns = time.time_ns() - now_ns
            self.trace = TurnTrace(self._session_id, self._provider, now_ns, offset_ns, is_whole)

    def _end(self, reason: str) -> None:
        now_ns = time.monotonic_ns()
        facts: dict[str, object] = {"stop_reason": reason}
        if self._began_ns:
            seconds = (now_ns - self._began_ns) / 1e9
            self._counts.turns.add(seconds)
            facts["duration_ms"] = round(seconds * 1000)
        logger.info("a turn is over", extra=self._extra | facts)
        if self.trace is not None and self._sink is not None:
            self.trace.ended_ns = now_ns
            self.trace.stop_reason = reason
            for began_ns, tool in self._tools.values():  # cut off with the turn
                self.trace.add(TraceStep("tool", began_ns, now_ns, {"tool": tool}, failed=True))
            self._sink.turn_over(self.trace)
        self._tools.clear()
        self._began_ns, self.trace, self.last = 0, None, self.trace

    def _note_tools(self, stored: Sequence[StoredEvent]) -> None:
        for each in stored:
            if each.kind == _TOOL_START:
                begun = AgentEvent.FromString(each.data).tool_call_start
                self._tools[begun.tool_id] = time.monotonic_ns(), shown_tool(begun.tool_name)
            elif each.kind == _TOOL_RESULT and self.trace is not None:
                ended = AgentEvent.FromString(each.data).tool_call_result
                began_ns, tool = self._tools.pop(ended.tool_id, (0, ""))
                if began_ns:
                    now_ns = time.monotonic_ns()
                    self.trace.add(TraceStep("tool", began_ns, now_ns, {"tool": tool}, failed=ended.is_error))

    def _note_decision(self, entry: AuditEntry) -> None:
        if entry.what is not AuditKind.DECISION:
            return
        facts = {"span": "permission", "request_id": entry.request_id[:200], "tool": entry.tool_name[:200]}
        decided = _DECIDED.get((entry.decided_by, entry.outcome))
        if decided is None:
            logger.debug("a use of a tool: %s", entry.outcome, extra=self._extra | facts)
            return
        self._counts.permission_decisions[decided] += 1
        level = logging.WARNING if decided in _NO_ALLOWANCE else logging.DEBUG
        said = {DecisionOutcome.TIMEOUT: "expired"}.get(decided, "denied" if level == logging.WARNING else "allowed")
        facts |= {"decision": decided.value, "rule": entry.rule, "client": entry.client}
        logger.log(level, "a use of a tool was %s", said, extra=self._extra | facts)

    @property
    def _extra(self) -> dict[str, object]:
        return {"session_id": self._session_id}


def _reason_in(stored: Sequence[StoredEvent]) -> str:
    """Why the turn ended, in a word of ours."""
    last = next((each for each in reversed(stored) if each.kind == _TURN_COMPLETE), None)
    reason = "" if last is None else AgentEvent.FromString(last.data).turn_complete.stop_reason
    return reason if reason in _KNOWN_REASONS else "other"
