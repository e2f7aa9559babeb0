"""The conversations the demo agent knows by heart, and which of them a message asks for."""

import re
from pathlib import Path

CASSETTES = Path(__file__).with_name("cassettes")

# In this order: who says hello and asks for a tool wants to see the tool.
_ASKS_FOR: tuple[tuple[str, frozenset[str]], ...] = (
    ("permission", frozenset(("permission", "permissions", "tool", "tools", "allow", "approve", "deny", "command"))),
    ("question", frozenset(("question", "questions", "ask", "choose", "choice"))),
    ("tour", frozenset(("tour", "show", "demonstrate", "demonstration"))),
    ("long", frozenset(("long", "slow", "slowly", "count", "story"))),
    ("hello", frozenset(("hello", "hi", "hey", "hallo", "welcome", "greetings", "morning"))),
    ("what", frozenset(("what", "who", "how", "why", "help", "betcode", "explain", "about"))),
)
UNKNOWN = "unknown"
NAMES = (*(name for name, _ in _ASKS_FOR), UNKNOWN)


def choose(message: str) -> str:
    """The name of the conversation that fits best."""
    words = set(re.findall(r"[a-z]+", message.lower()))
    return next((name for name, asks in _ASKS_FOR if words & asks), UNKNOWN)


def path_of(name: str) -> Path:
    return CASSETTES / f"{name}.ndjson"


def denied_path_of(name: str) -> Path | None:
    """How it goes on when its request is denied, if that was recorded."""
    path = CASSETTES / f"{name}.denied.ndjson"
    return path if path.exists() else None
