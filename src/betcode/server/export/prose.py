"""Make Markdown of an agent or a person harmless: formatting remains, and nothing can be loaded or run.

HTML and automatic links are escaped. A link remains one if it leads to http or https in plain characters. An image
becomes such a link, since a viewer would load it without asking. Code is unchanged if every viewer treats it as code:
in a fence that begins its line, and between backticks on one line.
"""

import re
from collections.abc import Iterator

_FENCE = re.compile(r"(`{3,}(?=[^`]*$)|~{3,})")  # only at the very beginning: elsewhere a list may end it early
_TOKEN = re.compile(
    r"""
    (?P<escaped> \\[!-/:-@\[-`{-~] )
    | (?P<code> (?P<ticks> (?<!`)`+(?!`) ) [^|]*? (?<!`)(?P=ticks)(?!`) )
    | (?P<link> \]\(https?://[^\s()<>\\&"']*\) )
    | (?P<special> \\ | ` | < | !(?=\[) | (?<=\])[(:\[] )
    """,
    re.VERBOSE,
)


def harmless(text: str) -> str:
    """The same Markdown, line by line, without anything that loads or runs."""
    return "\n".join(_lines(text))


def _lines(text: str) -> Iterator[str]:
    fence = ""
    for line in text.splitlines():
        if fence:
            if line.startswith(fence) and not line.strip(fence[0] + " \t"):
                fence = ""
            yield line
        elif opened := _FENCE.match(line):
            fence = opened[0]
            yield line
        else:
            yield _TOKEN.sub(_neutral, line)


def _neutral(match: re.Match[str]) -> str:
    return f"\\{match[0]}" if match["special"] else match[0]
