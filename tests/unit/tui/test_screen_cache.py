"""The cache of session screens."""

from dataclasses import dataclass
from typing import cast

from betcode.tui.screen_cache import ScreenCache
from betcode.tui.session_screen import SessionScreen


@dataclass(eq=False)
class Shown:
    """What is asked of a screen."""

    session_id: str
    length: int = 10
    has_failed: bool = False


def keep(kept: ScreenCache, *shown: Shown) -> list[str]:
    """The sessions whose screens are given back, one after another."""
    return [old.session_id for each in shown for old in kept.add(cast("SessionScreen", each))]


def test_the_last_shown_screens_are_cached() -> None:
    kept = ScreenCache()
    several = {name: Shown(name) for name in "abcdef"}
    assert keep(kept, *(several[name] for name in "abcde")) == []
    assert keep(kept, several["a"], several["f"]) == ["b"]
    assert kept.get("a") == cast("SessionScreen", several["a"])
    assert kept.get("b") is None


def test_long_conversations_reduce_the_number_of_cached_screens() -> None:
    kept = ScreenCache()
    assert keep(kept, Shown("long", 19_000), Shown("short"), Shown("longer", 30_000)) == ["long", "short"]


def test_a_failed_screen_is_replaced_by_another_of_its_session() -> None:
    kept = ScreenCache()
    keep(kept, Shown("a", has_failed=True))
    assert kept.get("a") is None
    assert keep(kept, Shown("a")) == ["a"]
