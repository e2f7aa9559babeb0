"""The argument parser of all command lines.

It uses only argparse: `--help` and completion must answer within 60 ms, and larger libraries take that long to
load.
"""

import argparse
import shlex
import sys
from collections.abc import Iterator, Sequence
from typing import NoReturn

from betcode.cli.core.exit_codes import ExitCode

_MODE = argparse.RawDescriptionHelpFormatter


class Parser(argparse.ArgumentParser):
    """Exits with our code for invalid arguments. Rejects abbreviated options, which a later option could break."""

    def __init__(self, *args: object, **options: object) -> None:
        options.setdefault("allow_abbrev", False)
        options.setdefault("formatter_class", _MODE)
        super().__init__(*args, **options)  # type: ignore[arg-type] # what argparse itself passes on

    tail = ""  # destination of the arguments after `--`, unchanged, for commands that run other programs

    def parse_known_args(  # type: ignore[override] # argparse's own overloads are for other namespaces
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        words = list(sys.argv[1:] if args is None else args)
        cut = words.index("--") if self.tail and "--" in words else len(words)
        chosen, unknown = super().parse_known_args(words[:cut], namespace)
        if self.tail:
            setattr(chosen, self.tail, words[cut + 1 :])
        if unknown and self._subparsers is None:  # argparse would leave this error to the top parser, which knows less
            self.error(self._unknown(unknown))
        return chosen, unknown

    def _unknown(self, words: Sequence[str]) -> str:
        if self.tail and not any(word.startswith("-") for word in words):
            return f"put the command after `--`: -- {shlex.join(words)}"
        return f"unrecognized arguments: {' '.join(words)}"

    def error(self, message: str) -> NoReturn:
        from betcode.wording.terminal_text import in_a_line  # imported here: needed only for errors

        print(f"betcode: {in_a_line(message)}. See: {self.prog} --help", file=sys.stderr)
        sys.exit(ExitCode.INVALID_ARGUMENTS)


Commands = argparse._SubParsersAction  # the type that add_subparsers returns; argparse has no public name for it


def commands_of(parser: argparse.ArgumentParser, words: str = "") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield every command with its name, such as `session list`, in the order of the help."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield from commands_of(below, f"{words} {name}".lstrip())
            return
    yield words, parser


class DynamicArgument(argparse._StoreAction):
    """An argument whose values are known only to the daemon or to git."""

    def found(self, typed: Sequence[str], beginning: str) -> list[tuple[str, str]]:
        """Return the candidates and their descriptions; none if there is no quick answer."""
        del typed, beginning
        return []
