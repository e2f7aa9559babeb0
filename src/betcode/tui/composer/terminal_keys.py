"""Adds key sequences that terminals send and that Textual does not distinguish."""

from textual._ansi_sequences import ANSI_SEQUENCES_KEYS  # there is no public way to add sequences
from textual.keys import Keys

# Most terminals send Alt+Enter as escape and return, which would be taken for Enter.
_SEQUENCES = {"\x1b\r": (Keys.ControlJ,)}
# xterm's names with modifyOtherKeys: shift, alt and control with return.
NEW_LINE = frozenset({"ctrl+j", "shift+enter", "alt+enter", "ctrl+enter", "shift+\r", "ctrl+\r", "\r"})


def learn_keys() -> None:
    """Register the sequences with Textual."""
    assert isinstance(ANSI_SEQUENCES_KEYS, dict)
    ANSI_SEQUENCES_KEYS.update(_SEQUENCES)
    for digit in "123456789":  # Alt with a digit, which Textual maps to the characters of one system
        ANSI_SEQUENCES_KEYS.pop(f"\x1b{digit}", None)
