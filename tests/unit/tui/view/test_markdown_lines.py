"""Markdown at common widths, and text that is not Markdown."""

import pytest

from betcode.tui.view.markdown_lines import MarkdownLines
from betcode.tui.view.spans import Line, text_of, width_of


def _texts(text: str, width: int = 80) -> list[str]:
    return [text_of(line).rstrip() for line in MarkdownLines(width).lines(text)]


def _inks(text: str, wanted: str) -> str:
    lines: list[Line] = MarkdownLines(80).lines(text)
    return next(ink for line in lines for part, ink in line if part == wanted)


def test_headings_lists_quotes_and_rules() -> None:
    text = "# Title\nwords\n\n- one\n  - deep\n    1. deeper\n- two\n\n> said\n> so\n\n---\n3. three\n4. four"
    assert _texts(text) == [
        "Title", "", "words", "", "• one", "  • deep", "    1. deeper", "• two", "", "▎ said", "▎ so", "",
        "─" * 40, "", "3. three", "4. four",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "part", "ink"),
    [
        ("a **b** c", "b", "strong"),
        ("a *b* c", "b", "emphasis"),
        ("a ~~b~~ c", "b", "struck"),
        ("a `b` c", "b", "inline-code"),
        ("***b***", "b", "emphasis strong"),
        ("## b", "b", "heading"),
        ("> b", "b", "quote"),
        ("```python\nreturn\n```", "return", "code code-keyword"),
        ("```nobody-knows\nreturn\n```", "return", "code"),
    ],
)
def test_inks(text: str, part: str, ink: str) -> None:
    assert _inks(text, part) == ink


def test_a_link_shows_where_it_leads() -> None:
    assert _texts("[click](https://evil.example/x)") == ["click (https://evil.example/x)"]
    assert _texts("[https://good.example](https://evil.example)") == ["https://good.example (https://evil.example)"]
    assert _texts("<https://a.example>") == ["https://a.example"]
    assert _texts("![picture](http://a.example/p.png)") == ["[picture] (http://a.example/p.png)"]


def test_a_table_fits_into_forty_columns() -> None:
    table = "| name | what it is for |\n|---|---|\n| alpha | the first of a long row of letters |\n| beta | short |"
    assert _texts(table, 40) == [
        "name  │ what it is for",
        "──────┼─────────────────────────────────",
        "alpha │ the first of a long row of",
        "      │ letters",
        "beta  │ short",
    ]


def test_a_table_of_many_columns_becomes_fields() -> None:
    head = "|".join(f"column {number}" for number in range(8))
    text = f"|{head}|\n|{'-|' * 8}\n|{'|'.join('value' for _ in range(8))}|"
    lines = _texts(text, 40)
    assert lines[0] == "column 0: value"
    assert len(lines) == 8


def test_html_and_definitions_are_shown_as_they_were_written() -> None:
    assert _texts("<script>x</script>\n\n[a]: http://b") == ["<script>x</script>", "", "[a]: http://b"]


@pytest.mark.parametrize("text", [
    "x" * 1_000_000, "> " * 10_000 + "deep", "- " * 5000, "[" * 50_000, "*a **b " * 10_000, "![[" * 20_000,
    "`a" * 20_000,
    "|a|b|\n|-|-|\n" + "|1|2|\n" * 20_000, "```\n" + "x" * 1_000_000, "a\n" * 50_000, "e" + "\u0301" * 200_000,
])  # fmt: skip
def test_expensive_markdown_is_bounded(text: str) -> None:
    lines = MarkdownLines(40).lines(text)
    assert all(width_of(line) <= 40 for line in lines)
    growing = MarkdownLines(40)
    settled = growing.lines(text)[: growing._settled]
    again = growing.lines(text + "y")
    assert all(
        line is before for line, before in zip(again, settled, strict=False)
    )  # only the last piece is drawn again
    assert len(again) - len(settled) <= 7000


def test_nothing_is_lost_in_depth() -> None:
    assert "deep" in "".join(_texts("> " * 30 + "deep"))
    assert "deep" in "".join(_texts("- " * 30 + "deep"))
