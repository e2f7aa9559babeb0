"""Candidates for a word on the command line, from the command tree, the daemon and the repository."""

import argparse
from collections.abc import Iterator, Sequence

from betcode.cli.core.arguments import DynamicArgument
from betcode.cli.worktree.completion import BranchArgument, WorktreeArgument
from betcode.providers.specs import SPECS

Candidate = tuple[str, str]  # a word and its description
FILES: Candidate = (":files", "")  # the shell completes these itself
DIRECTORIES: Candidate = (":dirs", "")

_PATH_OPTIONS = {"FILE": FILES, "PATH": FILES, "DIR": DIRECTORIES}


def candidates(parser: argparse.ArgumentParser, words: Sequence[str]) -> list[Candidate]:
    """Return the candidates for the last of `words`."""
    # Bash splits --output=json into three words
    typed = [word for at, word in enumerate(words) if word != "=" or at == 0]
    beginning = "" if words and words[-1] == "=" else typed.pop() if typed else ""
    if "--" in typed:
        return [FILES]  # the arguments of another program
    current, option, argument_count = _position(parser, typed)
    if option is not None:
        return _matching(_values(option, typed, beginning), beginning)
    name, equals, value = beginning.partition("=")
    if equals and (option := _option(current, name)) is not None:
        found = _matching(_values(option, typed, value), value)
        return found if found and found[0][0][0] == ":" else [(f"{name}={word}", says) for word, says in found]
    if beginning.startswith("-"):
        return _matching(_flags(current), beginning)
    if below := _subcommands(current):
        return _matching([(word, _first_line(each)) for word, each in below.items()], beginning)
    positionals = [action for action in current._actions if not action.option_strings]
    takes_many = bool(positionals) and positionals[-1].nargs in ("*", "+")
    if argument_count < len(positionals) or takes_many:
        return _matching(_values(positionals[min(argument_count, len(positionals) - 1)], typed, beginning), beginning)
    return []


def _position(
    parser: argparse.ArgumentParser, typed: Sequence[str]
) -> tuple[argparse.ArgumentParser, argparse.Action | None, int]:
    """Return the command, the option that expects a value next, and the number of arguments before it."""
    current, argument_count = parser, 0
    option: argparse.Action | None = None
    for word in typed:
        if option is not None:
            option = None
        elif word.startswith("-") and word != "-":
            option = None if "=" in word else _option(current, word)
        elif word in (below := _subcommands(current)):
            current, argument_count = below[word], 0
        else:
            argument_count += 1
    return current, option, argument_count


def _matching(choices: Sequence[Candidate], beginning: str) -> list[Candidate]:
    return [each for each in choices if each in (FILES, DIRECTORIES) or each[0].startswith(beginning)]


def _subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def _first_line(parser: argparse.ArgumentParser) -> str:
    return (parser.description or "").partition("\n")[0]


def _flags(parser: argparse.ArgumentParser) -> list[Candidate]:
    found: Iterator[Candidate] = (
        (flag, action.help or "") for action in parser._actions for flag in action.option_strings
    )
    return [(flag, says) for flag, says in found if flag.startswith("--")]


def _option(parser: argparse.ArgumentParser, flag: str) -> argparse.Action | None:
    """Return the option of that name if it expects a value."""
    return next((each for each in parser._actions if flag in each.option_strings and each.nargs is None), None)


def _values(action: argparse.Action, typed: Sequence[str], beginning: str) -> list[Candidate]:
    if isinstance(action, WorktreeArgument | BranchArgument):
        return [(word, "") for word in action.words()]
    if isinstance(action, DynamicArgument):
        return action.found(typed, beginning)
    if action.choices:
        return [(str(choice), "") for choice in action.choices]
    if action.metavar in _PATH_OPTIONS:
        return [_PATH_OPTIONS[str(action.metavar)]]
    if isinstance(action.metavar, str) and "|" in action.metavar:
        # The alternatives of deny|wait=TIME, up to the part that the person types.
        return [(word.rstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), "") for word in action.metavar.split("|")]
    match action.dest:
        case "provider" | "open_provider":
            return [(name, "") for name in SPECS]
        case "key":
            from betcode.config.schema import SETTINGS

            return [(key, setting.help) for key, setting in SETTINGS.items()]
        case "session" | "id" | "model" | "config" | "open_config":
            # Imported here: few arguments need a daemon.
            from betcode.cli.completion.dynamic import dynamic_words

            return dynamic_words(action.dest.removeprefix("open_"), typed, beginning)
        case _:
            return []
