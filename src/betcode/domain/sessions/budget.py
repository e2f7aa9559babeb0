"""The budget of a session: limits, usage, and the action at a limit. No clock, no I/O."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

_ROUNDING = 1e-9  # dollars are added up in floating point


class OnReached(StrEnum):
    ASK = "ask"  # the next message waits until a person raises the limit
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class Amounts:
    """Amounts of each kind: spent ones or limits, where 0 is no limit."""

    cost_usd: float = 0.0
    tokens: int = 0
    turns: int = 0
    duration_ms: int = 0

    def __bool__(self) -> bool:
        return bool(self.cost_usd or self.tokens or self.turns or self.duration_ms)


class _Kind(NamedTuple):
    name: str  # for people and programs
    field: str


_KINDS = (
    _Kind("cost", "cost_usd"),
    _Kind("tokens", "tokens"),
    _Kind("turns", "turns"),
    _Kind("time", "duration_ms"),
)
NO_AMOUNTS = Amounts()


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of a session; without any of them there is no budget."""

    limits: Amounts = NO_AMOUNTS
    on_reached: OnReached = OnReached.ASK
    step: Amounts = NO_AMOUNTS  # the amount that a person adds each time: the limits as they were set
    told: bool = False  # everyone was notified that one of these limits is reached

    def __bool__(self) -> bool:
        return bool(self.limits)


NO_BUDGET = Budget()


def set_to(limits: Amounts, on_reached: OnReached) -> Budget:
    """A budget as a person sets it."""
    return Budget(limits, on_reached, limits) if limits else NO_BUDGET


def limited(budget: Budget) -> tuple[str, ...]:
    """The names of the limits that there are."""
    return tuple(kind.name for kind in _KINDS if getattr(budget.limits, kind.field))


def reached(budget: Budget, spent: Amounts) -> tuple[str, ...]:
    """The names of the limits that are reached."""
    return tuple(kind.name for kind in _KINDS if _is_reached(budget, spent, kind))


def raised(budget: Budget, spent: Amounts) -> Budget:
    """Return a budget with the same amount added to each reached limit, counted from what was actually spent."""
    more: dict[str, float] = {}
    for kind in _KINDS:
        if _is_reached(budget, spent, kind):
            limit, used = getattr(budget.limits, kind.field), getattr(spent, kind.field)
            more[kind.field] = max(limit, used) + getattr(budget.step, kind.field)
    return replace(budget, limits=replace(budget.limits, **more), told=False)  # type: ignore[arg-type]


def describe(amounts: Amounts, names: tuple[str, ...]) -> str:
    """So much of each of these, for people."""
    return ", ".join(_shown(kind.name, getattr(amounts, kind.field)) for kind in _KINDS if kind.name in names)


def _is_reached(budget: Budget, spent: Amounts, kind: _Kind) -> bool:
    limit = getattr(budget.limits, kind.field)
    return bool(limit) and getattr(spent, kind.field) >= limit - _ROUNDING


def _shown(name: str, amount: float) -> str:
    match name:
        case "cost":
            return f"${amount:.4f}".rstrip("0").rstrip(".") if amount else "$0"
        case "time":
            return _duration(amount / 1000)
        case "turns":
            return "1 turn" if amount == 1 else f"{amount:,} turns"
        case _:
            return f"{amount:,} {name}"


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = ((hours, "h"), (minutes, "min"), (rest, "s"))
    return " ".join(f"{number} {unit}" for number, unit in parts if number)
