"""Markdown that an agent wrote: what stays, and that nothing of it loads or runs in any reader."""

from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from betcode.server.export.prose import harmless


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("plain *text* with `code`", "plain *text* with `code`"),
        ("[site](https://example.org/a?b=c)", "[site](https://example.org/a?b=c)"),
        ("[click](javascript:alert(1))", r"[click]\(javascript:alert(1))"),
        ("[click](JaVa&#115;cript:alert(1))", r"[click]\(JaVa&#115;cript:alert(1))"),
        ("[click]( https://x)", r"[click]\( https://x)"),
        ("![](https://evil.example/pixel.png)", r"\![](https://evil.example/pixel.png)"),
        ("[x]: javascript:alert(1)", r"[x]\: javascript:alert(1)"),
        ("[a][x]", r"[a]\[x]"),
        ("<script>alert(1)</script>", r"\<script>alert(1)\</script>"),
        ("<javascript:alert(1)>", r"\<javascript:alert(1)>"),
        ("`Vec<T>` and ``a ` <b>``", "`Vec<T>` and ``a ` <b>``"),
        ("an unmatched ` and <b>", r"an unmatched \` and \<b>"),
        ("| ` | [x](javascript:a) ` |", r"| \` | [x]\(javascript:a) \` |"),
        ("```python\na[0](x) < 3\n```\n<b>", "```python\na[0](x) < 3\n```\n" + r"\<b>"),
        ("- x\n  ```\n[a](javascript:b)", "- x\n  " + r"\`\`\`" + "\n" + r"[a]\(javascript:b)"),
        (r"\<b> \[x](javascript:a)", r"\<b> \[x]\(javascript:a)"),
        ("ends with \\", "ends with \\\\"),
    ],
)
def test_what_becomes_of_it(text: str, wanted: str) -> None:
    assert harmless(text) == wanted


class _Dangers(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "img", "iframe", "b"):
            self.found.append(tag)
        self.found += [f"{name}={value}" for name, value in attrs if name == "href" and not _is_plain(value or "")]


def _is_plain(address: str) -> bool:
    return address.startswith(("http://", "https://"))


def _takes_any(url: str) -> bool:
    """For a reader that follows every link."""
    return url is not None


_PIECES = st.sampled_from(
    [
        *("`", "``", "```", "~~~", "\n", "\n\n", "> ", "- ", "1. ", "    ", "  ", "|", "|-|\n", "\\", "&#91;", "\t"),
        *("[x]", "[", "]", "(", ")", "(javascript:a)", ": javascript:a", "](javascript:a)", "[x](javascript:a)", "!"),
        *("<b>", "<javascript:a>", "<script>", "<!--", "-->", "(https://a.b)", "[x](https://a.b)", "a", " ", '"', "<"),
    ]
)


@given(st.lists(_PIECES, max_size=25).map("".join))
@example("`\n` [x](javascript:a) `")
@example("| ` | [x](javascript:a) ` |")
@example("- x\n  ```\n[x](javascript:a)")
@example("a | b\n- | -\n` | [x](javascript:a) | `")
def test_no_reader_finds_a_tag_or_another_kind_of_link_in_it(text: str) -> None:
    quoted = "\n".join(f"> {line}".rstrip() for line in harmless(text).split("\n"))
    for rules in ("commonmark", "gfm-like"):
        reader = MarkdownIt(rules, {"html": True, "linkify": False})
        reader.validateLink = _takes_any  # type: ignore[method-assign]
        dangers = _Dangers()
        dangers.feed(reader.render(quoted))
        assert not dangers.found, (rules, quoted)
