"""The policy of `betcode run` for prompts: ask, deny, allow, wait or park."""

import argparse
from enum import Enum
from typing import NamedTuple

from betcode.config.units import NotUnderstood, duration_s

_LONGEST_S = 30 * 86400.0  # no prompt is open for longer
_NO_TERMINAL = "no terminal to ask on"
_BY_OPTION = "--on-ask deny"


class OnAsk(Enum):
    """What to do when the agent requests a permission or asks a question."""

    ASK = "ask"  # ask the person at the terminal
    DENY = "deny"
    ALLOW = "allow"
    WAIT = "wait"  # wait for an answer from any client, then do as PARK
    PARK = "park"  # exit and leave the prompt open


class AskPolicy(NamedTuple):  # not a dataclass: `betcode --help` imports this, and dataclasses take a third of its time
    on_ask: OnAsk
    wait_s: float = 0.0
    reason: str = _NO_TERMINAL  # the reason of a denial


def ask_policy(text: str) -> AskPolicy:
    """Parse `deny`, `park` or `wait=DURATION`; for argparse.

    Raises:
        argparse.ArgumentTypeError: the text has another form.
    """
    word, separator, duration = text.partition("=")
    if word == "wait" and separator:
        return AskPolicy(OnAsk.WAIT, time_limit_s(duration))
    if text in ("deny", "park"):
        return AskPolicy(OnAsk(text), reason=_BY_OPTION)
    raise argparse.ArgumentTypeError(f"{text!r} is not deny, park or wait=TIME, such as wait=10m")


def time_limit_s(text: str) -> float:
    """Parse a positive duration and return its seconds; for argparse.

    Raises:
        argparse.ArgumentTypeError: the text is not a duration, or it is too long for a run.
    """
    try:
        wait_s = duration_s(text)
    except NotUnderstood as trouble:
        raise argparse.ArgumentTypeError(f"{text!r} is not {trouble}") from None
    if not 0 < wait_s <= _LONGEST_S:
        raise argparse.ArgumentTypeError(f"{text!r} must be more than 0 and at most 30 days")
    return wait_s
