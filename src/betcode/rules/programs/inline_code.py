"""Finds the words in code that a command passes to an interpreter. Used to deny only."""

import re
from typing import Final

from betcode.rules.syntax.commands import Script, names

_INTERPRETERS: Final = names(
    "awk bun clojure deno elixir emacs erl ftp gawk ghci gnuplot groovy iex ipython irb jrunscript jshell julia "
    "kotlin lftp lua luajit m4 mawk mysql nawk node nodejs osascript perl php psql pwsh py pypy python r raku "
    "rscript ruby runghc scala sqlite sqlite3 tclsh ts-node tsx wish"
)
_VERSION = re.compile(r"[\d.]+$")
_BETWEEN = re.compile(r"""[\s'"`()\[\]{},;<>|&@:+=$\\]+""")
_SAYS: Final = frozenset({"echo", "printf", "cat"})  # their output may be passed on


def mentioned_in_code(script: Script) -> tuple[str, list[str]]:
    """Return an interpreter that the script starts, with the words of all texts that may be its code; or none."""
    commands = [part.command for part in script.all()]
    running = [command for command in commands if _is_interpreter(command.base)]
    if not running:
        return "", []
    saying = [command for command in commands if command.base in _SAYS or _is_interpreter(command.base)]
    given = [word.value or "" for command in saying for word in command.words[1:]]
    texts = [text for text in (*given, *script.texts) if _BETWEEN.search(text)]
    return running[0].base, [word for text in texts for word in _BETWEEN.split(text) if word]


def _is_interpreter(base: str) -> bool:
    return base in _INTERPRETERS or _VERSION.sub("", base) in _INTERPRETERS
