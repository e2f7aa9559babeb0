"""Convert a session's log to activities: each settled piece once, with the tokens used since the last one."""

from collections.abc import Callable, Iterator

from betcode.domain.events.event_table import EventTable
from betcode.domain.sessions.phase import Phase
from betcode.domain.values.identifiers import SessionId, ulid_spelling
from betcode.engine.core.close import FAILED, STOPPED
from betcode.engine.operations.lifecycle.warm_start import STARTED
from betcode.v1 import agent_pb2 as v1
from obey.local.v1 import local_pb2 as pb

UNTRUSTED = "project_not_trusted"
ASKED, QUESTION, RESOLVED = "permission_requested", "question_asked", "prompt_resolved"
_FINAL_MESSAGE_LIMIT = 500_000  # characters: fits a client with default options in any encoding
_BROKEN_OFF = frozenset({"cancelled", "crashed", "stopped", "error"})
_AT_WORK = frozenset({v1.THINKING, v1.EXECUTING_TOOL, v1.COMPACTING})
_TELLING = ("command", "file_path", "path", "url")  # the target of a tool, before any description of it
_STATUS_OF_EVENT = {STARTED: Phase.RUNNING, STOPPED: Phase.STOPPED, FAILED: Phase.FAILED}


class Activities:
    """The activities of one session for one reader, made from the log's events in order."""

    def __init__(self, session: SessionId) -> None:
        self._session_id = ulid_spelling(session)
        self._tools: dict[str, str] = {}  # names of those that are at work
        self._texts: list[v1.AgentEvent] = []  # settled, and perhaps the turn's final message
        self._input_tokens = 0
        self._output_tokens = 0
        self._phase: Phase | None = None

    def take(self, event: v1.AgentEvent) -> list[pb.SessionActivityEvent]:
        """Return the activities of one event; often none."""
        handler = REPORTED.handler(event)
        return list(handler(self, event)) if handler is not None else []

    def _text(self, event: v1.AgentEvent) -> Iterator[pb.SessionActivityEvent]:
        text = event.text_delta
        if not text.is_complete or not text.text.strip():
            return
        if event.parent_tool_use_id:  # of a subagent: never the turn's final message
            yield self._activity(event, pb.ACTIVITY_TYPE_THINKING, text.text)
            return
        if sum(len(each.text_delta.text) for each in self._texts) + len(text.text) > _FINAL_MESSAGE_LIMIT:
            yield from self._earlier_text()
        self._texts.append(event)

    def _earlier_text(self) -> Iterator[pb.SessionActivityEvent]:
        """Return the earlier text as not final, since something follows it."""
        for event in self._texts:
            yield self._activity(event, pb.ACTIVITY_TYPE_THINKING, event.text_delta.text)
        self._texts.clear()

    def _thinking(self, event: v1.AgentEvent) -> Iterator[pb.SessionActivityEvent]:
        if event.thinking_delta.is_complete and event.thinking_delta.text.strip():
            yield from self._earlier_text()
            yield self._activity(event, pb.ACTIVITY_TYPE_THINKING, event.thinking_delta.text)

    def _tool_start(self, event: v1.AgentEvent) -> Iterator[pb.SessionActivityEvent]:
        yield from self._earlier_text()
        call = event.tool_call_start
        self._tools[call.tool_id] = call.tool_name
        activity = self._activity(event, pb.ACTIVITY_TYPE_TOOL_CALL, _target(call))
        activity.tool_name, activity.tool_call_id = call.tool_name, call.tool_id
        yield activity

    def _tool_result(self, event: v1.AgentEvent) -> Iterator[pb.SessionActivityEvent]:
        yield from self._earlier_text()
        result = event.tool_call_result
        activity = self._activity(event, pb.ACTIVITY_TYPE_TOOL_RESULT, result.output)
        activity.tool_name, activity.tool_call_id = self._tools.pop(result.tool_id, ""), result.tool_id
        activity.tool_success = not result.is_error
        yield activity

    def _usage(self, event: v1.AgentEvent) -> Iterator[pb.SessionActivityEvent]:
        self._input_tokens += event.usage.input_tokens
        self._output_tokens += event.usage.output_tokens
        return iter(())

    def _error(self, event: v1.AgentEvent) -> Iterator[pb.SessionActivityEvent]:
        yield from self._earlier_text()
        yield self._activity(event, pb.ACTIVITY_TYPE_ERROR, event.error.message)

    def _gap(self, event: v1.AgentEvent) -> Iterator[pb.SessionActivityEvent]:
        yield from self._earlier_text()
        yield self._activity(event, pb.ACTIVITY_TYPE_ERROR, f"A part of the history is missing: {event.gap.reason}")

    def _end(self, event: v1.AgentEvent) -> Iterator[pb.SessionActivityEvent]:
        reason = event.turn_complete.stop_reason
        self._tools.clear()
        if reason in _BROKEN_OFF:
            yield from self._earlier_text()
            yield self._activity(event, pb.ACTIVITY_TYPE_ERROR, f"The turn ended: {reason}")
        else:
            last = "\n\n".join(each.text_delta.text for each in self._texts)
            self._texts.clear()
            yield self._activity(event, pb.ACTIVITY_TYPE_COMPLETION, last)

    def _user_input(self, event: v1.AgentEvent) -> Iterator[pb.SessionActivityEvent]:
        yield from self._phase_is(event, Phase.WORKING)

    def _status(self, event: v1.AgentEvent) -> Iterator[pb.SessionActivityEvent]:
        if event.status_change.status == v1.IDLE:
            yield from self._phase_is(event, Phase.RUNNING)
        elif event.status_change.status in _AT_WORK:
            yield from self._phase_is(event, Phase.WORKING)

    def _notice(self, event: v1.AgentEvent) -> Iterator[pb.SessionActivityEvent]:
        details = event.notice.details
        if (phase := _STATUS_OF_EVENT.get(details.get("event", ""))) is not None:
            message = details.get("reason") or event.notice.message
            yield from self._phase_is(event, phase, f"{details['event']}: {message}")
        elif event.notice.kind == v1.NOTICE_KIND_PROJECT:
            how = f" (a client calls {rpc})" if (rpc := details.get("rpc")) else ""
            yield self._activity(event, pb.ACTIVITY_TYPE_STATUS, f"{UNTRUSTED}: {event.notice.message}{how}")

    def _permission(self, event: v1.AgentEvent) -> Iterator[pb.SessionActivityEvent]:
        asked = event.permission_request
        what = f"{ASKED} {asked.request_id}: {asked.tool_name}: {_target(asked)}"
        yield self._prompt(event, what, asked.request_id, asked.tool_name)

    def _question(self, event: v1.AgentEvent) -> Iterator[pb.SessionActivityEvent]:
        asked_id = event.user_question.group_id or event.user_question.question_id
        yield self._prompt(event, f"{QUESTION} {asked_id}: {event.user_question.question}", asked_id)

    def _resolved(self, event: v1.AgentEvent) -> Iterator[pb.SessionActivityEvent]:
        done = event.permission_resolved
        how = v1.PermissionDecision.Name(done.decision) if done.decision else done.resolution
        yield self._prompt(event, f"{RESOLVED} {done.request_id}: {how}", done.request_id)

    def _phase_is(self, event: v1.AgentEvent, phase: Phase, message: str = "") -> Iterator[pb.SessionActivityEvent]:
        if phase is not self._phase or message:
            self._phase = phase
            yield self._activity(event, pb.ACTIVITY_TYPE_STATUS, message or phase.name)

    def _prompt(
        self, event: v1.AgentEvent, message: str, request_id: str, tool_name: str = ""
    ) -> pb.SessionActivityEvent:
        activity = self._activity(event, pb.ACTIVITY_TYPE_STATUS, message)
        activity.tool_call_id, activity.tool_name = request_id, tool_name
        return activity

    def _activity(self, event: v1.AgentEvent, kind: pb.ActivityType.ValueType, content: str) -> pb.SessionActivityEvent:
        activity = pb.SessionActivityEvent(
            session_id=self._session_id,
            type=kind,
            content=content,
            tokens_input=self._input_tokens,
            tokens_output=self._output_tokens,
            timestamp=event.timestamp,
        )
        self._input_tokens = self._output_tokens = 0
        return activity


def _target(use: v1.ToolCallStart | v1.PermissionRequest) -> str:
    """Return the command or the file; the agent's description only if the input has neither."""
    for name in _TELLING:
        if name in use.input.fields and (value := use.input.fields[name].string_value):
            return value
    return use.description or use.input_json


REPORTED: EventTable[Callable[[Activities, v1.AgentEvent], Iterator[pb.SessionActivityEvent]]] = EventTable(
    "obey activities",
    {
        "text_delta": Activities._text,
        "thinking_delta": Activities._thinking,
        "tool_call_start": Activities._tool_start,
        "tool_call_result": Activities._tool_result,
        "usage": Activities._usage,
        "turn_complete": Activities._end,
        "error": Activities._error,
        "gap": Activities._gap,
        "user_input": Activities._user_input,
        "status_change": Activities._status,
        "notice": Activities._notice,
        "permission_request": Activities._permission,
        "user_question": Activities._question,
        "permission_resolved": Activities._resolved,
    },
    ignored=frozenset(
        {"todo_update", "plan_mode", "compaction", "session_info"}  # obey has no activity type for these
        | {"message_state"}  # a call that sends a message reports its outcome
        | {"permission_reminder"}  # the request was reported, and is still open
        | {"input_lock", "presence", "deprecation"}  # about betcode's own clients
    ),
)
