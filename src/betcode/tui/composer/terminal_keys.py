"""Adds key sequences that terminals send and that Textual does not distinguish."""

from textual._ansi_sequences import ANSI_SEQUENCES_KEYS  # it has no other door
from textual.keys import Keys

# Alt+Enter comes as escape and return unless the terminal speaks a newer protocol, and would be taken for Enter.
_SEQUENCES = {"\x1b\r": (Keys.ControlJ,)}
# As xterm names them with modifyOtherKeys: shift, alt and control with return.
NEW_LINE = frozenset({"ctrl+j", "shift+enter", "alt+enter", "ctrl+enter", "shift+\r", "ctrl+\r", "\r"})


def learn_keys() -> None:
    """Have them told apart from now on."""
    assert isinstance(ANSI_SEQUENCES_KEYS, dict)
    ANSI_SEQUENCES_KEYS.update(_SEQUENCES)
    for digit in "123456789":  # Alt and a digit, which it takes for what one terminal on one system means by it
        ANSI_SEQUENCES_KEYS.pop(f"\x1b{digit}", None)
