"""The pictures of README.md show the current screen."""

import re
from pathlib import Path

import pytest
from pictures import PICTURES, ROOT, old_ones, pictures


@pytest.mark.anyio
async def test_the_pictures_show_the_current_screen(tmp_path: Path) -> None:
    made = await pictures(tmp_path)
    assert not old_ones(made), "make pictures makes them again"
    assert {path.stem for path in PICTURES.glob("*.svg")} == made.keys()


def test_the_pictures_are_shown_and_fetch_nothing() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for path in PICTURES.glob("*.svg"):
        assert f"(docs/pictures/{path.name})" in readme
        addresses = re.findall(r"https?://[^\"' )]+", path.read_text("utf-8"))
        assert set(addresses) == {"http://www.w3.org/2000/svg"}  # the name of the format
        assert "url(http" not in path.read_text("utf-8")
