"""The options for limits, and their parsers."""

import argparse
import math

from betcode.config.units import NotUnderstood, duration_s

_ACTIONS = ("ask", "refuse")


def add_budget_options(parser: argparse.ArgumentParser, title: str) -> None:
    group = parser.add_argument_group(title)
    group.add_argument("--max-cost", type=_dollars, metavar="USD", help="cost limit in dollars")
    group.add_argument("--max-tokens", type=_amount, metavar="N", help="limit of input and output tokens")
    group.add_argument("--max-turns", type=_amount, metavar="N", help="limit of turns")
    group.add_argument(
        "--max-time", type=_duration_ms, metavar="TIME", help='limit of working time, such as "90s" or "2h"'
    )
    group.add_argument(
        "--on-reached",
        choices=_ACTIONS,
        help="at the limit: ask before the next message, or refuse it; the open turn finishes (ask)",
    )


def _dollars(text: str) -> float:
    try:
        amount = float(text.removeprefix("$"))
    except ValueError:
        amount = math.nan
    if not (math.isfinite(amount) and amount >= 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not an amount of dollars")
    return amount


def _amount(text: str) -> int:
    plain = text.replace("_", "").replace(",", "")
    if not (plain.isascii() and plain.isdigit() and int(plain) < 2**32):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 up")
    return int(plain)


def _duration_ms(text: str) -> int:
    try:
        return round(duration_s(float(text) if text.replace(".", "", 1).isdigit() else text) * 1000)
    except NotUnderstood as trouble:
        raise argparse.ArgumentTypeError(f"{text!r} is not {trouble}") from None
