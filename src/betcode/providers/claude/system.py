"""Translates the agent's system frames: directory, mode, denials, compaction, and a change of conversation."""

import hashlib

from betcode.domain.values.text import shortened
from betcode.providers.claude import jobs, slash_commands, turns
from betcode.providers.claude.event_builder import ClaudeEventBuilder
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


def on_init(frame: Init, builder: ClaudeEventBuilder) -> None:
    """A turn begins; what is new about the session is told first."""
    state = builder.state
    _follow_conversation(frame.session_id, builder)
    state.began = True
    state.model = frame.model or state.model
    servers = [f"{server.name}\1{server.status}" for server in frame.mcp_servers]
    told = hashlib.sha256("\0".join((frame.model, frame.cwd, *frame.tools, *servers)).encode()).hexdigest()[:16]
    commands = slash_commands.newly_named(frame.slash_commands, builder)
    if told != state.info or commands:
        state.info = told
        info = builder.new_event().session_info
        info.session_id = builder.session.session_id
        info.model = frame.model
        info.working_directory = frame.cwd
        info.worktree_id = builder.session.worktree_id
        info.provider = builder.session.provider
        info.is_compacted = state.compacted
        info.context_usage_percent = state.context_percent
        info.tools.extend(frame.tools)
        for server in frame.mcp_servers[:_MCP_SERVERS]:
            info.mcp_servers.add(name=shortened(server.name, _LONGEST), status=shortened(server.status, _LONGEST))
        info.commands.extend(commands)
    jobs.forget_past(builder)
    turns.begin(builder)
    _follow_mode(frame.permission_mode, builder)


def on_status(frame: Status, builder: ClaudeEventBuilder) -> None:
    if frame.status == "compacting":
        turns.begin(builder)
        builder.turn_to(v1.COMPACTING)
    elif frame.status is not None:
        turns.begin(builder)
        if builder.state.status == v1.COMPACTING:
            builder.status(v1.THINKING)
    elif frame.compact_result is not None:
        if builder.state.status == v1.COMPACTING:
            builder.status(v1.THINKING)
        if frame.compact_error:
            builder.state.compact_error = shortened(frame.compact_error, _LONGEST)
            builder.notice(v1.NOTICE_KIND_AGENT, f"The conversation was not compacted: {builder.state.compact_error}")
    _follow_mode(frame.permission_mode, builder)


def _follow_mode(mode: str | None, builder: ClaudeEventBuilder) -> None:
    if mode is None or (mode == _PLAN) == builder.state.plan_mode:
        return
    builder.state.plan_mode = mode == _PLAN
    change = builder.new_event().plan_mode
    change.active = builder.state.plan_mode
    change.plan = builder.state.plan
    builder.state.plan = ""


def _follow_conversation(session_id: str, builder: ClaudeEventBuilder) -> None:
    """`/clear` gives the conversation another id, and only a later frame says which."""
    state = builder.state
    if session_id and state.began and (state.is_reset or session_id != state.conversation_id):
        boundary = builder.new_event().compaction
        boundary.trigger = "clear"
        boundary.new_conversation_id = session_id
        state.context_tokens = 0
        state.context_percent = 0.0
        state.point = ""
    state.is_reset = False
    state.conversation_id = session_id or state.conversation_id


def on_reset(frame: ConversationReset, builder: ClaudeEventBuilder) -> None:  # noqa: ARG001 (its id is not the one to resume by)
    builder.state.is_reset = True


def on_compacted(frame: CompactBoundary, builder: ClaudeEventBuilder) -> None:
    facts = frame.compact_metadata
    boundary = builder.new_event().compaction
    boundary.trigger = facts.trigger
    boundary.tokens_before = uint64(facts.pre_tokens)
    boundary.tokens_after = uint64(facts.post_tokens)
    builder.state.compacted = True
    builder.state.context_tokens = 0
    builder.state.read_tokens = 0


def on_denied(frame: PermissionDenied, builder: ClaudeEventBuilder) -> None:
    builder.notice(
        v1.NOTICE_KIND_AGENT,
        f"{frame.tool_name} was denied by the agent's own rules",
        tool_name=frame.tool_name,
        tool_use_id=frame.tool_use_id,
        reason=shortened(frame.decision_reason or frame.decision_reason_type or "", _LONGEST),
        message=shortened(frame.message, _LONGEST),
    )


def on_informational(frame: Informational, builder: ClaudeEventBuilder) -> None:
    if frame.content:
        builder.notice(v1.NOTICE_KIND_AGENT, shortened(frame.content, _LONGEST), level=frame.level)
