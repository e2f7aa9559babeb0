"""What a word on the command line can become, read off the tree of commands."""

import argparse
from collections.abc import Sequence

from betcode.cli.worktree_completion import BranchWord, WorktreeWord


def candidates(parser: argparse.ArgumentParser, words: Sequence[str]) -> list[str]:
    """What the last of `words` can become."""
    current = parser
    for word in words[:-1]:
        below = _subcommands(current)
        if word in below:
            current = below[word]
    beginning = words[-1] if words else ""
    if (values := _option_values(current, words[-2] if len(words) > 1 else "")) is not None:
        choices = values
    elif beginning.startswith("-"):
        choices = [flag for action in current._actions for flag in action.option_strings if flag.startswith("--")]
    else:
        choices = [*_subcommands(current), *_values(current)]
    return [choice for choice in choices if choice.startswith(beginning)]


def _subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def _option_values(parser: argparse.ArgumentParser, option: str) -> list[str] | None:
    """What may follow an option that takes a value; None for any other word."""
    for action in parser._actions:
        if option in action.option_strings and action.nargs is None:
            return _known_words(action) or [str(each) for each in action.choices or _named_values(action.metavar)]
    return None


def _known_words(action: argparse.Action) -> list[str]:
    return action.words() if isinstance(action, WorktreeWord | BranchWord) else []


def _named_values(metavar: object) -> list[str]:
    """The words of deny|wait=TIME, as far as they are to be typed."""
    words = metavar.split("|") if isinstance(metavar, str) and "|" in metavar else []
    return [word.rstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ") for word in words]


def _values(parser: argparse.ArgumentParser) -> list[str]:
    """The choices of a command's own first argument."""
    for action in parser._actions:
        if not action.option_strings and (known := _known_words(action)):
            return known
        if not action.option_strings and action.choices and not isinstance(action, argparse._SubParsersAction):
            return [str(choice) for choice in action.choices]
    return []
