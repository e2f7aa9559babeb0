"""What the agent says about itself: where and how it works, denials, compaction, another conversation."""

import hashlib

from betcode.domain.values.text import shortened
from betcode.providers.claude import jobs, slash_commands, turns
from betcode.providers.claude.event_builder import Moment
from betcode.providers.event_builder import uint64
from betcode.v1 import agent_pb2 as v1
from betcode.wire.frames import (
    CompactBoundary,
    ConversationReset,
    Informational,
    Init,
    PermissionDenied,
    Status,
)

_LONGEST = 4000
_PLAN = "plan"
_MCP_SERVERS = 200


def on_init(frame: Init, now: Moment) -> None:
    """A turn begins; what is new about the session is told first."""
    state = now.state
    _follow_conversation(frame.session_id, now)
    state.began = True
    state.model = frame.model or state.model
    servers = [f"{server.name}\1{server.status}" for server in frame.mcp_servers]
    told = hashlib.sha256("\0".join((frame.model, frame.cwd, *frame.tools, *servers)).encode()).hexdigest()[:16]
    commands = slash_commands.newly_named(frame.slash_commands, now)
    if told != state.info or commands:
        state.info = told
        info = now.say().session_info
        info.session_id = now.session.session_id
        info.model = frame.model
        info.working_directory = frame.cwd
        info.worktree_id = now.session.worktree_id
        info.provider = now.session.provider
        info.is_compacted = state.compacted
        info.context_usage_percent = state.context_percent
        info.tools.extend(frame.tools)
        for server in frame.mcp_servers[:_MCP_SERVERS]:
            info.mcp_servers.add(name=shortened(server.name, _LONGEST), status=shortened(server.status, _LONGEST))
        info.commands.extend(commands)
    jobs.forget_past(now)
    turns.begin(now)
    _follow_mode(frame.permission_mode, now)


def on_status(frame: Status, now: Moment) -> None:
    if frame.status == "compacting":
        turns.begin(now)
        now.turn_to(v1.COMPACTING)
    elif frame.status is not None:
        turns.begin(now)
        if now.state.status == v1.COMPACTING:
            now.status(v1.THINKING)
    elif frame.compact_result is not None:
        if now.state.status == v1.COMPACTING:
            now.status(v1.THINKING)
        if frame.compact_error:
            now.state.compact_error = shortened(frame.compact_error, _LONGEST)
            now.notice(v1.NOTICE_KIND_AGENT, f"The conversation was not compacted: {now.state.compact_error}")
    _follow_mode(frame.permission_mode, now)


def _follow_mode(mode: str | None, now: Moment) -> None:
    if mode is None or (mode == _PLAN) == now.state.plan_mode:
        return
    now.state.plan_mode = mode == _PLAN
    change = now.say().plan_mode
    change.active = now.state.plan_mode
    change.plan = now.state.plan
    now.state.plan = ""


def _follow_conversation(session_id: str, now: Moment) -> None:
    """`/clear` gives the conversation another id, and only a later frame says which."""
    state = now.state
    if session_id and state.began and (state.is_reset or session_id != state.conversation_id):
        boundary = now.say().compaction
        boundary.trigger = "clear"
        boundary.new_conversation_id = session_id
        state.context_tokens = 0
        state.context_percent = 0.0
        state.point = ""
    state.is_reset = False
    state.conversation_id = session_id or state.conversation_id


def on_reset(frame: ConversationReset, now: Moment) -> None:  # noqa: ARG001 (its id is not the one to resume by)
    now.state.is_reset = True


def on_compacted(frame: CompactBoundary, now: Moment) -> None:
    facts = frame.compact_metadata
    boundary = now.say().compaction
    boundary.trigger = facts.trigger
    boundary.tokens_before = uint64(facts.pre_tokens)
    boundary.tokens_after = uint64(facts.post_tokens)
    now.state.compacted = True
    now.state.context_tokens = 0
    now.state.read_tokens = 0


def on_denied(frame: PermissionDenied, now: Moment) -> None:
    now.notice(
        v1.NOTICE_KIND_AGENT,
        f"{frame.tool_name} was denied by the agent's own rules",
        tool_name=frame.tool_name,
        tool_use_id=frame.tool_use_id,
        reason=shortened(frame.decision_reason or frame.decision_reason_type or "", _LONGEST),
        message=shortened(frame.message, _LONGEST),
    )


def on_informational(frame: Informational, now: Moment) -> None:
    if frame.content:
        now.notice(v1.NOTICE_KIND_AGENT, shortened(frame.content, _LONGEST), level=frame.level)
