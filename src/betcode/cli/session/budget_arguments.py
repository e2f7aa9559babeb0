"""Build a session's budget from options."""

from betcode.cli.core.options import CommandOptions
from betcode.v1 import agent_pb2 as v1

_LIMITS = {
    "max_cost": "max_cost_usd",
    "max_tokens": "max_tokens",
    "max_turns": "max_turns",
    "max_time": "max_duration_ms",
}
_ACTIONS = {"ask": v1.BUDGET_ACTION_ASK, "refuse": v1.BUDGET_ACTION_REFUSE}


def budget_from(options: CommandOptions, before: v1.Budget | None = None) -> v1.Budget | None:
    """Return the budget that the options change; None if they change nothing."""
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
