"""The last theme, and whether it can be read."""

import re
from pathlib import Path

import pytest
from textual.app import App
from textual.color import Color

from betcode.tui.themes import DARK, LIGHT, ThemeMemory, register_themes
from betcode.tui.view import palette


def _light(colour: Color) -> float:
    """Relative luminance, as WCAG has it."""
    red, green, blue = ((x / 12.92 if x <= 0.03928 else ((x + 0.055) / 1.055) ** 2.4) for x in colour.normalized)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("name", [DARK, LIGHT])
def test_words_in_every_ink_can_be_read(name: str) -> None:
    app = App[None]()
    register_themes(app)
    colours = app.available_themes[name].to_color_system().generate()
    used = {each for each in re.findall(r"[ {]color: \$([a-z-]+);", palette.CSS) if "auto" not in colours[each]}
    assert used
    for ink in used:
        for ground in ("background", "panel"):
            below = Color.parse(colours[ground])
            dark, bright = sorted((_light(below), _light(below + Color.parse(colours[ink]))))
            assert (bright + 0.05) / (dark + 0.05) >= 4.5, (ink, ground)


def test_the_last_theme_is_stored_in_a_private_file(tmp_path: Path) -> None:
    memory = ThemeMemory(tmp_path / "screen")
    assert memory.last([DARK, LIGHT]) == DARK
    memory.save(LIGHT)
    assert memory.last([DARK, LIGHT]) == LIGHT
    kept = tmp_path / "screen" / "theme"
    assert (kept.stat().st_mode & 0o777, kept.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_a_theme_that_is_not_known_or_not_readable_is_no_obstacle(tmp_path: Path) -> None:
    memory = ThemeMemory(tmp_path)
    (tmp_path / "theme").write_bytes(b"\xff\xfe")
    assert memory.last([DARK]) == DARK
    (tmp_path / "theme").write_text("of-tomorrow")
    assert memory.last([DARK]) == DARK
    ThemeMemory(None).save(LIGHT)
    assert ThemeMemory(None).last([DARK, LIGHT]) == DARK
