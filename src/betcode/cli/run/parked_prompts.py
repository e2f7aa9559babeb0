"""Prompts that a run leaves pending: how to answer them, and how they ended."""

import json

from betcode.v1 import agent_pb2 as v1
from betcode.wording.prompts import Prompt, Question
from betcode.wording.render import DENIALS


def how_to_answer(prompt: Prompt) -> str:
    """Return a sentence with the command that answers the prompt."""
    each = " ".join(["--choose NUMBER"] * _asked_together(prompt)) if isinstance(prompt, Question) else "--allow"
    how = f"{each} (or --deny)"
    return f"Answer with: betcode permission answer {prompt.request_id} {how}"


def _asked_together(prompt: Question) -> int:
    try:
        return len(json.loads(prompt.asked.input_json)["questions"]) or 1
    except (ValueError, RecursionError, KeyError, TypeError):
        return 1


def was_denied(resolved: v1.PermissionResolved) -> bool:
    """Whether the request was denied, by a person or because it expired."""
    return resolved.decision in DENIALS or resolved.resolution == "expired"
