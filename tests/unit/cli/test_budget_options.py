"""The options for limits."""

import argparse

import pytest

from betcode.cli.session.budget_options import add_budget_options


def chosen(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_budget_options(parser, "limits")
    return parser.parse_args(words)


def test_amounts_are_understood() -> None:
    given = chosen("--max-cost", "$2.50", "--max-tokens", "1_000_000", "--max-turns", "7", "--max-time", "90m")
    assert (given.max_cost, given.max_tokens, given.max_turns, given.max_time) == (2.5, 1_000_000, 7, 5_400_000)
    assert chosen("--max-time", "30").max_time == 30_000
    assert chosen().max_cost is None


@pytest.mark.parametrize(
    "words",
    [
        ("--max-cost", "much"),
        ("--max-cost", "-1"),
        ("--max-cost", "nan"),
        ("--max-cost", "inf"),
        ("--max-turns", "1.5"),
        ("--max-turns", "4294967296"),
        ("--max-time", "soon"),
        ("--on-reached", "stop"),
    ],
)
def test_an_invalid_amount_is_refused(words: tuple[str, str]) -> None:
    with pytest.raises(argparse.ArgumentError):
        chosen(f"{words[0]}={words[1]}")
