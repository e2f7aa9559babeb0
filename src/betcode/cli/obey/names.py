"""Names of providers and statuses, and their numbers in the API.

The numbers are written out: the parser needs these names and must not import the generated code.
"""

from collections.abc import Mapping

PROVIDERS: Mapping[str, int] = {
    "claude-code": 1,
    "openclaw": 2,
    "codex": 3,
    "openai-api": 4,
    "acp": 5,
    "demo": 6,
}
ALSO: Mapping[str, str] = {"claude": "claude-code", "openai": "openai-api"}  # betcode's names for them
PROFILES = frozenset({"opencode", "gemini", "claude-agent-acp", "codex-acp"})  # profiles of the provider acp
STATUSES: Mapping[str, int] = {
    "created": 1,
    "starting": 2,
    "running": 3,
    "working": 4,
    "stopping": 5,
    "stopped": 6,
    "failed": 7,
}
ACTIVITIES: Mapping[str, int] = {
    "thinking": 1,
    "tool_call": 2,
    "tool_result": 3,
    "completion": 4,
    "error": 5,
    "status": 6,
}


def name_of(number: int, names: Mapping[str, int]) -> str:
    """Return the name; the number itself if a later daemon sends an unknown one; empty for 0."""
    found = next((name for name, each in names.items() if each == number), "")
    return found or (str(number) if number else "")
