"""Completion of obey for bash, zsh and fish."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from betcode.cli.completion.scripts import print_candidates, script_of
from betcode.cli.obey.parser import build_parser

if TYPE_CHECKING:
    from betcode.cli.obey.options import ObeyCommandOptions  # not needed to complete an argument


def print_script(options: "ObeyCommandOptions") -> int:
    """Print the completion script of a shell."""
    from betcode.cli.obey.records import versioned
    from betcode.cli.terminal.console import standard_screen

    shell = options.text("shell")
    script = script_of(shell, "obey")
    if options.as_json:
        standard_screen(colour=options.colour).json(versioned("completion", {"shell": shell, "script": script}))
    else:
        print(script.rstrip("\n"))
    return 0


def complete(words: Sequence[str]) -> int:
    """Print the candidates for the last word, one per line."""
    return print_candidates(build_parser(), words)
