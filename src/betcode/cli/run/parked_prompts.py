"""Prompts that are left open by a run: how they are answered, and how they ended."""

import json

from betcode.v1 import agent_pb2 as v1
from betcode.wording.prompts import Prompt, Question
from betcode.wording.render import DENIALS


def how_to_answer(prompt: Prompt) -> str:
    """One sentence with the command that answers it."""
    each = " ".join(["--choose NUMBER"] * _asked_together(prompt)) if isinstance(prompt, Question) else "--allow"
    how = f"{each} (or --deny)"
    return f"Answer with: betcode permission answer {prompt.request_id} {how}"


def _asked_together(prompt: Question) -> int:
    try:
        return len(json.loads(prompt.asked.input_json)["questions"]) or 1
    except (ValueError, RecursionError, KeyError, TypeError):
        return 1


def was_denied(resolved: v1.PermissionResolved) -> bool:
    """Whether the agent was told no: by a person, or because nobody answered in time."""
    return resolved.decision in DENIALS or resolved.resolution == "expired"
