"""Convert rows to API messages."""

from collections.abc import Mapping
from types import MappingProxyType

from betcode.domain.events.search_documents import SearchPage
from betcode.domain.store.rows import GrantRow, InputState, PromptKind, PromptRow
from betcode.domain.values.identifiers import SessionId
from betcode.engine import CompactionResult, Summary, WithdrawResult
from betcode.server.convert import budgets
from betcode.util.wall_clock import now_ns
from betcode.v1 import agent_pb2 as v1

_UINT32_MAX = 2**32 - 1
_CLIENTS_SHOWN = 50
_NO_NAMES: Mapping[str, str] = MappingProxyType({})
AGENT_IS_GONE = "The agent has exited. It gets your answer when it restarts"


def attached(info: v1.SessionInfo) -> bytes:
    """Return the first message of a stream that attaches: for this stream only, so it has no number."""
    event = v1.AgentEvent(session_info=info)
    event.timestamp.FromNanoseconds(now_ns())
    return event.SerializeToString()


def open_prompt_events(prompt: PromptRow, *, agent_is_gone: bool) -> list[bytes]:
    """The events of an open prompt, for a stream that attaches: without number, marked as a repetition."""
    events = _events(prompt)
    for event in events:
        event.sequence = 0
        match event.WhichOneof("event"):
            case "permission_request":
                _mark(event.permission_request, agent_is_gone=agent_is_gone)
            case "user_question":
                _mark(event.user_question, agent_is_gone=agent_is_gone)
            case _:
                pass
    return [event.SerializeToString() for event in events]


def _mark(prompt: v1.PermissionRequest | v1.UserQuestion, *, agent_is_gone: bool) -> None:
    prompt.is_replay = True
    if agent_is_gone:
        prompt.note = f"{prompt.note}. {AGENT_IS_GONE}" if prompt.note else AGENT_IS_GONE


def withdrawn(done: WithdrawResult) -> v1.WithdrawMessageResponse:
    state = v1.MessageState.Value(f"MESSAGE_STATE_{done.state.name}")
    return v1.WithdrawMessageResponse(withdrawn=done.state is InputState.CANCELLED, state=state)


def pending(session: SessionId, prompt: PromptRow, *, agent_is_gone: bool) -> v1.PendingPrompt:
    """One entry of the list of open prompts."""
    view = v1.PendingPrompt(session_id=session, request_id=prompt.request_id, sequence=prompt.seq)
    view.agent_is_gone = agent_is_gone
    view.asked_at.FromNanoseconds(prompt.asked_ns)
    if prompt.expires_ns:
        view.expires_at.FromNanoseconds(prompt.expires_ns)
    for event in _events(prompt):
        match event.WhichOneof("event"):
            case "permission_request":
                view.permission.CopyFrom(event.permission_request)
            case "user_question":
                view.questions.questions.append(event.user_question)
                view.questions.answers.update(prompt.answers)
            case _:
                pass
    return view


def grant(row: GrantRow) -> v1.SessionGrantEntry:
    """One entry of the list of a session's grants."""
    view = v1.SessionGrantEntry(
        tool_name=row.tool_name,
        granted=row.allows,
        pattern=row.pattern or row.tool_name,
        granted_by=row.granted_by,
        request_id=row.request_id,
    )
    view.granted_at.FromNanoseconds(row.created_ns)
    return view


def summary(entry: Summary, worktree_names: Mapping[str, str] = _NO_NAMES) -> v1.SessionSummary:
    """One line of the list of sessions."""
    row, state = entry.row, entry.row.state
    view = v1.SessionSummary(
        id=row.new.session_id,
        model=state.model or row.new.model,
        working_directory=row.new.working_directory,
        worktree_id=row.new.worktree_id,
        worktree_name=worktree_names.get(row.new.worktree_id, ""),
        status=state.status.value,
        message_count=min(state.message_count, _UINT32_MAX),
        total_input_tokens=min(state.input_tokens, _UINT32_MAX),
        total_output_tokens=min(state.output_tokens, _UINT32_MAX),
        total_cost_usd=state.cost_usd,
        last_message_preview=state.preview,
        name=state.name,
        provider=row.new.provider,
        pending_prompts=row.pending_prompts,
        run_state=row.run_state.value if row.run_state else "",
        last_sequence=state.last_seq,
        waiting_for=entry.waiting.what,
        holds=entry.holds,
        metadata=row.new.metadata,
        input_lock_client_id=entry.lock_holder.client_id,
        client_count=len(entry.clients),
        forked_from=row.new.forked_from,
        failure=row.failure,
        budget_use=budgets.used(state),
    )
    if state.budget:
        view.budget.CopyFrom(budgets.shown(state.budget))
    if entry.waiting.until_ns:
        view.waiting_until.FromNanoseconds(entry.waiting.until_ns)
    for each in entry.clients[:_CLIENTS_SHOWN]:
        name = each.client
        view.clients.add(
            client_id=name.client_id,
            client_type=name.client_type,
            client_name=name.shown_as,
            behind=each.behind,
            lagging=each.lagging,
        )
    view.created_at.FromNanoseconds(row.new.created_ns)
    view.updated_at.FromNanoseconds(state.updated_ns or row.new.created_ns)
    return view


def compacted(done: CompactionResult) -> v1.CompactSessionResponse:
    """Return the result of a compaction."""
    return v1.CompactSessionResponse(
        messages_before=min(done.messages_before, _UINT32_MAX),
        messages_after=min(done.messages_after, _UINT32_MAX),
        tokens_saved=min(done.tokens_saved, _UINT32_MAX),
    )


def search_page(page: SearchPage) -> v1.SearchSessionsResponse:
    """Return one page of search results."""
    view = v1.SearchSessionsResponse(total=page.total, incomplete=not page.complete)
    for hit in page.hits:
        shown = view.hits.add(
            session_id=hit.session,
            sequence=hit.seq,
            excerpt=hit.excerpt,
            speaker=hit.speaker.value,
            session_name=hit.session_name,
        )
        shown.timestamp.FromNanoseconds(hit.at_ns)
    return view


def _events(prompt: PromptRow) -> list[v1.AgentEvent]:
    """As first shown, with the end that holds now."""
    if prompt.kind is PromptKind.PERMISSION:
        events = [v1.AgentEvent.FromString(prompt.event)]
    else:
        events = list(v1.AgentEventBatch.FromString(prompt.event).events)
    for event in events if prompt.expires_ns else ():
        if event.HasField("permission_request"):
            event.permission_request.expires_at.FromNanoseconds(prompt.expires_ns)
        elif event.HasField("user_question"):
            event.user_question.expires_at.FromNanoseconds(prompt.expires_ns)
    return events
