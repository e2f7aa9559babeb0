"""Events and sessions as JSON for scripts: the protocol's own field names, numbers as numbers."""

from google.protobuf.json_format import MessageToDict

from betcode.v1 import agent_pb2 as v1


def event_json(event: v1.AgentEvent) -> dict[str, object]:
    """One event; `type` names its kind."""
    fields: dict[str, object] = MessageToDict(event, preserving_proto_field_name=True)
    return {"type": event.WhichOneof("event") or "unknown", **fields, "sequence": event.sequence}


def summary_json(summary: v1.SessionSummary) -> dict[str, object]:
    """One session, with every field whether it is set or not."""
    return {
        "id": summary.id,
        "name": summary.name,
        "status": summary.status,
        "provider": summary.provider,
        "model": summary.model,
        "working_directory": summary.working_directory,
        "worktree_id": summary.worktree_id,
        "worktree_name": summary.worktree_name,
        "message_count": summary.message_count,
        "total_input_tokens": summary.total_input_tokens,
        "total_output_tokens": summary.total_output_tokens,
        "total_cost_usd": summary.total_cost_usd,
        "created_at": summary.created_at.ToJsonString(),
        "updated_at": summary.updated_at.ToJsonString(),
        "last_message_preview": summary.last_message_preview,
        "pending_prompts": summary.pending_prompts,
        "run_state": summary.run_state,
        "failure": summary.failure,
        "last_sequence": summary.last_sequence,
        "waiting_for": summary.waiting_for,
        "waiting_until": summary.waiting_until.ToJsonString() if summary.HasField("waiting_until") else "",
        "holds": list(summary.holds),
        "metadata": dict(summary.metadata),
        "forked_from": summary.forked_from,
        "budget": budget_json(summary.budget) if summary.HasField("budget") else None,
        "spent": budget_use_json(summary.budget_use),
    }


def budget_json(budget: v1.Budget) -> dict[str, object]:
    """The limits; 0 is none."""
    return {
        "max_cost_usd": budget.max_cost_usd,
        "max_tokens": budget.max_tokens,
        "max_turns": budget.max_turns,
        "max_duration_ms": budget.max_duration_ms,
        "on_reached": "refuse" if budget.on_reached == v1.BUDGET_ACTION_REFUSE else "ask",
    }


def budget_use_json(used: v1.BudgetUse) -> dict[str, object]:
    """Return what counts against a budget, and which of its limits are reached."""
    return {
        "cost_usd": used.cost_usd,
        "tokens": used.tokens,
        "turns": used.turns,
        "duration_ms": used.duration_ms,
        "reached": list(used.reached),
    }


def connections_json(summary: v1.SessionSummary) -> dict[str, object]:
    """Return who is attached to a session now, and who has the input lock: current state, so it is not exported."""
    return {
        "input_lock_client_id": summary.input_lock_client_id,
        "client_count": summary.client_count,
        "clients": [
            {
                "client_id": one.client_id,
                "client_type": one.client_type,
                "client_name": one.client_name,
                "behind": one.behind,
                "lagging": one.lagging,
            }
            for one in summary.clients
        ],
    }
