"""The end of an agent process: classify it, and decide what follows for its session, its prompts and its row."""

from betcode.engine.core.exit.classify import ExitFacts, RunExit, classify_exit
from betcode.engine.core.exit.exit_decision import (
    TurnRecords,
    continues_turn,
    exit_effects,
    on_exit,
    orphan_prompts,
    reason_not_continued,
    withdraw_all,
)

__all__ = [
    "ExitFacts",
    "RunExit",
    "TurnRecords",
    "classify_exit",
    "continues_turn",
    "exit_effects",
    "on_exit",
    "orphan_prompts",
    "reason_not_continued",
    "withdraw_all",
]
