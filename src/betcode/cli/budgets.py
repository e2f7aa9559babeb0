"""A session's budget in options and in words."""

from betcode.cli.options import Options
from betcode.domain.budget import Amounts, describe
from betcode.v1 import agent_pb2 as v1

_LIMITS = {
    "max_cost": "max_cost_usd",
    "max_tokens": "max_tokens",
    "max_turns": "max_turns",
    "max_time": "max_duration_ms",
}
_ACTIONS = {"ask": v1.BUDGET_ACTION_ASK, "refuse": v1.BUDGET_ACTION_REFUSE}
_NAMES = ("cost", "tokens", "turns", "time")


def budget_from(options: Options, before: v1.Budget | None = None) -> v1.Budget | None:
    """The budget that the options ask for, in what they name; None where they name nothing."""
    chosen = {name: getattr(options.chosen, name, None) for name in _LIMITS}
    action = options.text("on_reached")
    if not action and all(value is None for value in chosen.values()):
        return None
    budget = v1.Budget()
    if before is not None:
        budget.CopyFrom(before)
    for name, value in chosen.items():
        if value is not None:
            setattr(budget, _LIMITS[name], value)
    if action:
        budget.on_reached = _ACTIONS[action]
    return budget


def budget_lines(budget: v1.Budget, used: v1.BudgetUse) -> list[str]:
    """For people: each limit with what was spent of it."""
    limits = Amounts(budget.max_cost_usd, budget.max_tokens, budget.max_turns, budget.max_duration_ms)
    spent = Amounts(used.cost_usd, used.tokens, used.turns, used.duration_ms)
    lines = [
        f"{name:8} {describe(spent, (name,))} of {describe(limits, (name,)) if limit else 'any amount'}"
        + (" (reached)" if name in used.reached else "")
        for name, limit in zip(_NAMES, _values(limits), strict=True)
    ]
    if not limits:
        return ["No budget", *lines]
    refuses = budget.on_reached == v1.BUDGET_ACTION_REFUSE
    return [*lines, f"then     {'a message is refused' if refuses else 'a message waits until a person raises it'}"]


def budget_fact(budget: v1.Budget, used: v1.BudgetUse) -> str:
    """In one line: the limits, and which are reached."""
    limits = Amounts(budget.max_cost_usd, budget.max_tokens, budget.max_turns, budget.max_duration_ms)
    there = tuple(name for name, limit in zip(_NAMES, _values(limits), strict=True) if limit)
    reached = f", reached: {', '.join(used.reached)}" if used.reached else ""
    return describe(limits, there) + reached


def _values(amounts: Amounts) -> tuple[float, ...]:
    return amounts.cost_usd, amounts.tokens, amounts.turns, amounts.duration_ms
