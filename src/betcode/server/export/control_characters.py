"""Replace control characters and bidirectional marks by visible text."""

import re

# Controls other than tab and newline, and marks that turn text around: no reader could see that they are there.
_INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufeff]")


def made_visible(text: str) -> str:
    """The same text with a picture or a code for each of them."""
    return _INVISIBLE.sub(lambda match: _shown(ord(match[0])), text.replace("\r\n", "\n"))


def escaped_in_json(text: str) -> str:
    """JSON text in which each of them is an escape sequence, which reads as the same value."""
    return _INVISIBLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _shown(code: int) -> str:
    return chr(0x2400 + code) if code < 0x20 else f"\\u{code:04x}"
