"""The examples in the help of every command are valid."""

import argparse
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from betcode.cli.core.examples import EXAMPLES
from betcode.cli.core.parser import build_parser
from betcode.cli.obey.examples import EXAMPLES as OBEY_EXAMPLES
from betcode.cli.obey.parser import build_parser as obey_parser
from betcode.config.load import load_settings
from betcode.config.schema import SETTINGS

INNER = re.compile(r"\$\(([^()]*)\)")
PARSERS = {"betcode": build_parser(), "obey": obey_parser()}


def commands(text: str) -> Iterator[list[str]]:
    """The commands of ours in a line, as words; the note beside it follows two spaces."""
    for inner in INNER.findall(text):
        yield from commands(inner)
    line = INNER.sub("VALUE", text).strip()
    lexer = shlex.shlex(re.split(r" {2,}", line)[0], posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    words: list[str] = []
    for word in [*lexer, "|"]:
        if word and set(word) <= set("|&;<>"):
            if words and words[0] in PARSERS:
                yield words
            words = []
        elif words or not re.match(r"[A-Z_]+=", word):  # a variable before the command
            words.append(word)


SHOWN = [
    (name, words)
    for examples in (EXAMPLES, OBEY_EXAMPLES)
    for name, text in examples.items()
    for line in text.splitlines()
    for words in commands(line)
]


@pytest.mark.parametrize(("name", "words"), SHOWN, ids=[shlex.join(words) for _, words in SHOWN])
def test_an_example_is_a_valid_command_with_existing_settings(name: str, words: list[str], tmp_path: Path) -> None:
    given: argparse.Namespace = PARSERS[words[0]].parse_args(words[1:])
    flags = dict(each.split("=", 1) for each in getattr(given, "set", None) or [])
    load_settings(tmp_path, {}, flags)
    if words[1:3] == ["config", "set"]:
        load_settings(tmp_path, {}, {words[3]: words[4]})
    if words[1:3] in (["config", "get"], ["config", "unset"]):
        assert words[3] in SETTINGS


def test_every_command_that_has_examples_shows_itself() -> None:
    for examples in (EXAMPLES, OBEY_EXAMPLES):
        for name, text in examples.items():
            assert any(
                words[1:][: len(name.split())] == name.split() for line in text.splitlines() for words in commands(line)
            ), name
