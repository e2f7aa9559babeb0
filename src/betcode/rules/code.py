"""Code that is given to an interpreter in the command itself, and the words in it: for rules that forbid."""

import re
from collections.abc import Iterator
from typing import Final

from betcode.rules.commands import Script, names

_INTERPRETERS: Final = names(
    "awk bun clojure deno elixir emacs erl gawk ghci groovy irb iex ipython jshell jrunscript julia kotlin lua luajit "
    "m4 mawk mysql nawk node nodejs osascript perl php psql pwsh py pypy python r raku rscript ruby runghc scala "
    "sqlite sqlite3 tclsh ts-node tsx wish"
)
_VERSION = re.compile(r"[\d.]+$")
_BETWEEN = re.compile(r"""[\s'"`()\[\]{},;<>|&@:+=$\\]+""")
_SAYS: Final = frozenset({"echo", "printf", "cat"})  # what they say may be handed on
_WORDS_AT_MOST: Final = 300


def mentioned_in_code(script: Script) -> Iterator[tuple[str, list[str]]]:
    """Each interpreter that the script starts, with the words of all texts that may be its code."""
    parts = list(script.all())
    running = [part.command for part in parts if _is_interpreter(part.command.base)]
    if not running:
        return
    said = [word.value or "" for part in parts if part.command.base in _SAYS for word in part.command.words[1:]]
    for command in running:
        given = [word.value or "" for word in command.words[1:]]
        texts = [text for text in (*given, *said, *script.texts) if _BETWEEN.search(text)]
        yield command.base, [word for text in texts for word in _BETWEEN.split(text) if word][:_WORDS_AT_MOST]


def _is_interpreter(base: str) -> bool:
    return base in _INTERPRETERS or _VERSION.sub("", base) in _INTERPRETERS
