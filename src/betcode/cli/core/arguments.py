"""The parser that every command line of ours is made with.

argparse and nothing else: `--help` and completion must answer within 60 ms, and larger libraries take that
long to load.
"""

import argparse
import shlex
import sys
from collections.abc import Iterator, Sequence
from typing import NoReturn

from betcode.cli.core.exit_codes import ExitCode

_MODE = argparse.RawDescriptionHelpFormatter


class Parser(argparse.ArgumentParser):
    """Ends with our code for invalid arguments, and takes no abbreviations that a later option could break."""

    def __init__(self, *args: object, **options: object) -> None:
        options.setdefault("allow_abbrev", False)
        options.setdefault("formatter_class", _MODE)
        super().__init__(*args, **options)  # type: ignore[arg-type] # what argparse itself passes on

    tail = ""  # where what follows two dashes goes, word for word, for a command that runs others

    def parse_known_args(  # type: ignore[override] # argparse's own overloads are for other namespaces
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        words = list(sys.argv[1:] if args is None else args)
        cut = words.index("--") if self.tail and "--" in words else len(words)
        chosen, unknown = super().parse_known_args(words[:cut], namespace)
        if self.tail:
            setattr(chosen, self.tail, words[cut + 1 :])
        if unknown and self._subparsers is None:  # argparse leaves this to the first parser, which knows less
            self.error(self._unknown(unknown))
        return chosen, unknown

    def _unknown(self, words: Sequence[str]) -> str:
        if self.tail and not any(word.startswith("-") for word in words):
            return f"put the command after `--`: -- {shlex.join(words)}"
        return f"unrecognized arguments: {' '.join(words)}"

    def error(self, message: str) -> NoReturn:
        from betcode.wording.terminal_text import in_a_line  # only here: most words are right

        print(f"betcode: {in_a_line(message)}. See: {self.prog} --help", file=sys.stderr)
        sys.exit(ExitCode.INVALID_ARGUMENTS)


Commands = argparse._SubParsersAction  # the type of what add_subparsers returns; argparse has no public name for it


def commands_of(parser: argparse.ArgumentParser, words: str = "") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Every command with its words, such as `session list`, in the order of the help."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield from commands_of(below, f"{words} {name}".lstrip())
            return
    yield words, parser


class DynamicArgument(argparse._StoreAction):
    """An argument whose words only something that runs knows."""

    def found(self, typed: Sequence[str], beginning: str) -> list[tuple[str, str]]:
        """Words and what they are; nothing where nobody answers at once."""
        del typed, beginning
        return []
