"""NDJSON framing and the agents' stdio messages: bytes in, frames out, no I/O.

No input of an agent raises an exception: a line is a known frame, an unknown one, or a malformed one. Providers
interpret the frames.
"""

from betcode.wire.decoder import decode
from betcode.wire.line_framer import LineFramer, TooLong
from betcode.wire.values import Malformed, Unknown

__all__ = ["LineFramer", "Malformed", "TooLong", "Unknown", "decode"]
