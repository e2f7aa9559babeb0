"""Types and help texts of arguments that several commands have."""

import argparse

SESSION_ID = "session id, a unique prefix of it, or the session's name"


def count(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() else -1
    if not 0 <= number < 2**32:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 up")
    return number
