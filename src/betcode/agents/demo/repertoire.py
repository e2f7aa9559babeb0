"""The built-in conversations, and the selection of one by a message."""

import re
from collections.abc import Mapping
from pathlib import Path

CASSETTES = Path(__file__).with_name("cassettes")

# In this order: a message with a greeting and a tool selects the tool.
_ASKS_FOR: tuple[tuple[str, frozenset[str]], ...] = (
    ("tour", frozenset(("tour",))),
    ("reconnect", frozenset(("reconnect", "reconnects", "restart"))),
    ("permission", frozenset(("permission", "permissions", "tool", "tools", "allow", "approve", "deny", "command"))),
    ("question", frozenset(("question", "questions", "ask", "choose", "choice"))),
    ("long", frozenset(("long", "slow", "slowly", "count", "story"))),
    ("hello", frozenset(("hello", "hi", "hey", "hallo", "welcome", "greetings", "morning"))),
    ("what", frozenset(("what", "who", "how", "why", "help", "betcode", "explain", "about"))),
)
UNKNOWN = "unknown"
NAMES = (*(name for name, _ in _ASKS_FOR), UNKNOWN)
COMMANDS: Mapping[str, str] = {
    "tour": "Everything in a minute: a tool, a diff, a permission, a question",
    "tool": "A shell command that asks for your permission",
    "question": "A question with choices",
    "reconnect": "Restart the daemon while I speak",
    "long": "A long answer, to practise stopping me",
}


def choose(message: str) -> str:
    """The name of the conversation that fits best."""
    words = set(re.findall(r"[a-z]+", message.lower()))
    return next((name for name, asks in _ASKS_FOR if words & asks), UNKNOWN)


def path_of(name: str) -> Path:
    return CASSETTES / f"{name}.ndjson"


def other_paths_of(name: str) -> list[Path]:
    """Return the recorded continuations for other answers of a person."""
    return sorted(CASSETTES.glob(f"{name}.*.ndjson"))
