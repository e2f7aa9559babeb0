"""Convert budgets to and from API messages."""

from betcode.domain.errors import InvalidRequest
from betcode.domain.sessions.budget import NO_BUDGET, Amounts, Budget, OnReached, reached, set_to
from betcode.domain.store.rows import SessionState
from betcode.v1 import agent_pb2 as v1

_UINT32_MAX = 2**32 - 1
_ACTIONS = {
    v1.BUDGET_ACTION_UNSPECIFIED: OnReached.ASK,
    v1.BUDGET_ACTION_ASK: OnReached.ASK,
    v1.BUDGET_ACTION_REFUSE: OnReached.REFUSE,
}
_SHOWN = {OnReached.ASK: v1.BUDGET_ACTION_ASK, OnReached.REFUSE: v1.BUDGET_ACTION_REFUSE}


def budget_of(message: v1.Budget) -> Budget:
    """Return the budget; raises InvalidRequest for an unknown action."""
    action = _ACTIONS.get(message.on_reached)
    if action is None:
        raise InvalidRequest(f"{message.on_reached} is not an action of a budget: use ask or refuse")
    limits = Amounts(message.max_cost_usd, message.max_tokens, message.max_turns, message.max_duration_ms)
    return set_to(limits, action)


def shown(budget: Budget) -> v1.Budget:
    limits = budget.limits
    view = v1.Budget(
        max_cost_usd=limits.cost_usd,
        max_tokens=limits.tokens,
        max_turns=min(limits.turns, _UINT32_MAX),
        max_duration_ms=limits.duration_ms,
    )
    if budget != NO_BUDGET:
        view.on_reached = _SHOWN[budget.on_reached]
    return view


def used(state: SessionState) -> v1.BudgetUse:
    spent = state.spent
    return v1.BudgetUse(
        cost_usd=spent.cost_usd,
        tokens=spent.tokens,
        turns=min(spent.turns, _UINT32_MAX),
        duration_ms=spent.duration_ms,
        reached=reached(state.budget, spent),
    )
