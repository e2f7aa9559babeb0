"""A session's budget as text."""

from betcode.domain.sessions.budget import Amounts, describe
from betcode.v1 import agent_pb2 as v1

_NAMES = ("cost", "tokens", "turns", "time")


def budget_lines(budget: v1.Budget, used: v1.BudgetUse) -> list[str]:
    """Return a line for each limit with its usage."""
    limits = Amounts(budget.max_cost_usd, budget.max_tokens, budget.max_turns, budget.max_duration_ms)
    spent = Amounts(used.cost_usd, used.tokens, used.turns, used.duration_ms)
    lines = [
        f"{name:8} {describe(spent, (name,))}{f' of {describe(limits, (name,))}' if limit else ' (no limit)'}"
        + (" (reached)" if name in used.reached else "")
        for name, limit in zip(_NAMES, _values(limits), strict=True)
    ]
    if not limits:
        return ["No budget", *lines]
    refuses = budget.on_reached == v1.BUDGET_ACTION_REFUSE
    return [*lines, f"at limit {'refuse the next message' if refuses else 'ask before the next message'}"]


def budget_fact(budget: v1.Budget, used: v1.BudgetUse) -> str:
    """Return the limits, and those that are reached, on one line."""
    limits = Amounts(budget.max_cost_usd, budget.max_tokens, budget.max_turns, budget.max_duration_ms)
    there = tuple(name for name, limit in zip(_NAMES, _values(limits), strict=True) if limit)
    reached = f", reached: {', '.join(used.reached)}" if used.reached else ""
    return describe(limits, there) + reached


def _values(amounts: Amounts) -> tuple[float, ...]:
    return amounts.cost_usd, amounts.tokens, amounts.turns, amounts.duration_ms
