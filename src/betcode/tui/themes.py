"""Registers the themes, and remembers the last one."""

from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

from textual.app import App
from textual.theme import Theme

from betcode.tui.private_files import read_bounded, write_private

DARK = "betcode-dark"
LIGHT = "betcode-light"
PLAIN = "betcode-plain"
_LONGEST_NAME = 100  # bytes

_OWN = (
    Theme(
        DARK,
        primary="#7AA2F7",
        secondary="#9D7CD8",
        accent="#E0AF68",
        warning="#E0AF68",
        error="#F7768E",
        success="#9ECE6A",
        foreground="#C9D1D9",
        background="#10141A",
        surface="#161B22",
        panel="#21262D",
    ),
    Theme(
        LIGHT,
        primary="#1F5FBF",
        secondary="#7A3E9D",
        accent="#9A6700",
        warning="#9A6700",
        error="#B3261E",
        success="#1A7F37",
        foreground="#1F2328",
        background="#FFFFFF",
        surface="#F6F8FA",
        panel="#E4E8EC",
        dark=False,
    ),
    Theme(
        PLAIN,  # colours are removed when it is drawn
        primary="#E0E0E0",
        secondary="#E0E0E0",
        accent="#FFFFFF",
        warning="#FFFFFF",
        error="#FFFFFF",
        success="#E0E0E0",
        foreground="#E0E0E0",
        background="#000000",
        surface="#000000",
        panel="#000000",
        variables={
            "block-cursor-text-style": "reverse",
            "block-cursor-blurred-text-style": "underline",
            "input-cursor-text-style": "reverse",
            "button-focus-text-style": "reverse",
        },
    ),
)


def register_themes(app: App[Any]) -> None:
    for theme in _OWN:
        app.register_theme(theme)


class ThemeMemory:
    """Stores the name of the last theme in a file; write errors are ignored."""

    def __init__(self, data_dir: Path | None) -> None:
        self._file = data_dir / "theme" if data_dir is not None else None

    def last(self, known: Collection[str]) -> str:
        """Return the last theme, if it is known."""
        stored = read_bounded(self._file, _LONGEST_NAME) if self._file is not None else None
        name = (stored or b"").decode(errors="replace").strip()
        return name if name in known else DARK

    def save(self, name: str) -> None:
        if self._file is None:
            return
        with suppress(OSError):
            write_private(self._file, name.encode())
