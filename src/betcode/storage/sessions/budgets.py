"""Convert a session's budget to and from the text in its row."""

import json
from dataclasses import asdict

from betcode.domain.sessions.budget import NO_BUDGET, Amounts, Budget, OnReached


def budget_text(budget: Budget) -> str:
    return json.dumps(asdict(budget)) if budget else ""


def budget_of(text: str) -> Budget:
    if not text:
        return NO_BUDGET
    kept = json.loads(text)
    return Budget(
        limits=Amounts(**kept["limits"]),
        on_reached=OnReached(kept["on_reached"]),
        step=Amounts(**kept["step"]),
        told=kept["told"],
    )
