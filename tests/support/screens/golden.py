"""Screens as text in files: compared, or written anew where BETCODE_GOLDEN=1 says that they are wanted so."""

import os

from support.paths import TESTS

_SCREENS = TESTS / "e2e" / "screens"


def matches_golden(name: str, text: str) -> None:
    """Compare with the screen of this name; look at `git diff` after writing them anew."""
    file = _SCREENS / f"{name}.txt"
    if os.environ.get("BETCODE_GOLDEN") == "1":
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"{text}\n")
    assert file.read_text().removesuffix("\n") == text, f"{file.name} differs; BETCODE_GOLDEN=1 writes it anew"
