"""What a run does when the agent asks and nobody sits at the terminal."""

import argparse
from enum import Enum
from typing import NamedTuple

from betcode.config.units import NotUnderstood, duration_s

_LONGEST_S = 30 * 86400.0  # a prompt does not stay open longer
_NO_TERMINAL = "no terminal to ask on"
_TOLD_TO = "--on-ask deny"


class OnAsk(Enum):
    """What happens when the agent asks for permission, or has a question."""

    ASK = "ask"  # the person at the terminal
    DENY = "deny"
    ALLOW = "allow"
    WAIT = "wait"  # for an answer from anywhere, and then as PARK
    PARK = "park"  # leave, and the prompt stays open


class AskPolicy(NamedTuple):  # `betcode --help` imports this, and importing dataclasses takes a third of its time
    on_ask: OnAsk
    wait_s: float = 0.0
    reason: str = _NO_TERMINAL  # of a denial


def ask_policy(text: str) -> AskPolicy:
    """The policy that `deny`, `park` or `wait=DURATION` names; for argparse.

    Raises:
        argparse.ArgumentTypeError: it is none of these.
    """
    word, is_given, duration = text.partition("=")
    if word == "wait" and is_given:
        return AskPolicy(OnAsk.WAIT, time_limit_s(duration))
    if text in ("deny", "park"):
        return AskPolicy(OnAsk(text), reason=_TOLD_TO)
    raise argparse.ArgumentTypeError(f"{text!r} is not deny, park or wait=TIME, such as wait=10m")


def time_limit_s(text: str) -> float:
    """Seconds, from a duration that is more than nothing; for argparse.

    Raises:
        argparse.ArgumentTypeError: it is none, or no run lasts so long.
    """
    try:
        wait_s = duration_s(text)
    except NotUnderstood as trouble:
        raise argparse.ArgumentTypeError(f"{text!r} is not {trouble}") from None
    if not 0 < wait_s <= _LONGEST_S:
        raise argparse.ArgumentTypeError(f"{text!r} is not more than 0 and at most 30 days")
    return wait_s
