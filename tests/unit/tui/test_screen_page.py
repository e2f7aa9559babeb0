"""The page about the screen tells the keys that there are."""

from pathlib import Path

from betcode.tui import keys

PAGE = Path(__file__).parents[3] / "docs" / "screen.md"
BEGIN, END = "<!-- keys: from src/betcode/tui/keys.py -->\n", "<!-- end -->"


def tables() -> str:
    """All keys, as Markdown."""
    return "\n".join(
        f"**{heading}**\n\n| key | what it does |\n|---|---|\n"
        + "".join(f"| {shown.replace('|', chr(92) + '|')} | {words} |\n" for shown, words in rows)
        for heading, rows in keys.table()
    )


def test_the_page_tells_every_key() -> None:
    text = PAGE.read_text(encoding="utf-8")
    told = text.partition(BEGIN)[2].partition(END)[0]
    assert told == tables(), f"between the comments belongs:\n{tables()}"
