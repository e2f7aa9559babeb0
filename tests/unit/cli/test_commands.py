"""The command tree: one grammar, help with examples, and options with the same meaning everywhere."""

import argparse
import re
import shlex
from collections.abc import Iterator

import pytest

from betcode.cli.core.arguments import commands_of
from betcode.cli.core.examples import EXAMPLES
from betcode.cli.core.handlers import load_handler
from betcode.cli.core.parser import build_parser

# Commands that are verbs themselves: what they are about is the whole of betcode, or the conversation.
VERBS = {"run", "attach", "search", "doctor", "version", "features", "providers", "completion"}
PARSER = build_parser()
COMMANDS = dict(commands_of(PARSER))


def nouns() -> dict[str, argparse.ArgumentParser]:
    action = next(one for one in PARSER._actions if isinstance(one, argparse._SubParsersAction))
    return {name: below for name, below in action.choices.items() if name not in COMMANDS}


def parts(line: str) -> Iterator[list[str]]:
    """The words of every `betcode` in an example, without what other programs and the shell have to do with it."""
    shown = re.split(r" {2,}", line.strip())[0]
    for inner in re.findall(r"\$\((betcode [^)]*)\)", shown):
        yield shlex.split(inner)[1:]
    words = shlex.split(re.sub(r"\$\([^)]*\)", "ID", shown))
    while "betcode" in words:
        words = words[words.index("betcode") + 1 :]
        yield words[: next((at for at, word in enumerate(words) if re.fullmatch(r"[|&;<>]+", word)), len(words))]


def test_a_command_is_a_noun_and_a_verb_but_for_a_few() -> None:
    for words in COMMANDS:
        assert len(words.split()) == 2 or words in VERBS, words
    assert set(nouns()) == {words.split()[0] for words in COMMANDS if words not in VERBS}
    assert set(COMMANDS) >= VERBS


def test_no_example_is_of_a_command_that_is_gone() -> None:
    assert set(EXAMPLES) == set(COMMANDS)


@pytest.mark.parametrize("words", COMMANDS)
def test_help_shows_examples_that_can_be_typed(words: str) -> None:
    assert "\nexamples:\n" in COMMANDS[words].format_help()
    for line in EXAMPLES[words].splitlines():
        found = list(parts(line))
        assert any(" ".join(one).startswith(words) for one in found), line
        for one in found:
            assert PARSER.parse_args(one).handler, line


@pytest.mark.parametrize("words", ["", *nouns()])
def test_help_of_a_noun_shows_examples_too(words: str) -> None:
    assert "\nexamples:\n" in (nouns()[words] if words else PARSER).format_help()


@pytest.mark.parametrize("words", COMMANDS)
def test_every_command_has_json_output_and_a_description(words: str) -> None:
    command = COMMANDS[words]
    flags = {flag for action in command._actions for flag in action.option_strings}
    assert {"--json", "--no-start", "--socket", "--help"} <= flags
    assert command.description
    assert command.description.endswith(".")
    for action in command._actions:
        assert action.help or action.choices, action


@pytest.mark.parametrize("words", COMMANDS)
def test_every_command_has_a_function_behind_it(words: str) -> None:
    assert callable(load_handler(COMMANDS[words].get_default("handler")))


def test_a_short_option_means_the_same_wherever_it_is() -> None:
    """A log is followed with -f everywhere, and a prompt's file is too short a word for another letter."""
    meanings: dict[str, set[str]] = {}
    for command in COMMANDS.values():
        for action in command._actions:
            for flag in action.option_strings:
                if not flag.startswith("--"):
                    meanings.setdefault(flag, set()).add(action.option_strings[-1])
    several = {flag: names for flag, names in meanings.items() if len(names) > 1}
    assert several == {"-C": {"--cwd", "--dir"}, "-f": {"--file", "--follow"}}
