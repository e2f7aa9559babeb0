"""The text that a new session shows: what to type, and that quitting stops no agent."""

from textual.widgets import Static

from betcode.providers.specs import FALLBACK

_DEMO = (
    "Try  tour       everything in a minute",
    "     reconnect  restart the daemon",
    "     ?          all keys",
    "",
    "This is the built-in demo agent. It",
    "plays recordings: nothing is read, run",
    "or changed on your machine.",
)
_OTHERS = (
    "Type a message and press Enter.",
    "@ adds a file, / a command, ? shows keys.",
    "",
    "Quitting stops nothing: agents keep",
    "running. Run betcode to come back.",
)


def welcome_text(provider: str) -> str:
    """Return the text for a new session with this provider."""
    return "\n".join(_DEMO if provider == FALLBACK.name else _OTHERS)


class Welcome(Static):
    """Disappears with the first event."""

    DEFAULT_CSS = "Welcome { height: auto; max-height: 70%; padding: 0 1; color: $text-muted; }"

    def __init__(self, provider: str) -> None:
        super().__init__(welcome_text(provider), id="welcome", markup=False)
