"""Validates the name of a model for Claude Code."""

import re
from collections.abc import Mapping

_ALIAS = re.compile(r"(default|best|opus|sonnet|haiku|opusplan)(\[1m\])?")
# Somebody else's service in front of the models has its own names for them.
_ELSEWHERE = ("ANTHROPIC_BASE_URL", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY")


def model_refusal(model: str, environment: Mapping[str, str]) -> str:
    """Why it cannot be, in a sentence; empty where it can."""
    if any(environment.get(name) for name in _ELSEWHERE):
        return ""
    if _ALIAS.fullmatch(model) or "claude" in model or "anthropic" in model:
        return ""
    return f"Claude Code has no model {model[:80]!r}: name one such as opus, sonnet, haiku or claude-opus-4-1"
