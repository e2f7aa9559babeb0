"""Which theme was chosen last."""

from pathlib import Path

from betcode.tui.themes import DARK, LIGHT, ThemeMemory


def test_the_last_theme_is_kept_for_its_owner_alone(tmp_path: Path) -> None:
    memory = ThemeMemory(tmp_path / "screen")
    assert memory.last([DARK, LIGHT]) == DARK
    memory.keep(LIGHT)
    assert memory.last([DARK, LIGHT]) == LIGHT
    kept = tmp_path / "screen" / "theme"
    assert (kept.stat().st_mode & 0o777, kept.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_a_theme_that_is_not_known_or_not_readable_is_no_obstacle(tmp_path: Path) -> None:
    memory = ThemeMemory(tmp_path)
    (tmp_path / "theme").write_bytes(b"\xff\xfe")
    assert memory.last([DARK]) == DARK
    (tmp_path / "theme").write_text("of-tomorrow")
    assert memory.last([DARK]) == DARK
    ThemeMemory(None).keep(LIGHT)
    assert ThemeMemory(None).last([DARK, LIGHT]) == DARK
